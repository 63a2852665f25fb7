# Copyright (c) mmstepnet contributors. All rights reserved.
"""What the tools run on. Training loops and logs are MMEngine's."""
from mmstepnet import registry  # noqa: F401  says so if MMEngine is missing
from .amp import CPUAmpOptimWrapper
from .checkpoint import MatchingKeysHook
from .checks import check_checkpoint, check_data, check_pretrained
from .cpu import init_cpu_processes
from .errors import explain_errors
from .options import ConfigOptions
from .run import (add_run_arguments, build_runner, load_config,
                  set_dataloader_defaults)

__all__ = [
    'CPUAmpOptimWrapper', 'ConfigOptions', 'MatchingKeysHook',
    'add_run_arguments', 'build_runner', 'check_checkpoint', 'check_data',
    'check_pretrained', 'explain_errors', 'init_cpu_processes', 'load_config',
    'set_dataloader_defaults'
]
