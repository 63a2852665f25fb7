# Copyright (c) mmstepnet contributors. All rights reserved.
"""What the tools run on. Runners and logs are MMEngine's."""
from mmstepnet import registry  # noqa: F401  says so if MMEngine is missing
from .amp import CPUAmpOptimWrapper
from .checks import (check_checkpoint, check_data, check_device,
                     check_pretrained)
from .config import read_config
from .cpu import end_process, init_cpu_processes
from .errors import InputError, explain_errors
from .files import check_out
from .loop import ResumableTrainLoop
from .matching_keys import MatchingKeysHook
from .options import ConfigOptions
from .resume import find_checkpoint, make_resumable
from .run import (add_run_arguments, build_runner, load_config,
                  set_dataloader_defaults)

__all__ = [
    'CPUAmpOptimWrapper', 'ConfigOptions', 'InputError', 'MatchingKeysHook',
    'ResumableTrainLoop', 'add_run_arguments', 'build_runner',
    'check_checkpoint', 'check_data', 'check_device', 'check_out',
    'check_pretrained', 'end_process', 'explain_errors', 'find_checkpoint',
    'init_cpu_processes', 'load_config', 'make_resumable', 'read_config',
    'set_dataloader_defaults'
]
