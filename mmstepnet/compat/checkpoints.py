# Copyright (c) mmstepnet contributors. All rights reserved.
import os.path as osp


def read_own_checkpoints() -> None:
    """Let MMEngine read files as weights and plain data alone.

    A checkpoint holds histories of the log, which ``torch.load`` refuses by
    default since PyTorch 2.6. OpenMMLab's MMEngine 0.10.7 can't read them
    then, and OneDL's loads what is refused once more, whatever code it runs.
    Here files of this machine are read as
    :func:`mmstepnet.checkpoints.read_checkpoint` does it, which allows what
    MMEngine writes and runs nothing.
    """
    from mmengine.runner.checkpoint import CheckpointLoader

    from mmstepnet.checkpoints import read_checkpoint

    def load_from_local(filename, map_location):
        return read_checkpoint(osp.expanduser(filename))

    CheckpointLoader.register_scheme(
        prefixes='', loader=load_from_local, force=True)
