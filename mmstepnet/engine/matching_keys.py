# Copyright (c) mmstepnet contributors. All rights reserved.
import logging
from typing import Any, Dict, List, Optional, Tuple

from mmengine.hooks import Hook
from mmengine.logging import print_log
from mmengine.model import BaseTTAModel, is_model_wrapper
from mmengine.runner import Runner

from .checkpoint import STATE

Shapes = Dict[str, Optional[Tuple[int, ...]]]


def _shapes(state_dict: Dict[str, Any]) -> Shapes:
    return {
        name.removeprefix('module.'):
        tuple(value.shape) if hasattr(value, 'shape') else None
        for name, value in state_dict.items()
        if not name.endswith('num_batches_tracked')
    }


def _trunk(shapes: Shapes) -> Shapes:
    """The plain part of a backbone."""
    return {
        name: shape
        for name, shape in shapes.items()
        if name.startswith('backbone.') and '.step.' not in name
    }


def _classes(meta: Any) -> List[str]:
    meta = meta if isinstance(meta, dict) else {}
    return list(meta.get('classes') or meta.get('CLASSES') or [])


def _compare_classes(runner: Runner, meta: dict) -> None:
    """Warn if a class of the checkpoint has another name in the dataset."""
    before = _classes(meta.get('dataset_meta'))
    for split in ('train', 'val', 'test'):
        loop = getattr(runner, f'_{split}_loop', None)
        dataset = getattr(getattr(loop, 'dataloader', None), 'dataset', None)
        now = _classes(getattr(dataset, 'metainfo', None))
        for i, names in enumerate(zip(before, now)):
            if names[0] != names[1]:
                print_log(
                    f'class {i} is {names[0]!r} in the checkpoint, but '
                    f'{names[1]!r} in the dataset for {split}', 'current',
                    logging.WARNING)
                return


class MatchingKeysHook(Hook):
    """Refuses a checkpoint that is not one of the model.

    MMEngine only warns about keys that don't match, so that a run with the
    wrong file goes on with random weights. A test and a training that goes on
    need every tensor of the model, and a place for every one of the backbone,
    trained steps too. A training that starts from a checkpoint needs a
    backbone that is the model's, steps aside, if the file has one; heads may
    differ, as those of other classes do.

    Args:
        complete (bool): Whether every tensor is needed. Defaults to False.
    """

    def __init__(self, complete: bool = False) -> None:
        self.complete = complete

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        """Compare the keys and shapes.

        Args:
            runner (Runner): The runner.
            checkpoint (dict): What the file holds.

        Raises:
            ValueError: If they don't match, or if the training goes on and
                the file holds weights alone.
        """
        self.source = f'the checkpoint {runner._load_from!r}'
        state_dict = checkpoint.get('state_dict', checkpoint) if isinstance(
            checkpoint, dict) else None
        if not isinstance(state_dict, dict):
            raise ValueError(f'{self.source} must hold a dict of weights, got '
                             f'a {type(checkpoint).__name__}')
        missing = [key for key in STATE if key not in checkpoint]
        if runner._resume and missing:
            raise ValueError(
                f'{self.source} cannot be resumed from: expected {STATE} '
                f'beside the weights, got no {missing[0]}; to start from its '
                'weights, use --cfg-options load_from=PATH without --resume')
        meta = checkpoint.get('meta')
        if isinstance(meta, dict):
            # MMEngine would run it as a config file.
            meta.pop('config', None)
        model = runner.model
        while is_model_wrapper(model) or isinstance(model, BaseTTAModel):
            model = model.module
        expected, found = _shapes(model.state_dict()), _shapes(state_dict)
        if not expected.keys() & found.keys():
            raise ValueError(
                f'{self.source} has no key of the model: expected keys like '
                f'{next(iter(expected))!r}, got keys like '
                f'{next(iter(found), None)!r}; to load a backbone alone, set '
                "model.backbone.init_cfg=dict(type='Pretrained', "
                'checkpoint=...) instead')
        if self.complete:
            self._require(expected, found)
            self._require(
                {
                    name: shape
                    for name, shape in found.items()
                    if name.startswith('backbone.')
                },
                expected,
                swapped=True)
            if isinstance(meta, dict):
                _compare_classes(runner, meta)
        elif not expected.items() & found.items():
            self._require(expected, found)
        elif _trunk(expected).keys() & _trunk(found).keys():
            self._require(_trunk(expected), _trunk(found))
            self._require(_trunk(found), _trunk(expected), swapped=True)

    def _require(self,
                 expected: Shapes,
                 found: Shapes,
                 swapped: bool = False) -> None:
        """Every tensor of ``expected`` has to be in ``found``."""
        wrong = [
            name for name, shape in expected.items()
            if name not in found or found[name] != shape
        ]
        if wrong:
            sides = [side.get(wrong[0], 'none') for side in (expected, found)]
            want, got = sides[::-1] if swapped else sides
            raise ValueError(
                f'{self.source} is of another architecture than the model: '
                f'{len(wrong)} of {len(expected)} tensors '
                f'{"have no place in it" if swapped else "are missing"} or '
                f'are of another shape, the first is {wrong[0]}, expected '
                f'{want}, got {got}')
