# Copyright (c) mmstepnet contributors. All rights reserved.
"""Pictures of the results of ``measures``, by the name of the network."""
from typing import Any, Dict, List, Mapping, Sequence

from mmstepnet.evaluation.plots import figure, finish
from .trajectory import PolarPoint

Results = Mapping[str, Dict[str, Any]]


def _depths(number: int) -> List[float]:
    return [(i + 1) / number for i in range(number)]


def plot_fourier(results: Results, path: str) -> None:
    """Relative log amplitude of every block, then of the highest frequency.

    Args:
        results (Mapping): Results of ``measure_features`` by network.
        path (str): Picture to write.
    """
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    fig, axes = figure(len(results) + 1, columns=3)
    colors = colormaps['viridis']
    for ax, (name, result) in zip(axes, results.items()):
        blocks = result['amplitude']
        for depth, (block, stats) in zip(_depths(len(blocks)), blocks.items()):
            ax.plot(
                result['frequencies'][block],
                stats['mean'],
                color=colors(depth))
        ax.set(
            title=name,
            xlabel='frequency (pi)',
            ylabel='relative log amplitude')
    bar = fig.colorbar(ScalarMappable(cmap=colors), ax=axes[len(results) - 1])
    bar.set_label('depth (share of blocks)')
    for name, result in results.items():
        last = [s['mean'][-1] for s in result['amplitude'].values()]
        errors = [s['stderr'][-1] for s in result['amplitude'].values()]
        axes[-1].errorbar(
            _depths(len(last)), last, errors, marker='o', ms=4, label=name)
    axes[-1].set(
        title='highest frequency',
        xlabel='depth (share of blocks)',
        ylabel='relative log amplitude')
    finish(fig, axes, path, legend_of=axes[-1])


def _plot_by_block(results: Results, key: str, label: str, path: str,
                   **limits: Any) -> None:
    """One value a block, over the depth, with the names of the blocks."""
    fig, axes = figure(len(results), columns=1, size=(9, 3.2))
    for ax, (name, result) in zip(axes, results.items()):
        blocks = result[key]
        ax.errorbar(
            range(len(blocks)), [stats['mean'] for stats in blocks.values()],
            [stats['stderr'] for stats in blocks.values()],
            marker='o',
            ms=4)
        every = -(-len(blocks) // 30)
        ax.set_xticks(
            range(0, len(blocks), every),
            list(blocks)[::every],
            rotation=60,
            ha='right',
            rotation_mode='anchor')
        ax.set(title=name, ylabel=label, **limits)
    finish(fig, axes, path)


def plot_variance(results: Results, path: str) -> None:
    """Variance of the feature maps of every block.

    Args:
        results (Mapping): Results of ``measure_features`` by network.
        path (str): Picture to write.
    """
    _plot_by_block(results, 'variance', 'feature-map variance', path)


def plot_damping(results: Results, path: str) -> None:
    """Learned damping of every block.

    Args:
        results (Mapping): Results of ``measure_damping`` by network.
        path (str): Picture to write.
    """
    _plot_by_block(results, 'damping', 'damping', path, ylim=(0, None))


def plot_hessian(results: Results, path: str) -> None:
    """Top eigenvalues of the mini-batches, and the density of all.

    Args:
        results (Mapping): Results of ``measure_hessian`` by network.
        path (str): Picture to write.
    """
    import torch
    fig, axes = figure(2, size=(5.5, 3.8))
    low = min(
        min(part['values']) for result in results.values()
        for part in result['batches'])
    high = max(
        max(part['values']) for result in results.values()
        for part in result['batches'])
    grid = torch.linspace(low, high, 1000, dtype=torch.float64)
    width = (high - low) / 100
    for name, result in results.items():
        tops = sorted(value for part in result['batches']
                      for value in part['top'])
        shares = [i / len(tops) for i in range(1, len(tops) + 1)]
        axes[0].step(tops, shares, where='post', label=name)
        density = torch.zeros_like(grid)
        for part in result['batches']:
            nodes = torch.tensor(part['values'], dtype=torch.float64)
            weights = torch.tensor(part['weights'], dtype=torch.float64)
            bumps = torch.exp(-((grid[:, None] - nodes) / width)**2 / 2)
            density += bumps @ weights / (width * (2 * torch.pi)**0.5)
        axes[1].plot(grid, density / len(result['batches']), label=name)
    # low enough to show one eigenvalue of one mini-batch
    floor = 0.1 / width / max(result['num_parameters'] * len(result['batches'])
                              for result in results.values())
    num_top = len(next(iter(results.values()))['batches'][0]['top'])
    axes[0].set(
        title=f'top {num_top} eigenvalues of mini-batches',
        xlabel='eigenvalue',
        ylabel='share below')
    axes[1].set(
        title=f'spectral density (Lanczos, width {width:.2g})',
        xlabel='eigenvalue',
        ylabel='density',
        yscale='log',
        ylim=(floor, None))
    finish(fig, axes, path)


def _plot_surface(results: Results, path: str, xlabel: str,
                  ylabel: str) -> None:
    import torch
    fig, axes = figure(len(results), columns=3, size=(5, 4.2))
    losses = [
        torch.tensor(result['loss'], dtype=torch.float64)
        for result in results.values()
    ]
    low = min(loss.min().item() for loss in losses)
    high = max(loss.max().item() for loss in losses)
    # logarithmic, since the loss spans decades around a minimum
    levels = torch.logspace(
        torch.tensor(max(low, 1e-4)).log10().item(),
        torch.tensor(high).log10().item(), 15)
    for ax, (name, result), loss in zip(axes, results.items(), losses):
        lines = ax.contour(result['x'], result['y'],
                           loss.clamp(min=levels[0].item()), levels.tolist())
        ax.clabel(lines, lines.levels[::2], fmt='%.3g', fontsize=7)
        ax.plot(0, 0, 'k+')
        ax.locator_params(nbins=5)
        ax.set(title=name, xlabel=xlabel, ylabel=ylabel)
    finish(fig, axes, path)


def plot_weight_surface(results: Results, path: str) -> None:
    """Contours of the loss around the weights, the same levels for all.

    Args:
        results (Mapping): Results of ``measure_weight_surface`` by network.
        path (str): Picture to write.
    """
    _plot_surface(results, path, 'direction 1 (filter norms)',
                  'direction 2 (filter norms)')


def plot_attack_surface(results: Results, path: str) -> None:
    """Contours of the loss around the images, the same levels for all.

    Args:
        results (Mapping): Results of ``measure_attack_surface`` by network.
        path (str): Picture to write.
    """
    _plot_surface(results, path, 'along the attack (1/255)',
                  'random signs (1/255)')


def plot_trajectory(results: Mapping[str, Sequence[PolarPoint]],
                    path: str) -> None:
    """The way of the weights in polar form.

    Args:
        results (Mapping): Results of ``polar_trajectory`` by network.
        path (str): Picture to write.
    """
    fig, axes = figure(1, size=(5, 4.5), subplot_kw=dict(polar=True))
    for name, points in results.items():
        radii, angles = zip(*points)
        axes[0].plot(angles, radii, marker='o', ms=4, label=name)
    axes[0].set(thetamin=0, thetamax=180)
    finish(fig, axes, path)
