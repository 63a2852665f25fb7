# Copyright (c) mmstepnet contributors. All rights reserved.
"""What the tools run on. Training loops and logs are MMEngine's."""
from mmstepnet.compat import require_mmengine

require_mmengine()

from .amp import CPUAmpOptimWrapper  # noqa: E402
from .checkpoint import MatchingKeysHook  # noqa: E402
from .checks import check_checkpoint, check_data  # noqa: E402
from .checks import check_pretrained  # noqa: E402
from .cpu import init_cpu_processes  # noqa: E402
from .errors import explain_errors  # noqa: E402
from .run import (add_run_arguments, build_runner,  # noqa: E402
                  load_config, set_dataloader_defaults)

__all__ = [
    'CPUAmpOptimWrapper', 'MatchingKeysHook', 'add_run_arguments',
    'build_runner', 'check_checkpoint', 'check_data', 'check_pretrained',
    'explain_errors', 'init_cpu_processes', 'load_config',
    'set_dataloader_defaults'
]
