# Copyright (c) mmstepnet contributors. All rights reserved.
from typing import NamedTuple, Sequence, Union

import numpy as np


class RankCorrelation(NamedTuple):
    """Rank correlations and the p-values of their being zero."""
    kendall: float
    kendall_p: float
    spearman: float
    spearman_p: float
    num_pairs: int


Numbers = Union[np.ndarray, Sequence[float]]


def rank_correlation(x: Numbers, y: Numbers) -> RankCorrelation:
    """Kendall's tau-b and Spearman's rho of two lists of numbers.

    Args:
        x (Sequence[float]): Numbers, for example TNS of checkpoints.
        y (Sequence[float]): As many others, for example their accuracies.

    Returns:
        RankCorrelation: Both with two-sided p-values, by SciPy; NaN for
        fewer than two pairs or where all numbers of a list are equal.

    Raises:
        ValueError: If the lengths differ or a number isn't finite.

    Example:
        >>> rank_correlation([1, 2, 3, 4], [1, 3, 2, 9]).spearman
        0.8
    """
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError('rank correlation needs two lists of equal length, '
                         f'got {a.shape} and {b.shape}')
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError('rank correlation needs finite numbers, got '
                         f'{list(x)} and {list(y)}')
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return RankCorrelation(np.nan, np.nan, np.nan, np.nan, len(a))
    from scipy.stats import kendalltau, spearmanr
    kendall, spearman = kendalltau(a, b), spearmanr(a, b)
    return RankCorrelation(
        float(kendall.statistic), float(kendall.pvalue),
        round(float(spearman.statistic), 15), float(spearman.pvalue), len(a))
