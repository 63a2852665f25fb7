# Copyright (c) mmstepnet contributors. All rights reserved.
"""Stiffness, accuracy, robustness and curvature of networks side by side."""
import math
import os.path as osp
from typing import Any, Dict, NamedTuple, Optional, Sequence

from mmstepnet.evaluation.plots import figure, finish
from mmstepnet.evaluation.session import load_result

#: What makes the file of each result.
TOOLS = dict(
    robustness='tools/robustness.py',
    stiffness='tools/analyze.py stiffness',
    hessian='tools/analyze.py hessian')


class Measured(NamedTuple):
    """A number with its standard error, and over how many samples.

    Attributes:
        value (float): The number; NaN without samples.
        stderr (float): Its standard error; NaN where there is none.
        number (int): How many samples.
    """
    value: float
    stderr: float
    number: int

    def __str__(self) -> str:
        if not self.number:
            return '-'
        spread = '' if math.isnan(self.stderr) else f' +- {self.stderr:.2g}'
        return f'{self.value:.4g}{spread} (n={self.number})'


class Network(NamedTuple):
    """What is known of a network.

    Attributes:
        name (str): Its name.
        accuracy (Measured): Accuracy on clean images.
        robust_accuracy (Measured): Accuracy under the attack.
        noisy_accuracy (Measured): Mean accuracy over all noises; the standard
            error is that of a single noise, an upper bound.
        tns (Measured): Total neural stiffness.
        eigenvalue (Measured): Top Hessian eigenvalue over mini-batches.
    """
    name: str
    accuracy: Measured
    robust_accuracy: Measured
    noisy_accuracy: Measured
    tns: Measured
    eigenvalue: Measured


COLUMNS = dict(
    accuracy='accuracy (%)',
    robust_accuracy='accuracy under attack (%)',
    noisy_accuracy='accuracy with noise (%)',
    tns='TNS',
    eigenvalue='top Hessian eigenvalue')


def read_network(work_dir: str, attack: str, radius: float) -> Network:
    """Put together the results in a work directory.

    Args:
        work_dir (str): Folder with the results of the three tools.
        attack (str): Name of the attack.
        radius (float): Its radius, in units of 1/255.

    Returns:
        Network: The numbers.

    Raises:
        FileNotFoundError: If a result is missing.
        ValueError: If the results are of different weights, or the attack
            was not made.
    """
    saved = {}
    for name, tool in TOOLS.items():
        path = osp.join(work_dir, f'{name}.json')
        if not osp.isfile(path):
            raise FileNotFoundError(
                f'there are no results at {path!r}: run {tool} with '
                f'--work-dir {work_dir}')
        saved[name] = load_result(path)
    weights = {
        name: tuple(s['settings']['weights'])
        for name, s in saved.items()
    }
    if len(set(weights.values())) > 1:
        raise ValueError(f'the results in {work_dir!r} are of different '
                         f'weights: {weights}')
    rows = saved['robustness']['result']
    attacked = [
        row for row in rows
        if row['group'] == attack and row['level'] == radius
    ]
    if not attacked:
        raise ValueError(f'{work_dir!r} has no result of {attack} with radius '
                         f'{radius:g}/255')
    stiffness = saved['stiffness']['result']['total']
    hessian = saved['hessian']['result']
    return Network(
        name=saved['robustness']['name'],
        accuracy=_accuracy([row for row in rows if row['group'] == 'clean']),
        robust_accuracy=_accuracy(attacked),
        noisy_accuracy=_accuracy([
            row for row in rows
            if row['group'] in ('gaussian', 'shot', 'impulse', 'speckle')
        ]),
        tns=_mean(stiffness, stiffness['num_samples']),
        eigenvalue=_mean(hessian['max_eigenvalue'], len(hessian['batches'])))


def _mean(saved: Dict[str, Optional[float]], number: int) -> Measured:
    """What a file holds, with None for NaN."""
    value, stderr = (
        math.nan if x is None else x for x in (saved['mean'], saved['stderr']))
    return Measured(value, stderr, number)


def _accuracy(rows: Sequence[Dict[str, Any]]) -> Measured:
    if not rows:
        return Measured(math.nan, math.nan, 0)
    return Measured(100 * sum(row['accuracy'] for row in rows) / len(rows),
                    100 * max(row['stderr'] for row in rows),
                    rows[0]['num_images'])


def comparison_table(networks: Sequence[Network]) -> str:
    """The networks as rows of a Markdown table.

    Args:
        networks (Sequence[Network]): The networks.

    Returns:
        str: The table.
    """
    lines = [
        '| network | ' + ' | '.join(COLUMNS.values()) + ' |',
        '|---' * (len(COLUMNS) + 1) + '|'
    ]
    for network in networks:
        cells = [network.name, *map(str, network[1:])]
        lines.append('| ' + ' | '.join(cells) + ' |')
    return '\n'.join(lines)


def plot_comparison(networks: Sequence[Network], path: str) -> None:
    """One panel a quantity, one bar a network.

    Args:
        networks (Sequence[Network]): The networks.
        path (str): Picture to write.
    """
    fig, axes = figure(len(COLUMNS), columns=5, size=(3, 3.6))
    places = range(len(networks))
    for ax, (key, label) in zip(axes, COLUMNS.items()):
        measured = [getattr(network, key) for network in networks]
        bars = ax.bar(
            places, [m.value for m in measured],
            yerr=[m.stderr for m in measured],
            color=[f'C{i}' for i in places],
            capsize=4)
        ax.bar_label(bars, [f'{m.value:.3g}' for m in measured], padding=3)
        ax.margins(y=0.15)
        ax.set_xticks(
            places, [network.name for network in networks],
            rotation=30,
            ha='right',
            rotation_mode='anchor')
        ax.set_title(label, fontsize=10)
    finish(fig, axes, path)
