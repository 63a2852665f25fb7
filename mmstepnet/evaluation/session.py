# Copyright (c) mmstepnet contributors. All rights reserved.
"""What the tools that evaluate trained classifiers have in common."""
import argparse
import copy
import hashlib
import json
import os.path as osp
from dataclasses import dataclass
from typing import Any, Dict, List

import torch
from mmengine.dist import is_main_process
from mmengine.logging import print_log
from mmengine.model import is_model_wrapper
from mmengine.registry import DATASETS
from torch import nn

from mmstepnet.checkpoints import load_weights, our_names
from mmstepnet.engine import (add_run_arguments, build_runner,
                              check_checkpoint, load_config)
from .classifier import Ensemble, PixelClassifier
from .images import PixelBatches


@dataclass
class Evaluation:
    """A classifier and images, ready to be evaluated.

    Attributes:
        classifier (nn.Module): Pixels in [0, 1] to logits, in eval mode: a
            ``PixelClassifier``, or an ``Ensemble`` of several.
        batches (PixelBatches): Images of the test dataset.
        work_dir (str): Where results go.
        device (torch.device): Device of the classifier.
        settings (dict): What the results depend on: the model, the data and
            the weights.
        name (str): What the network is called in pictures.
    """
    classifier: nn.Module
    batches: PixelBatches
    work_dir: str
    device: torch.device
    settings: Dict[str, Any]
    name: str

    def save(self, file: str, result: Any) -> str:
        """Write a result as JSON, once for all processes.

        Args:
            file (str): Name of the file in the work directory.
            result (Any): What is written, beside the name and the settings.

        Returns:
            str: Path of the file.
        """
        path = osp.join(self.work_dir, file)
        if is_main_process():
            with open(path, 'w', encoding='utf-8') as stream:
                json.dump(
                    dict(
                        name=self.name, settings=self.settings, result=result),
                    stream,
                    indent=1)
            print_log(f'results are in {path}', logger='current')
        return path


def load_result(path: str) -> Dict[str, Any]:
    """Read what :meth:`Evaluation.save` wrote.

    Args:
        path (str): Path of the file.

    Returns:
        dict: ``name``, ``settings`` and ``result``.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is damaged.
    """
    if not osp.isfile(path):
        raise FileNotFoundError(f'there are no results at {path!r}')
    try:
        with open(path, encoding='utf-8') as stream:
            return json.load(stream)
    except ValueError as error:
        raise ValueError(f'{path!r} is not a result of a finished run, '
                         f'expected JSON: {error}') from error


def add_evaluation_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a tool that evaluates a trained classifier.

    Args:
        parser (argparse.ArgumentParser): Parser of the tool.
    """
    parser.add_argument('config', help='config of the classifier')
    parser.add_argument(
        'checkpoint',
        nargs='+',
        help='checkpoint, or several of the same config')
    parser.add_argument(
        '--num-images',
        type=int,
        help='images of the test dataset, evenly spread (default: all)')
    parser.add_argument(
        '--batch-size', type=int, default=50, help='images a batch')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument(
        '--name', help='name in pictures (default: that of the config)')
    add_run_arguments(parser)


def load_classifier_weights(model: nn.Module, path: str) -> None:
    """Load all weights of a classifier, whoever named them.

    Args:
        model (nn.Module): The classifier.
        path (str): Checkpoint of MMPretrain, or one that
            :func:`mmstepnet.checkpoints.our_names` understands.

    Raises:
        ValueError: If a parameter or a running statistic has no counterpart
            of its shape.
    """
    given = load_weights(path)
    expected = {
        name: value
        for name, value in model.state_dict().items()
        if not name.endswith('num_batches_tracked')
    }
    state = {name.removeprefix('module.'): v for name, v in given.items()}
    if not set(expected) <= set(state):
        state = {
            name if name.startswith('head.') else f'backbone.{name}':
            given[theirs]
            for name, theirs in our_names(given).items()
        }
    wrong = [
        name for name, value in expected.items()
        if name not in state or state[name].shape != value.shape
    ]
    if wrong:
        raise ValueError(
            f'the checkpoint {path!r} is not one of this classifier: '
            f'{len(wrong)} of {len(expected)} tensors are missing or of '
            f'another shape, the first is {wrong[0]!r}')
    model.load_state_dict(state, strict=False)


def _digest(value: Any) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:12]


def _weights_digest(model: nn.Module) -> str:
    digest = hashlib.sha256()
    for value in model.state_dict().values():
        digest.update(value.cpu().flatten().view(torch.uint8).numpy())
    return digest.hexdigest()[:12]


def open_evaluation(args: argparse.Namespace) -> Evaluation:
    """Build what the arguments of :func:`add_evaluation_arguments` name.

    Args:
        args (argparse.Namespace): Parsed arguments.

    Returns:
        Evaluation: The classifier and the images.

    Raises:
        FileNotFoundError: If the config, the data or a checkpoint doesn't
            exist.
        ValueError: If a checkpoint doesn't fit the config.
    """
    for path in args.checkpoint:
        check_checkpoint(path, 'the argument "checkpoint"')
    cfg = load_config(args)
    cfg.load_from = None
    settings: Dict[str, Any] = dict(
        model=_digest((cfg.model, cfg.get('data_preprocessor'))),
        dataset=_digest(cfg.test_dataloader.dataset))
    runner = build_runner(cfg, ['test'])
    model = runner.model.module if is_model_wrapper(
        runner.model) else runner.model
    members: List[nn.Module] = []
    for path in args.checkpoint:
        member = copy.deepcopy(model)
        load_classifier_weights(member, path)
        members.append(PixelClassifier(member.eval()))
    settings['weights'] = [_weights_digest(member) for member in members]
    classifier = members[0] if len(members) == 1 else Ensemble(members)
    dataset = DATASETS.build(cfg.test_dataloader.dataset)
    batches = PixelBatches(dataset, args.batch_size, args.num_images,
                           cfg.test_dataloader.get('num_workers', 0))
    name = args.name or osp.splitext(osp.basename(args.config))[0]
    return Evaluation(
        classifier.eval(),
        batches,
        cfg.work_dir,
        device=next(model.parameters()).device,
        settings=settings,
        name=name)
