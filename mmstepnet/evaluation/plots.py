# Copyright (c) mmstepnet contributors. All rights reserved.
"""How the pictures of this package are drawn and saved."""
import math
import os
import os.path as osp
from typing import Any, List, Sequence, Tuple


def figure(num_panels: int,
           columns: int = 4,
           size: Tuple[float, float] = (4.2, 3.4),
           **kwargs: Any) -> Tuple[Any, List[Any]]:
    """A figure with panels in rows, without the use of a display.

    Args:
        num_panels (int): Number of panels.
        columns (int): Panels a row at most. Defaults to 4.
        size (tuple[float, float]): Width and height of a panel in inches.
        **kwargs: Arguments of Matplotlib's ``Figure.subplots``.

    Returns:
        tuple: The figure and its panels.

    Raises:
        ValueError: If there is nothing to draw.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    if num_panels < 1:
        raise ValueError('a picture needs at least one panel, got none')
    columns = min(columns, num_panels)
    rows = math.ceil(num_panels / columns)
    fig = Figure(
        figsize=(size[0] * columns, size[1] * rows),
        dpi=120,
        layout='constrained')
    FigureCanvasAgg(fig)
    axes = fig.subplots(rows, columns, squeeze=False, **kwargs).flatten()
    for ax in axes[num_panels:]:
        ax.set_visible(False)
    return fig, list(axes[:num_panels])


def finish(fig: Any,
           axes: Sequence[Any],
           path: str,
           legend_of: Any = None) -> None:
    """Add grids and one legend, then save.

    Args:
        fig (Figure): The figure.
        axes (Sequence[Axes]): Its panels.
        path (str): Picture to write.
        legend_of (Axes, optional): The panel whose labels the legend shows.
            Defaults to None, the first one. There is no legend without any
            labels.
    """
    for ax in axes:
        ax.grid(alpha=0.3)
        for side in {'top', 'right'} & set(ax.spines):
            ax.spines[side].set_visible(False)
    legend_of = axes[0] if legend_of is None else legend_of
    handles, labels = legend_of.get_legend_handles_labels()
    if labels:
        fig.legend(
            handles,
            labels,
            loc='outside lower center',
            ncols=min(4, len(labels)))
    os.makedirs(osp.dirname(path) or '.', exist_ok=True)
    fig.savefig(path)
