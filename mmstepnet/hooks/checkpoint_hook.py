# Copyright (c) mmstepnet contributors. All rights reserved.
import os.path as osp
from typing import Any, Dict, List

from mmengine.dist import broadcast, is_main_process
from mmengine.fileio import LocalBackend
from mmengine.hooks import CheckpointHook
from mmengine.optim import OptimWrapperDict
from mmengine.runner import Runner

from mmstepnet.engine.checkpoint import check_optimizer, save_latest
from mmstepnet.engine.files import remove_partial
from mmstepnet.registry import HOOKS


@HOOKS.register_module()
class ResumableCheckpointHook(CheckpointHook):
    """Saves checkpoints so that a kill at any moment loses none.

    ``CheckpointHook`` writes into the file that is to be the latest, and
    removes older ones first. Here a file gets its name when it is on the
    disk, ``last_checkpoint`` names it after that, and only then older ones
    go. After a validation the checkpoint of the epoch is saved again, with
    what the validation has found; all processes validate what it holds.

    The arguments are those of ``CheckpointHook``. Folders that are not local
    are written as MMEngine does it.

    Example:
        >>> default_hooks = dict(checkpoint=dict(
        ...     type='mmstepnet.ResumableCheckpointHook', interval=1))
    """

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        """See that a training goes on with the optimizer it had.

        Args:
            runner (Runner): The runner.
            checkpoint (dict): What was loaded.

        Raises:
            ValueError: If it holds the state of another optimizer.
        """
        if not runner._resume or 'optimizer' not in checkpoint:
            return
        wrapper, state = runner.optim_wrapper, checkpoint['optimizer']
        if isinstance(wrapper, OptimWrapperDict):
            for name in set(wrapper.keys()).intersection(state):
                check_optimizer(wrapper[name].optimizer, state[name])
        else:
            check_optimizer(wrapper.optimizer, state)

    def before_train(self, runner: Runner) -> None:
        """Find the folder, and remove what a killed run left there.

        Args:
            runner (Runner): The runner.
        """
        super().before_train(runner)
        self._unvalidated: Dict[str, Any] = self._resumed(runner)
        self._outdated: List[str] = []
        if is_main_process():
            self._outdated += runner.message_hub.get_info('outdated_ckpts', [])
            self._remove_outdated()
        if type(self.file_backend) is LocalBackend:
            self.backend_args = dict(backend='mmstepnet.whole')
            if is_main_process():
                remove_partial(self.out_dir)
                remove_partial(runner.work_dir)

    def _resumed(self, runner: Runner) -> Dict[str, Any]:
        """The checkpoint resumed from, if its validation is yet to come."""
        hub = runner.message_hub
        step = runner.epoch if self.by_epoch else runner.iter
        last = hub.get_info('last_ckpt', None) or ''
        name = self.filename_tmpl.format(step)
        if hub.get_info('is_validated', True) or \
                osp.basename(last) != name:
            return {}
        self.last_ckpt = last
        return dict(step=step, meta=dict(epoch=runner.epoch, iter=runner.iter))

    def before_val_epoch(self, runner: Runner) -> None:
        """Give all processes the buffers that a checkpoint holds.

        Each process has running statistics of its own in its batch norms. A
        checkpoint holds those of the first, so these are validated.

        Args:
            runner (Runner): The runner.
        """
        for buffer in runner.model.buffers():
            broadcast(buffer)

    def after_val_epoch(self, runner: Runner, metrics: dict) -> None:
        """Save what the validation has found.

        Args:
            runner (Runner): The runner.
            metrics (dict): Results of the validation.
        """
        runner.message_hub.update_info('is_validated', True)
        super().after_val_epoch(runner, metrics)
        saved = getattr(self, '_unvalidated', {})
        if saved and saved['meta']['iter'] == runner.iter:
            self._save_checkpoint_with_step(runner, **saved)

    def _save_best_checkpoint(self, runner: Runner, metrics: dict) -> None:
        self.file_backend.remove = self._outdated.append
        try:
            super()._save_best_checkpoint(runner, metrics)
        finally:
            del self.file_backend.remove
        self._remove_outdated()

    def _save_checkpoint_with_step(self, runner: Runner, step: int,
                                   meta: dict) -> None:
        hub = runner.message_hub
        self._unvalidated = {} if hub.get_info('is_validated', True) else dict(
            step=step, meta=dict(epoch=meta['epoch'], iter=meta['iter']))
        if self.max_keep_ckpts > 0 and step not in self.keep_ckpt_ids:
            if len(self.keep_ckpt_ids) == self.max_keep_ckpts:
                self._outdated.append(
                    self.file_backend.join_path(
                        self.out_dir,
                        self.filename_tmpl.format(self.keep_ckpt_ids[0])))
            self.keep_ckpt_ids.append(step)
            hub.update_info('keep_ckpt_ids', list(self.keep_ckpt_ids))
        hub.update_info('outdated_ckpts', list(self._outdated))
        self.last_ckpt = save_latest(
            runner,
            self.out_dir,
            self.filename_tmpl.format(step),
            meta,
            file_client_args=self.file_client_args,
            save_optimizer=self.save_optimizer,
            save_param_scheduler=self.save_param_scheduler,
            by_epoch=self.by_epoch,
            backend_args=self.backend_args,
            **self.args)
        self._remove_outdated()

    def _remove_outdated(self) -> None:
        outdated, self._outdated[:] = list(self._outdated), []
        for path in outdated:
            if is_main_process() and self.file_backend.isfile(path):
                self.file_backend.remove(path)
