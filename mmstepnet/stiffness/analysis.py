# Copyright (c) mmstepnet contributors. All rights reserved.
"""Everything about the stiffness of one network, and of several together."""
import json
import os
import os.path as osp
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence

import numpy as np
from torch import Tensor

from .accumulator import StiffnessAccumulator
from .ranks import RankCorrelation, rank_correlation
from .report import StiffnessReport, column_of, plain


@dataclass
class NetworkStiffness:
    """What was measured of a network.

    Attributes:
        name (str): Name of the network or its checkpoint.
        how (str): What was found and how it was measured.
        accumulator (StiffnessAccumulator): The samples.
        metrics (dict[str, float]): What else is known, such as its accuracy.
    """
    name: str
    how: str
    accumulator: StiffnessAccumulator
    metrics: Dict[str, float] = field(default_factory=dict)

    def report(self, dt: str = 'own') -> StiffnessReport:
        """TNS, NSI and step sizes."""
        return self.accumulator.compute(dt)

    def nsi(self, dt: str = 'own') -> Tensor:
        """NSI of all samples, (N, L) float32."""
        return self.accumulator.samples()[..., column_of(dt)]

    def step_correlations(self) -> Dict[str, RankCorrelation]:
        """Rank correlation over samples of NSI and step size, per block.

        NaN where a step size is constant.
        """
        values = self.accumulator.samples().double().numpy()
        return {
            block: rank_correlation(values[:, t, 0], values[:, t, 2])
            for t, block in enumerate(self.accumulator.blocks)
        }

    def to_dict(self, dt: str = 'own', level: float = 0.95) -> dict:
        """All numbers as JSON takes them."""
        report = self.report(dt)
        low, high = report.total.interval(level)
        return plain(
            dict(
                name=self.name,
                how=self.how,
                metrics=self.metrics,
                confidence=dict(level=level, low=low, high=high),
                step_correlations=self.step_correlations(),
                **report.to_dict()))


def accuracy_correlation(networks: Sequence[NetworkStiffness],
                         metric: str,
                         dt: str = 'own') -> RankCorrelation:
    """Rank correlation over networks of TNS and a metric.

    Args:
        networks (Sequence[NetworkStiffness]): Networks that have the metric.
        metric (str): Name of the metric.
        dt (str): ``'own'`` or ``'unit'``. Defaults to ``'own'``.

    Returns:
        RankCorrelation: The correlations and their p-values.
    """
    return rank_correlation([n.report(dt).total.mean for n in networks],
                            [n.metrics[metric] for n in networks])


def shared_metrics(networks: Sequence[NetworkStiffness]) -> List[str]:
    """Names of the metrics that all networks have."""
    return [
        name for name in networks[0].metrics
        if all(name in network.metrics for network in networks)
    ]


def common_grid(networks: Sequence[NetworkStiffness],
                dt: str = 'own',
                steps: int = 60) -> List[np.ndarray]:
    """Degrees M1 and M2 from 0 to where no network is stiff."""
    grids = [n.accumulator.grid(dt) for n in networks]
    return [
        np.linspace(0, max(float(grid[axis][-1]) for grid in grids), steps)
        for axis in (0, 1)
    ]


def save_analysis(networks: Sequence[NetworkStiffness],
                  out_dir: str,
                  *,
                  dt: str = 'own',
                  metric: Optional[str] = None,
                  single: Sequence[int] = (),
                  failed: Optional[Dict[str, str]] = None) -> str:
    """Write all numbers, pictures, and the report that shows them.

    Args:
        networks (Sequence[NetworkStiffness]): The networks, at least one.
        out_dir (str): Folder to write to.
        dt (str): ``'own'`` or ``'unit'``. Defaults to ``'own'``.
        metric (str, optional): Metric to compare TNS with over networks.
            Defaults to None, the first that all have.
        single (Sequence[int]): Samples whose trajectories are drawn one by
            one. Defaults to none.
        failed (dict[str, str], optional): Networks that could not be
            measured, and why.

    Returns:
        str: Path of the report.

    Raises:
        ValueError: If there is no network with a finite sample, or no network
            has the metric.
    """
    from .html import write_html
    from .plots import draw_all
    measured = [n for n in networks if n.report(dt).total.num_samples]
    failed = dict(failed or {})
    failed.update({
        n.name: n.report(dt).summary()
        for n in networks if n not in measured
    })
    if not measured:
        reasons = '; '.join(f'{name}: {why}' for name, why in failed.items())
        raise ValueError('there is nothing to show, no network was measured: '
                         f'{reasons or "none was given"}')
    shared = shared_metrics(measured)
    if metric is not None and metric not in shared:
        raise ValueError(f'no metric {metric!r} of all networks, expected one '
                         f'of {shared}')
    metric = metric or next(iter(shared), None)
    os.makedirs(out_dir, exist_ok=True)
    numbers = dict(
        dt=dt,
        networks=[n.to_dict(dt) for n in measured],
        failed=failed,
        metric=metric)
    if metric is not None and len(measured) > 2:
        numbers['correlation'] = plain(
            accuracy_correlation(measured, metric, dt))
    with open(
            osp.join(out_dir, 'stiffness.json'), 'w',
            encoding='utf-8') as file:
        json.dump(numbers, file, indent=1, allow_nan=False)
    _save_arrays(measured, osp.join(out_dir, 'stiffness.npz'), dt)
    pictures = draw_all(measured, out_dir, dt, metric, single)
    return write_html(osp.join(out_dir, 'report.html'), numbers, pictures)


def _save_arrays(networks: Sequence[NetworkStiffness], path: str,
                 dt: str) -> None:
    m1, m2 = common_grid(networks, dt)
    arrays: Dict[str, Any] = dict(m1=m1, m2=m2)
    for index, network in enumerate(networks):
        accumulator = network.accumulator
        arrays.update({
            f'{index}/name':
            np.array(network.name),
            f'{index}/blocks':
            np.array(accumulator.blocks),
            f'{index}/stage_sizes':
            np.array(accumulator.stage_sizes),
            f'{index}/values':
            accumulator.samples().numpy(),
            f'{index}/delta':
            accumulator.delta(m1, m2, dt).numpy(),
            f'{index}/proportion':
            accumulator.proportion(m1, m2, dt).numpy(),
        })
    np.savez_compressed(path, **arrays)
