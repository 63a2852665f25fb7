# Copyright (c) mmstepnet contributors. All rights reserved.
import json
import logging
import os.path as osp
from functools import wraps
from typing import Any, Callable, Dict, Optional, Sequence, Set

import numpy as np
from mmengine.dist import master_only
from mmengine.hooks import Hook
from mmengine.runner import Runner
from mmengine.runner.base_loop import BaseLoop

from mmstepnet.engine.files import write_whole
from mmstepnet.registry import HOOKS
from mmstepnet.stiffness import StiffnessAccumulator, StiffnessRecorder
from mmstepnet.stiffness.report import column_of
from .samples import SampleTracker


@HOOKS.register_module()
class TNSHook(Hook):
    """Measures the stiffness of a network during validation and testing.

    Watches the residual blocks while the validation runs and reports the
    total neural stiffness (TNS) of the network and of its stages, and the
    mean neural stiffness index (NSI) of its blocks:

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
        blocks (Sequence[str], optional): Names of the residual blocks in the
            model. Defaults to None, which finds them.
        interval (int): Measures every so many validations; ``save_best``
            needs 1. Tests are always measured. Defaults to 1.
        num_samples (int, optional): Measures only so many samples, the first
            of the dataset. Defaults to None, all.
        surface_interval (int): Writes delta(M1, M2) to an NPZ file every so
            many measurements. Defaults to 0, never.
        out_file (str): Name of the file of JSON lines in the work directory.
            Defaults to ``'tns.jsonl'``.

    Attributes:
        description (str): What is measured and how.
        measured (StiffnessAccumulator, optional): The samples of the last
            measurement.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> from mmstepnet.registry import HOOKS
        >>> HOOKS.build(dict(type='mmstepnet.TNSHook')).dt
        'own'
    """

    priority = 'NORMAL'

    def __init__(self,
                 dt: str = 'own',
                 *,
                 blocks: Optional[Sequence[str]] = None,
                 interval: int = 1,
                 num_samples: Optional[int] = None,
                 surface_interval: int = 0,
                 out_file: str = 'tns.jsonl') -> None:
        column_of(dt)
        if interval < 1:
            raise ValueError(f'interval must be at least 1, got {interval}')
        if num_samples is not None and num_samples < 1:
            raise ValueError('num_samples must be at least 1 or None, got '
                             f'{num_samples}')
        self.dt = dt
        self.blocks = blocks
        self.interval = interval
        self.num_samples = num_samples
        self.surface_interval = surface_interval
        self.out_file = out_file
        self.description = ''
        self.measured: Optional[StiffnessAccumulator] = None
        self._recorder: Optional[StiffnessRecorder] = None
        self._accumulator: Optional[StiffnessAccumulator] = None
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

    def before_val_epoch(self, runner: Runner) -> None:
        """Begin to measure the validation if it is its turn."""
        self._close()
        if self._count(runner, 'validations') % self.interval == 0:
            self._begin(runner, runner.val_loop)

    def _count(self, runner: Runner, what: str) -> int:
        """Count on where a resumed training has been."""
        key = f'{self.out_file}: {what}'
        number = runner.message_hub.get_info(key, 0) + 1
        runner.message_hub.update_info(key, number)
        return number

    def before_test_epoch(self, runner: Runner) -> None:
        """Begin to measure the test."""
        self._close()
        self._begin(runner, runner.test_loop)

    def _begin(self, runner: Runner, loop: BaseLoop) -> None:
        recorder = StiffnessRecorder(runner.model, self.blocks)
        is_any = any(recorder.stages.values())
        self.description, self.measured = recorder.describe(), None
        self._say(runner, f'TNSHook: {self.description}',
                  logging.INFO if is_any else logging.WARNING)
        if is_any:
            self._samples = SampleTracker(len(loop.dataloader.dataset))
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
        try:
            values = self._recorder.pop()
        except ValueError as error:
            self._say(runner, f'TNSHook leaves out a batch: {error}')
            return
        places, ids = self._samples.take(outputs, len(values))
        limit = self.num_samples
        if limit is not None:
            kept = [i for i, place in enumerate(places) if place < limit]
            values, ids = values[kept], [ids[i] for i in kept]
            if self._samples.next_place >= limit:
                self._recorder.close()
                self._recorder = None
        self._accumulator.update(ids, values)

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
        accumulator = self._accumulator
        self._close()
        if accumulator is None:
            return
        accumulator.synchronize()
        self.measured = accumulator
        report = accumulator.compute(self.dt)
        runner.logger.info(report.summary())
        # RuntimeInfoHook has copied the metrics to the message hub already.
        scalars = report.scalars()
        for name, value in scalars.items():
            runner.message_hub.update_scalar(f'{mode}/{name}', value)
        if metrics is not None:
            metrics.update(scalars)
        # `runner.epoch` would build the train loop of a mere test.
        is_training = isinstance(runner._train_loop, BaseLoop)
        record = dict(
            mode=mode,
            epoch=runner.epoch if is_training else None,
            iter=runner.iter if is_training else None,
            **report.to_dict())
        self._write_record(osp.join(runner.work_dir, self.out_file), record)
        number = self._count(runner, 'measurements')
        if self.surface_interval > 0 and number % self.surface_interval == 0:
            name = f'tns_surface_{mode}_{record["iter"] or 0}.npz'
            self._write_surface(osp.join(runner.work_dir, name), accumulator)

    @master_only
    def _write_record(self, path: str, record: dict) -> None:
        """Add a line, in place of one that a killed training left of it."""
        lines = []
        if osp.exists(path):
            with open(path, encoding='utf-8') as file:
                lines = [line for line in file if line.endswith('\n')]
        if record['iter'] is not None:
            start = json.dumps({
                key: record[key]
                for key in ('mode', 'epoch', 'iter', 'dt')
            }).rstrip('}')
            lines = [line for line in lines if not line.startswith(start)]
        lines.append(json.dumps(record, allow_nan=False) + '\n')
        write_whole(''.join(lines).encode(), path)

    @master_only
    def _write_surface(self, path: str,
                       accumulator: StiffnessAccumulator) -> None:
        m1, m2 = accumulator.grid(self.dt)
        surface = accumulator.delta(m1, m2, self.dt)
        np.savez_compressed(path, m1=m1, m2=m2, delta=surface)

    def _say(self,
             runner: Runner,
             sentence: str,
             level: int = logging.WARNING) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            runner.logger.log(level, sentence)
