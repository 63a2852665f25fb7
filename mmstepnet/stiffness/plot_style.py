# Copyright (c) mmstepnet contributors. All rights reserved.
"""What the pictures of stiffness look like."""
from typing import Any, Dict, Sequence

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


def tidy(axes: Sequence[Any]) -> None:
    """A grid, and no frame at the top and at the right."""
    for ax in axes:
        ax.grid(alpha=0.3)
        ax.spines[['top', 'right']].set_visible(False)


def name_lines(fig: Any, ax: Any) -> None:
    """The labels of a panel below the figure, in as many columns as fit."""
    handles, labels = ax.get_legend_handles_labels()
    longest = max(map(len, labels), default=1)
    fig.legend(
        handles,
        labels,
        loc='outside lower center',
        ncols=max(1, min(len(labels), 90 // (longest + 8))))
