# Copyright (c) mmstepnet contributors. All rights reserved.
"""Pictures of stiffness, each as PNG and as SVG."""
import os.path as osp
from typing import Any, Dict, Optional, Sequence

import numpy as np
import torch

from mmstepnet.evaluation.plots import figure
from .analysis import NetworkStiffness, accuracy_correlation, common_grid
from .block_plots import draw_step_correlations, draw_trajectories
from .degrees import delta_function, proportion_function
from .plot_style import COLORS, name_lines, style, tidy


def draw_all(networks: Sequence[NetworkStiffness], out_dir: str, dt: str,
             metric: Optional[str], single: Sequence[int]) -> Dict[str, str]:
    """Draw every picture that the numbers allow.

    Networks whose TNS is 0, for example by definition, have no degree at
    which they are stiff and are left out where it is drawn.

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
        'trajectory':
        ('NSI along the trajectory', draw_trajectories(networks, dt, single))
    }
    stiff = [n for n in networks if n.report(dt).total.mean > 0]
    if stiff:
        pictures['surface'] = ('Share of stiff samples over the degree',
                               draw_surfaces(stiff, dt))
        pictures['proportion'] = ('Stiffness proportion',
                                  draw_proportions(stiff, dt))
    pictures['step_size'] = ('NSI and step size',
                             draw_step_correlations(networks))
    if metric is not None and len(networks) > 1:
        pictures['accuracy'] = ('TNS and accuracy',
                                draw_accuracy(networks, metric, dt))
    paths = {}
    for name, (title, fig) in pictures.items():
        paths[title] = osp.join(out_dir, f'{name}.png')
        fig.savefig(paths[title], dpi=150)
        fig.savefig(osp.join(out_dir, f'{name}.svg'))
    return paths


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
    tidy(axes)
    name_lines(fig, axes[0])
    return fig


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
    tidy([ax])
    return fig
