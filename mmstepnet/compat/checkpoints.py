# Copyright (c) mmstepnet contributors. All rights reserved.
def read_own_checkpoints() -> None:
    """Let MMEngine read the checkpoints that it writes.

    A checkpoint holds histories of the log, which ``torch.load`` refuses by
    default since PyTorch 2.6. OneDL's MMEngine takes care of that, OpenMMLab's
    0.10.7 doesn't: there, local files are loaded as before PyTorch 2.6, so
    they have to be from someone you trust.
    """
    import torch
    from mmengine.runner import checkpoint as mmengine_checkpoint
    if hasattr(mmengine_checkpoint, '_safe_torch_load'):
        return

    def load_from_local(filename, map_location):
        return torch.load(
            filename, map_location=map_location, weights_only=False)

    mmengine_checkpoint.CheckpointLoader.register_scheme(
        prefixes='', loader=load_from_local, force=True)
