# Copyright (c) mmstepnet contributors. All rights reserved.
"""Pictures of stiffness, each as PNG and as SVG."""
import os.path as osp
from typing import Any, Dict, List, Optional, Sequence

import numpy as np
import torch

from mmstepnet.evaluation.plots import figure
from .analysis import NetworkStiffness, accuracy_correlation, common_grid
from .degrees import delta_function, proportion_function
from .ranks import RankCorrelation

#: Colors that the color-blind can tell apart (Okabe and Ito), and lines that
#: differ without color.
COLORS = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9',
          '#000000')
DASHES = ('-', '--', '-.', ':')


def style(index: int) -> Dict[str, Any]:
    """Color and dashes of the ``index``-th network."""
    return dict(
        color=COLORS[index % len(COLORS)],
        linestyle=DASHES[index % len(DASHES)])


def draw_all(networks: Sequence[NetworkStiffness], out_dir: str, dt: str,
             metric: Optional[str], single: Sequence[int]) -> Dict[str, str]:
    """Draw every picture that the numbers allow.

    Args:
        networks (Sequence[NetworkStiffness]): The networks.
        out_dir (str): Folder of the pictures.
        dt (str): ``'own'`` or ``'unit'``.
        metric (str, optional): Metric to draw TNS against.
        single (Sequence[int]): Samples that are drawn one by one.

    Returns:
        dict[str, str]: Title to the path of the PNG.
    """
    pictures = {
        'NSI along the trajectory': draw_trajectories(networks, dt, single),
        'Share of stiff samples over the degree': draw_surfaces(networks, dt),
        'Stiffness proportion': draw_proportions(networks, dt),
        'NSI and step size': draw_step_correlations(networks),
    }
    if metric is not None and len(networks) > 1:
        pictures['TNS and accuracy'] = draw_accuracy(networks, metric, dt)
    names = ('trajectory', 'surface', 'proportion', 'step_size', 'accuracy')
    paths = {}
    for name, (title, fig) in zip(names, pictures.items()):
        paths[title] = osp.join(out_dir, f'{name}.png')
        fig.savefig(paths[title], dpi=150)
        fig.savefig(osp.join(out_dir, f'{name}.svg'))
    return paths


def _tidy(axes: Sequence[Any]) -> None:
    for ax in axes:
        ax.grid(alpha=0.3)
        ax.spines[['top', 'right']].set_visible(False)


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
        ax.set_title(
            f'{network.name}\nTNS {total.mean:.3g} $\\pm$ {total.stderr:.1g}',
            fontsize=10,
            pad=18)
        ax.set_ylabel('NSI' if dt == 'own' else 'NSI with dt = 1')
        ax.set_ylim(bottom=0)
    _tidy(axes)
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc='outside lower center', ncols=4)
    return fig


def draw_surfaces(networks: Sequence[NetworkStiffness],
                  dt: str = 'own') -> Any:
    """delta(M1, M2), whose integral is TNS, side by side.

    Args:
        networks (Sequence[NetworkStiffness]): A panel for each.
        dt (str): ``'own'`` or ``'unit'``. Defaults to ``'own'``.

    Returns:
        Figure: The picture.
    """
    m1, m2 = common_grid(networks, dt)
    shares = [n.accumulator.delta(m1, m2, dt).numpy().T for n in networks]
    fig, axes = figure(
        len(networks), columns=3, size=(4.2, 3.6), sharex=True, sharey=True)
    for ax, network, share in zip(axes, networks, shares):
        image = ax.pcolormesh(
            m1, m2, share, cmap='cividis', vmin=0, vmax=1, rasterized=True)
        lines = ax.contour(
            m1,
            m2,
            share,
            levels=(0.1, 0.5, 0.9),
            colors=('white', 'black', 'black'),
            linewidths=0.8)
        ax.clabel(lines, fontsize=7)
        ax.set_title(
            f'{network.name}\nTNS '
            f'{network.report(dt).total.mean:.3g}',
            fontsize=10)
        ax.set_xlabel('M1: NSI over the mean of its stage, minus 1')
        ax.set_ylabel('M2: NSI')
    # The last samples stretch the axes far beyond where there is something.
    some = np.stack(shares).max(axis=0) > 0.002
    axes[0].set_xlim(0, m1[some.any(axis=0)].max(initial=m1[1]))
    axes[0].set_ylim(0, m2[some.any(axis=1)].max(initial=m2[1]))
    fig.colorbar(image, ax=axes, label='share of samples that are stiff')
    return fig


def draw_proportions(networks: Sequence[NetworkStiffness],
                     dt: str = 'own') -> Any:
    """Stiffness proportion and share of stiff samples over M1, exactly.

    Args:
        networks (Sequence[NetworkStiffness]): A line for each.
        dt (str): ``'own'`` or ``'unit'``. Defaults to ``'own'``.

    Returns:
        Figure: The picture.
    """
    fig, axes = figure(2, size=(5, 3.6))
    functions = (proportion_function, delta_function)
    titles = ('stiffness proportion p(M1)', 'share of stiff samples')
    for ax, function, title in zip(axes, functions, titles):
        for index, network in enumerate(networks):
            sizes = network.accumulator.stage_sizes
            step = function(network.nsi(dt), sizes, m2=0.)
            m1 = torch.linspace(0, float(step.edges.max()) * 1.02, 1000)
            ax.plot(m1, step(m1), label=network.name, **style(index))
        ax.set_xlabel('M1, with M2 = 0')
        ax.set_ylabel(title)
        ax.set_ylim(bottom=0)
    _tidy(axes)
    _name_lines(fig, axes[0])
    return fig


def _name_lines(fig: Any, ax: Any) -> None:
    handles, labels = ax.get_legend_handles_labels()
    longest = max(map(len, labels), default=1)
    fig.legend(
        handles,
        labels,
        loc='outside lower center',
        ncols=max(1, min(len(labels), 90 // (longest + 8))))


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
    _tidy(axes)
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


def draw_accuracy(networks: Sequence[NetworkStiffness],
                  metric: str,
                  dt: str = 'own') -> Any:
    """TNS against a metric, with both rank correlations.

    Args:
        networks (Sequence[NetworkStiffness]): A point for each.
        metric (str): Name of the metric.
        dt (str): ``'own'`` or ``'unit'``. Defaults to ``'own'``.

    Returns:
        Figure: The picture.
    """
    fig, (ax, ) = figure(1, size=(6.4, 4.4))
    for index, network in enumerate(networks):
        total = network.report(dt).total
        point = (network.metrics[metric], total.mean)
        ax.errorbar(
            *point,
            yerr=total.stderr,
            fmt='osD^v'[index % 5],
            color=COLORS[index % len(COLORS)],
            capsize=3)
        ax.annotate(
            network.name,
            point,
            xytext=(6, 6),
            textcoords='offset points',
            fontsize=8)
    ax.margins(0.2)
    ax.set_xlabel(metric)
    ax.set_ylabel('TNS, with its standard error')
    both = accuracy_correlation(networks, metric, dt)
    text = 'two networks: no rank correlation' if both.num_pairs < 3 else (
        f'Kendall {both.kendall:.2f} (p = {both.kendall_p:.2g}), '
        f'Spearman {both.spearman:.2f} (p = {both.spearman_p:.2g}), '
        f'{both.num_pairs} networks')
    ax.set_title(text, fontsize=9)
    _tidy([ax])
    return fig
