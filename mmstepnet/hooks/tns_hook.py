# Copyright (c) mmstepnet contributors. All rights reserved.
import json
import os.path as osp
from functools import wraps
from typing import Any, Callable, Dict, Hashable, List, Optional, Sequence, Set

from mmengine.dist import get_rank, get_world_size, master_only
from mmengine.hooks import Hook
from mmengine.runner import Runner
from mmengine.runner.base_loop import BaseLoop

from mmstepnet.registry import HOOKS
from mmstepnet.stiffness import (StiffnessAccumulator, StiffnessRecorder,
                                 StiffnessReport)
from mmstepnet.stiffness.report import column_of


@HOOKS.register_module()
class TNSHook(Hook):
    """Measures the stiffness of a network during validation and testing.

    Watches the steps of the residual blocks while the validation runs and
    reports the total neural stiffness (TNS) of the network and of its stages,
    and the mean neural stiffness index (NSI) of its blocks:

    * in ``metrics``, so that ``CheckpointHook(save_best='tns/total',
      rule='greater')`` and ``EarlyStoppingHook`` can go by it;
    * in the message hub, and so in the log and in all visualizer backends;
    * as one line of JSON for each validation in the work directory.

    Every sample counts once, however many processes share them out, by the
    names that its data sample carries (``img_path`` with ``img_id`` or
    ``sample_idx``). Without these its place in the dataset counts, which is
    taken to be shared out by an unshuffled ``DefaultSampler``.

    Args:
        dt (str): NSI with the blocks' ``'own'`` step sizes, as the paper
            defines it, or with the ``'unit'`` step. Defaults to ``'own'``.
        out_file (str): Name of the file of JSON lines in the work directory.
            Defaults to ``'tns.jsonl'``.

    Example:
        >>> from mmstepnet.registry import HOOKS
        >>> HOOKS.build(dict(type='mmstepnet.TNSHook')).dt
        'own'
    """

    priority = 'NORMAL'

    def __init__(self, dt: str = 'own', out_file: str = 'tns.jsonl') -> None:
        column_of(dt)
        self.dt = dt
        self.out_file = out_file
        self._recorder: Optional[StiffnessRecorder] = None
        self._accumulator: Optional[StiffnessAccumulator] = None
        self._position = 0
        self._said: Set[str] = set()

    def before_run(self, runner: Runner) -> None:
        """Make the loops end the measurement even if they raise."""
        for loop in (runner._val_loop, runner._test_loop):
            if isinstance(loop, BaseLoop):
                loop.run = self._closing(loop.run)

    def _closing(self, run: Callable) -> Callable:

        @wraps(run)
        def run_and_close(*args: Any, **kwargs: Any) -> Any:
            try:
                return run(*args, **kwargs)
            finally:
                self._close()

        return run_and_close

    def after_run(self, runner: Runner) -> None:
        """Leave the loops as they were."""
        for loop in (runner._val_loop, runner._test_loop):
            if isinstance(loop, BaseLoop):
                vars(loop).pop('run', None)

    def _close(self) -> None:
        if self._recorder is not None:
            self._recorder.close()
        self._recorder = self._accumulator = None

    def _before_epoch(self, runner: Runner, mode: str = 'train') -> None:
        if mode == 'train':
            return
        self._close()
        recorder = StiffnessRecorder(runner.model)
        if not recorder.stages:
            self._warn(
                runner, 'TNSHook measures nothing: found no residual block '
                f'with a step in {type(runner.model).__name__}')
            return
        self._position = 0
        self._accumulator = StiffnessAccumulator(recorder.stages)
        self._recorder = recorder.open()

    def _after_iter(self,
                    runner: Runner,
                    batch_idx: int,
                    data_batch: Any = None,
                    outputs: Any = None,
                    mode: str = 'train') -> None:
        if self._recorder is None or self._accumulator is None:
            return
        loop = runner.val_loop if mode == 'val' else runner.test_loop
        try:
            values = self._recorder.pop()
        except ValueError as error:
            self._warn(runner, f'TNSHook leaves out a batch: {error}')
            return
        self._accumulator.update(
            self._sample_ids(outputs, len(values),
                             len(loop.dataloader.dataset)), values)

    def _sample_ids(self, outputs: Any, number: int,
                    dataset_size: int) -> List[Hashable]:
        places = [
            place * get_world_size() + get_rank()
            for place in range(self._position, self._position + number)
        ]
        self._position += number
        ids = [sample_id(output) for output in outputs] \
            if isinstance(outputs, Sequence) else []
        if len(ids) == number and None not in ids:
            return ids
        return [place % dataset_size for place in places]

    def after_val_epoch(self,
                        runner: Runner,
                        metrics: Optional[Dict[str, float]] = None) -> None:
        """Report the validation."""
        self._report(runner, metrics, 'val')

    def after_test_epoch(self,
                         runner: Runner,
                         metrics: Optional[Dict[str, float]] = None) -> None:
        """Report the test."""
        self._report(runner, metrics, 'test')

    def _report(self, runner: Runner, metrics: Optional[Dict[str, float]],
                mode: str) -> None:
        if self._accumulator is None:
            return
        self._accumulator.synchronize()
        report = self._accumulator.compute(self.dt)
        self._close()
        runner.logger.info(report.summary())
        # RuntimeInfoHook has copied the metrics to the message hub already.
        scalars = report.scalars()
        for name, value in scalars.items():
            runner.message_hub.update_scalar(f'{mode}/{name}', value)
        if metrics is not None:
            metrics.update(scalars)
        self._write(runner, report, mode)

    @master_only
    def _write(self, runner: Runner, report: StiffnessReport,
               mode: str) -> None:
        # `runner.epoch` would build the train loop of a mere test.
        is_training = isinstance(runner._train_loop, BaseLoop)
        record = dict(
            mode=mode,
            epoch=runner.epoch if is_training else None,
            iter=runner.iter if is_training else None,
            **report.to_dict())
        path = osp.join(runner.work_dir, self.out_file)
        with open(path, 'a', encoding='utf-8') as file:
            file.write(json.dumps(record, allow_nan=False) + '\n')

    def _warn(self, runner: Runner, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            runner.logger.warning(sentence)


def sample_id(data_sample: Any) -> Optional[Hashable]:
    """What tells a data sample from all others, None if nothing does.

    Args:
        data_sample (Any): Output of a model for one image.

    Returns:
        Hashable, optional: Its path and its index, those it has.

    Example:
        >>> from mmengine.structures import BaseDataElement
        >>> sample_id(BaseDataElement(metainfo=dict(img_id=7)))
        (7,)
    """
    names = tuple(
        getattr(data_sample, key)
        for key in ('img_path', 'img_id', 'sample_idx')
        if getattr(data_sample, key, None) is not None)
    return names or None
