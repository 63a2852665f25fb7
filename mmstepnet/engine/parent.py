# Copyright (c) mmstepnet contributors. All rights reserved.
import ctypes
import os
import signal
import sys


def end_with_launcher() -> None:
    """Get SIGTERM when the launcher of this process is killed.

    Otherwise the processes that it has started would train on. Does nothing
    without ``torchrun``, and where the system is not Linux.
    """
    if 'TORCHELASTIC_RUN_ID' in os.environ and sys.platform == 'linux':
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)
