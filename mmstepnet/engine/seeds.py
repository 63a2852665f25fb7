# Copyright (c) mmstepnet contributors. All rights reserved.
import random

import numpy as np
import torch


def seed_all(*key: int) -> None:
    """Set the generators of Python, NumPy and PyTorch by a key of counts.

    Random numbers that follow from counts alone (the seed of the run, the
    epoch, the iteration) need not be stored to be drawn again.

    Args:
        *key (int): Non-negative numbers; any other key gives an unrelated
            state.

    Example:
        >>> seed_all(0, 5)
        >>> first = torch.rand(1), np.random.rand(), random.random()
        >>> seed_all(0, 5)
        >>> first == (torch.rand(1), np.random.rand(), random.random())
        True
    """
    # A seed sequence takes (1,) and (1, 0) for the same.
    words = np.random.SeedSequence((len(key), *key)).generate_state(4)
    random.seed(int(words[0]))
    np.random.seed(words[1])
    torch.manual_seed(int(words[2]) << 32 | int(words[3]))
