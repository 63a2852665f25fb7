# Copyright (c) mmstepnet contributors. All rights reserved.
def install_mmcv_ext_finder() -> None:
    """Placeholder."""
