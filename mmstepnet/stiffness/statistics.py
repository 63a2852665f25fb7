# Copyright (c) mmstepnet contributors. All rights reserved.
import math
from statistics import NormalDist
from typing import List, NamedTuple, Tuple

import torch
from torch import Tensor


class Estimate(NamedTuple):
    """A mean over samples with its uncertainty.

    Attributes:
        mean (float): Mean; NaN without samples.
        stderr (float): Standard error of the mean (unbiased variance); NaN
            with fewer than two samples.
        num_samples (int): Number of samples.

    Example:
        >>> import torch
        >>> estimate(torch.tensor([0., 4., 0., 4., 2.]))
        Estimate(mean=2.0, stderr=0.8944271909999159, num_samples=5)
    """
    mean: float
    stderr: float
    num_samples: int

    def interval(self, level: float = 0.95) -> Tuple[float, float]:
        """Confidence interval of the mean, from the normal distribution.

        Args:
            level (float): Probability, in (0, 1). Defaults to 0.95.

        Returns:
            tuple[float, float]: Lower and upper end.

        Raises:
            ValueError: If ``level`` is not in (0, 1).
        """
        if not 0 < level < 1:
            raise ValueError(f'level must lie between 0 and 1, got {level}')
        half = NormalDist().inv_cdf((1 + level) / 2) * self.stderr
        return self.mean - half, self.mean + half


class Moments:
    """Mean and variance of several columns, part by part.

    Args:
        num_columns (int): Number of columns K.

    Source:
        Chan, Golub and LeVeque, "Algorithms for computing the sample
        variance", 1983.
    """

    def __init__(self, num_columns: int) -> None:
        self.count = 0
        self._mean = torch.zeros(num_columns, dtype=torch.float64)
        self._squares = torch.zeros(num_columns, dtype=torch.float64)

    def add(self, values: Tensor) -> None:
        """Add rows (n, K)."""
        values = values.double()
        number = len(values)
        if number == 0:
            return
        mean = values.mean(dim=0)
        total = self.count + number
        gap = mean - self._mean
        self._squares += (values - mean).square().sum(dim=0)
        self._squares += gap.square() * (self.count * number / total)
        self._mean += gap * (number / total)
        self.count = total

    @property
    def mean(self) -> Tensor:
        """Means (K,); NaN without rows."""
        return self._mean if self.count else self._mean * math.nan

    def std(self) -> Tensor:
        """Standard deviation (K,), unbiased; NaN with less than two rows."""
        if self.count < 2:
            return self._mean * math.nan
        return (self._squares / (self.count - 1)).sqrt()

    def estimates(self) -> List[Estimate]:
        """Mean and standard error of each column."""
        stderrs = self.std() / math.sqrt(max(self.count, 1))
        return [
            Estimate(mean, stderr, self.count)
            for mean, stderr in zip(self.mean.tolist(), stderrs.tolist())
        ]


def estimate(values: Tensor) -> Estimate:
    """Mean, standard error and count of one value for each sample.

    Args:
        values (Tensor): Values (N,).

    Returns:
        Estimate: The three numbers.
    """
    moments = Moments(1)
    moments.add(values[:, None])
    return moments.estimates()[0]
