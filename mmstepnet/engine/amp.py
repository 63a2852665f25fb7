# Copyright (c) mmstepnet contributors. All rights reserved.
from contextlib import contextmanager
from typing import Iterator

import torch
from mmengine.optim import OptimWrapper
from torch import nn

from mmstepnet.registry import OPTIM_WRAPPERS


@OPTIM_WRAPPERS.register_module()
class CPUAmpOptimWrapper(OptimWrapper):
    """Mixed precision on a CPU: forward passes under bfloat16 autocast.

    MMEngine's ``AmpOptimWrapper`` asks for a GPU. bfloat16 has the exponents
    of float32, so no loss scaling is needed. The arguments are those of
    ``OptimWrapper``.

    Example:
        >>> from torch.optim import SGD
        >>> layer = nn.Linear(2, 2)
        >>> wrapper = CPUAmpOptimWrapper(SGD(layer.parameters(), lr=.1))
        >>> with wrapper.optim_context(layer):
        ...     print(layer(torch.ones(1, 2)).dtype)
        torch.bfloat16
    """

    @contextmanager
    def optim_context(self, model: nn.Module) -> Iterator[None]:
        """Context of a forward pass in training.

        Args:
            model (nn.Module): The model that is trained.
        """
        with super().optim_context(model), torch.autocast(
                'cpu', dtype=torch.bfloat16):
            yield
