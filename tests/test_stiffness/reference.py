# Copyright (c) mmstepnet contributors. All rights reserved.
"""The definitions, word by word, in NumPy."""
import numpy as np


def is_stiff(nsi, sizes, m1, m2):
    """Which blocks of one sample are stiff, on the grids m1 x m2."""
    stiff = np.zeros((len(nsi), len(m1), len(m2)), dtype=bool)
    start = 0
    for size in sizes:
        stage = nsi[start:start + size]
        if size >= 2:
            mean = stage.mean()
            for t, value in enumerate(stage, start):
                stiff[t] = value >= np.maximum((mean * (1 + m1))[:, None],
                                               m2[None])
        start += size
    return stiff


def grid_tns(nsi, sizes, steps=400):
    """TNS of one sample by the midpoint rule, and a bound of its error."""
    right = max((nsi[t:t + size].max() / max(nsi[t:t + size].mean(), 1e-12)
                 for t, size in zip(np.cumsum([0, *sizes]), sizes) if size),
                default=1)
    top = nsi.max(initial=1e-12)
    m1 = (np.arange(steps) + 0.5) * right / steps
    m2 = (np.arange(steps) + 0.5) * top / steps
    area = is_stiff(nsi, sizes, m1, m2).any(0).mean() * right * top
    # The border of the region is monotone: it crosses fewer than 2 n cells.
    return area, 2 * right * top / steps
