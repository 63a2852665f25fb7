# Copyright (c) mmstepnet contributors. All rights reserved.
from mmengine.config import Config
from mmengine.hooks import CheckpointHook
from mmengine.runner import EpochBasedTrainLoop

from mmstepnet.compat import read_own_checkpoints
from .checkpoint import latest_checkpoint


def make_resumable(cfg: Config) -> None:
    """Let a training survive being killed and being stopped.

    MMEngine's checkpoint hook and its loop for epochs give way to
    ``ResumableCheckpointHook`` and ``ResumableTrainLoop``, and ``StopHook``
    is added. Other types are left as they are, among them MMEngine's own if
    they are named with their scope, as in ``mmengine.CheckpointHook``.

    Args:
        cfg (Config): Config of the training, changed in place.

    Example:
        >>> cfg = Config(dict(train_cfg=dict(by_epoch=True, max_epochs=2)))
        >>> make_resumable(cfg)
        >>> cfg.train_cfg.type, cfg.default_hooks.checkpoint.type
        ('mmstepnet.ResumableTrainLoop', 'mmstepnet.ResumableCheckpointHook')
    """
    loop = cfg.get('train_cfg') or {}
    if loop.get('by_epoch') or loop.get('type') in ('EpochBasedTrainLoop',
                                                    EpochBasedTrainLoop):
        loop.pop('by_epoch', None)
        loop['type'] = 'mmstepnet.ResumableTrainLoop'
    hooks = cfg.get('default_hooks') or {}
    checkpoint = hooks.get('checkpoint', dict(type='CheckpointHook'))
    if checkpoint and checkpoint.get('type') in ('CheckpointHook',
                                                 CheckpointHook):
        checkpoint['type'] = 'mmstepnet.ResumableCheckpointHook'
    cfg.default_hooks = dict(hooks, checkpoint=checkpoint)
    hooks = list(cfg.get('custom_hooks') or [])
    stop = 'mmstepnet.StopHook'
    if not any(
            isinstance(hook, dict) and hook.get('type') == stop
            for hook in hooks):
        cfg.custom_hooks = [*hooks, dict(type=stop)]


def find_checkpoint(cfg: Config) -> None:
    """Name the checkpoint that ``--resume`` without a path goes on from.

    Without any, the training begins as it would without ``--resume``, with
    the weights of ``load_from`` if the config names some.

    Args:
        cfg (Config): Config of the training, changed in place.

    Raises:
        ValueError: If no checkpoint can be read.
    """
    read_own_checkpoints()
    latest = latest_checkpoint(cfg.work_dir)
    cfg.resume = latest is not None
    if cfg.resume:
        cfg.load_from = latest
