# Copyright (c) mmstepnet contributors. All rights reserved.
from typing import Optional

from mmengine.config import Config
from mmengine.registry import init_default_scope
from torch import nn

from mmstepnet.registry import MODELS
from .loading import load_weights


def load_model(cfg: Config, checkpoint: Optional[str] = None) -> nn.Module:
    """Build the model of a config and load all of its weights.

    The counters of batches in batch norms, which old files and converted ones
    don't have, stay what they are in a new model.

    Args:
        cfg (Config): Config with ``model`` and perhaps ``default_scope``.
        checkpoint (str, optional): What
            :func:`~mmstepnet.checkpoints.load_weights` reads. Defaults to
            None, the weights that the model is built with.

    Returns:
        nn.Module: The model in evaluation mode.

    Raises:
        FileNotFoundError: If there is no such checkpoint.
        ValueError: If the checkpoint can't be read or lacks a weight of the
            model.

    Example:
        >>> cfg = Config(dict(model=dict(type='mmstepnet.ResNet', depth=18)))
        >>> load_model(cfg).training
        False
    """
    init_default_scope(cfg.get('default_scope', 'mmengine'))
    model = MODELS.build(cfg.model)
    model.eval()
    if checkpoint is None:
        return model
    expected = model.state_dict()
    weights = {
        name: value
        for name, value in expected.items()
        if name.endswith('.num_batches_tracked')
    }
    weights.update({
        name.removeprefix('module.'): value
        for name, value in load_weights(checkpoint).items()
    })
    for name, value in expected.items():
        got = weights.get(name)
        if got is None or got.shape != value.shape:
            raise ValueError(
                f'the checkpoint {checkpoint!r} is not of this config: '
                f'expected {name} of shape {tuple(value.shape)}, got '
                f'{None if got is None else tuple(got.shape)}')
    model.load_state_dict({name: weights[name] for name in expected})
    return model
