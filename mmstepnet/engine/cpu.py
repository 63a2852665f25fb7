# Copyright (c) mmstepnet contributors. All rights reserved.
"""What MMEngine leaves out for several processes on a machine without GPUs."""
import atexit
import os
import sys
import threading
from datetime import timedelta

import torch.distributed as dist
from mmengine.config import Config
from mmengine.device import get_device


def init_cpu_processes(cfg: Config) -> None:
    """Make a gloo group and a model wrapper that names no device.

    MMEngine's own ``pytorch`` launcher selects a CUDA device first. With a
    group at hand it makes none. Does nothing where there is a GPU or no
    launcher.

    Args:
        cfg (Config): Config of the run, with ``launcher``. Its
            ``model_wrapper_cfg``, ``find_unused_parameters`` and
            ``env_cfg.dist_cfg.timeout`` (seconds) are honoured.

    Raises:
        ValueError: If the launcher is another than ``'pytorch'``.
    """
    if cfg.launcher == 'none' or get_device() != 'cpu':
        return
    if cfg.launcher != 'pytorch':
        raise ValueError(
            'without a GPU several processes need --launcher pytorch, as in '
            f'tools/dist_train.sh, got --launcher {cfg.launcher}')
    timeout = cfg.get('env_cfg', {}).get('dist_cfg', {}).get('timeout')
    dist.init_process_group(
        'gloo', timeout=timeout and timedelta(seconds=timeout))
    wrapper = dict(
        type='MMDistributedDataParallel',
        broadcast_buffers=False,
        find_unused_parameters=cfg.get('find_unused_parameters', False))
    wrapper = cfg.get('model_wrapper_cfg') or wrapper
    cfg.model_wrapper_cfg = dict(wrapper, device_ids=None)


def end_process() -> None:
    """End a process of a run on CPUs, with status 0, once its work is done.

    The threads of gloo outlive the interpreter, and now and then one of them
    aborts a process that has finished while the interpreter is taken down. So
    it isn't: what is to be done at exit is done, and the process ends. Returns
    where there is no group of gloo.
    """
    if not dist.is_initialized() or dist.get_backend() != 'gloo':
        return
    for thread in threading.enumerate():
        if not thread.daemon and thread is not threading.current_thread():
            thread.join()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
