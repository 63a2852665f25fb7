# Copyright (c) mmstepnet contributors. All rights reserved.
import atexit
import multiprocessing
import os
import signal
import sys
import time
from functools import partial
from typing import Any, Callable, Dict, Optional, Sequence

import torch
from mmengine.dist import all_reduce
from mmengine.hooks import Hook
from mmengine.optim import OptimWrapperDict
from mmengine.runner import Runner

from mmstepnet.engine.checkpoint import STOPPED, save_latest
from mmstepnet.registry import HOOKS

# Launchers pass on a signal that the scheduler has sent to all processes, so
# that it arrives twice.
_ECHO_SECONDS = 2.
_SIGNALS = ('SIGTERM', 'SIGUSR1')


class SignalNote:
    """Notes a signal, and lets the process end by one that comes later."""

    def __init__(self) -> None:
        self.signum = 0
        self._since = 0.

    def __call__(self, signum: int, frame: Any) -> None:
        if not self.signum:
            self.signum, self._since = signum, time.monotonic()
        elif time.monotonic() - self._since > _ECHO_SECONDS:
            signal.signal(signum, signal.SIG_DFL)
            os.kill(os.getpid(), signum)


def _start_worker(init: Optional[Callable], signals: Sequence[int],
                  worker_id: int) -> None:
    """Let a worker of a dataloader live on until its batch is made."""
    for signum in signals:
        signal.signal(signum, SignalNote())
    if init is not None:
        init(worker_id)


def _end_workers() -> None:
    """End workers at exit, where Python's SIGTERM would only be noted."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # PyTorch reports deaths
    for process in multiprocessing.active_children():
        if process.daemon:
            process.kill()


@HOOKS.register_module()
class StopHook(Hook):
    """Ends a training that a scheduler stops, so that it can be resumed.

    After SIGTERM, or SIGUSR1 as Slurm's ``--signal=USR1@90`` sends it, the
    iteration in progress is finished, in all processes the same one; with
    accumulated gradients, those up to the next update. ``stopped.pth`` is
    saved and the training ends with exit status 128 plus the number of the
    signal. If a validation is in progress, and the epoch has been saved, that
    is enough: resuming begins the validation anew. A second signal, two
    seconds later or more, ends the process at once.

    Args:
        signals (Sequence[str]): Names of the signals. Defaults to
            ``('SIGTERM', 'SIGUSR1')``.

    Raises:
        ValueError: If the system has no such signal.

    Example:
        >>> custom_hooks = [dict(type='mmstepnet.StopHook')]
    """

    priority = 'LOWEST'

    def __init__(self, signals: Sequence[str] = _SIGNALS) -> None:
        unknown = [name for name in signals if not hasattr(signal, name)]
        if unknown:
            raise ValueError(
                f'signals must be names of signals, got {unknown[0]!r}')
        self.signals = [getattr(signal, name) for name in signals]
        self._note = SignalNote()
        self._handlers: Dict[int, Any] = {}

    def before_train(self, runner: Runner) -> None:
        """Begin to listen, also in the workers of the dataloaders."""
        loops = [runner.train_loop]
        if runner.val_loop is not None:
            loops.append(runner.val_loop)
        for loop in loops:
            loader = loop.dataloader
            loader.worker_init_fn = partial(_start_worker,
                                            loader.worker_init_fn,
                                            self.signals)
        self._handlers = {
            signum: signal.signal(signum, self._note)
            for signum in self.signals
        }
        # Runs before Python's own, which waits for them.
        atexit.register(_end_workers)

    def after_train(self, runner: Runner) -> None:
        """Leave the signals as they were."""
        for signum, handler in self._handlers.items():
            signal.signal(signum, handler)

    def after_train_iter(self,
                         runner: Runner,
                         batch_idx: int,
                         data_batch: Any = None,
                         outputs: Optional[dict] = None) -> None:
        """Stop after an update, if any process has got a signal."""
        wrapper = runner.optim_wrapper
        wrappers = wrapper.values() if isinstance(
            wrapper, OptimWrapperDict) else [wrapper]
        if all(wrapper.should_update() for wrapper in wrappers):
            self._stop_together(runner, runner.iter + 1)

    def after_val_iter(self,
                       runner: Runner,
                       batch_idx: int,
                       data_batch: Any = None,
                       outputs: Optional[Sequence] = None) -> None:
        """Stop a validation after an epoch that has been saved."""
        saved = runner.message_hub.get_info('saved_iter', None)
        if self._note.signum and saved == runner.iter:
            self._end(runner, self._note.signum,
                      runner.message_hub.get_info('last_ckpt'))

    def after_val_epoch(self,
                        runner: Runner,
                        metrics: Optional[dict] = None) -> None:
        """Stop after a validation."""
        self._stop_together(runner, runner.iter)

    def _stop_together(self, runner: Runner, iteration: int) -> None:
        if not self._handlers:
            return  # no training
        signum = torch.tensor(self._note.signum)
        all_reduce(signum, 'max')
        # a signal that has come meanwhile stays noted for the next time
        if signum:
            meta = dict(epoch=runner.epoch, iter=iteration)
            self._end(
                runner, int(signum),
                save_latest(
                    runner,
                    runner.work_dir,
                    STOPPED,
                    meta,
                    backend_args=dict(backend='mmstepnet.whole')))

    def _end(self, runner: Runner, signum: int, checkpoint: str) -> None:
        self.after_train(runner)
        name = signal.Signals(signum).name
        iteration = runner.message_hub.get_info('saved_iter')
        runner.logger.warning(f'{name}: the training ends after iteration '
                              f'{iteration}; --resume goes on from '
                              f'{checkpoint}')
        sys.exit(128 + signum)
