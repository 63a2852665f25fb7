# Copyright (c) mmstepnet contributors. All rights reserved.
"""Pictures of the blocks of a network, in their order."""
from typing import Any, Dict, List, Sequence

import numpy as np
import torch

from mmstepnet.evaluation.plots import figure
from .analysis import NetworkStiffness
from .plot_style import COLORS, style, tidy
from .ranks import RankCorrelation


def _mark_stages(ax: Any, network: NetworkStiffness) -> None:
    """A line between stages, and their names above."""
    start = 0
    for stage, size in zip(network.accumulator.stages,
                           network.accumulator.stage_sizes):
        if start:
            ax.axvline(start + 0.5, color='0.4', linewidth=0.8)
        if size:
            ax.text(
                start + (size + 1) / 2,
                1.01,
                stage,
                transform=ax.get_xaxis_transform(),
                ha='center',
                va='bottom',
                fontsize=8)
        start += size
    ax.set_xlim(0.5, start + 0.5)
    ax.set_xlabel('measured block')
    ax.xaxis.get_major_locator().set_params(integer=True)


def draw_trajectories(networks: Sequence[NetworkStiffness],
                      dt: str = 'own',
                      single: Sequence[int] = ()) -> Any:
    """NSI of the blocks: mean, spread over samples, and single samples.

    Args:
        networks (Sequence[NetworkStiffness]): A panel for each.
        dt (str): ``'own'`` or ``'unit'``. Defaults to ``'own'``.
        single (Sequence[int]): Samples that are drawn one by one.

    Returns:
        Figure: The picture.

    Raises:
        ValueError: If there is no such sample.
    """
    fig, axes = figure(len(networks), columns=2, size=(5.6, 3.6), sharey=True)
    for ax, network in zip(axes, networks):
        nsi = network.nsi(dt).double()
        wrong = [i for i in single if not 0 <= i < len(nsi)]
        if wrong:
            raise ValueError(f'{network.name} has samples 0 to '
                             f'{len(nsi) - 1}, got {wrong}')
        blocks = np.arange(1, nsi.shape[1] + 1)
        ends = torch.tensor([0.1, 0.9], dtype=nsi.dtype)
        low, high = nsi.quantile(ends, dim=0).numpy()
        ax.fill_between(
            blocks,
            low,
            high,
            color=COLORS[0],
            alpha=0.25,
            linewidth=0,
            label='10 % to 90 % of samples')
        ax.plot(
            blocks,
            nsi.mean(dim=0),
            'o-',
            color=COLORS[0],
            markersize=3,
            label='mean')
        for place, i in enumerate(single):
            ax.plot(
                blocks,
                nsi[i],
                linewidth=1,
                label=f'sample {i}',
                **style(place + 1))
        _mark_stages(ax, network)
        total = network.report(dt).total
        spread = (f' $\\pm$ {total.stderr:.1g}'
                  if total.num_samples > 1 else '')
        ax.set_title(
            f'{network.name}\nTNS {total.mean:.3g}{spread}',
            fontsize=10,
            pad=18)
        ax.set_ylabel('NSI' if dt == 'own' else 'NSI with dt = 1')
        ax.set_ylim(bottom=0)
    tidy(axes)
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc='outside lower center', ncols=4)
    return fig


def draw_step_correlations(networks: Sequence[NetworkStiffness]) -> Any:
    """NSI beside the step size of every block, and how they correlate.

    Args:
        networks (Sequence[NetworkStiffness]): A row of panels for each.

    Returns:
        Figure: The picture.
    """
    fig, axes = figure(2 * len(networks), columns=2, size=(5.6, 3.2))
    for row, network in enumerate(networks):
        left, right = axes[2 * row:2 * row + 2]
        lines = _draw_step_sizes(left, network)
        _draw_correlation(right, network.step_correlations())
        for ax in (left, right):
            _mark_stages(ax, network)
        left.set_title(network.name, fontsize=10, pad=18)
    tidy(axes)
    fig.legend(handles=lines, loc='outside lower center', ncols=2)
    return fig


def _draw_step_sizes(ax: Any, network: NetworkStiffness) -> List[Any]:
    blocks = list(network.report().blocks.values())
    other = ax.twinx()
    lines: List[Any] = []
    for axis, name, marker, values in ((ax, 'NSI', 'o', [
            b.nsi for b in blocks
    ]), (other, 'step size', 's', [b.step_size for b in blocks])):
        lines += axis.plot(
            range(1,
                  len(values) + 1),
            values,
            marker=marker,
            markersize=3,
            label=name,
            **style(len(lines)))
        axis.set_ylabel(f'mean {name}')
        axis.set_ylim(0, 1.1 * max(values, default=1))
    return lines


def _draw_correlation(ax: Any, correlations: Dict[str,
                                                  RankCorrelation]) -> None:
    values = [c.spearman for c in correlations.values()]
    places = np.arange(1, len(values) + 1)
    if np.isnan(values).all():
        ax.text(
            0.5,
            0.5,
            'the step size is constant',
            ha='center',
            va='center',
            transform=ax.transAxes,
            bbox=dict(facecolor='white', edgecolor='none'))
    else:
        ax.axhline(0, color='0.4', linewidth=0.8)
        ax.bar(places, values, color=COLORS[2])
    ax.set_ylim(-1, 1)
    ax.set_ylabel('Spearman over samples\nof NSI and step size')
