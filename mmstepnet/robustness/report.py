# Copyright (c) mmstepnet contributors. All rights reserved.
from typing import Dict, List, Mapping, Sequence

from .cases import ATTACKS
from .evaluation import Robustness

Results = Sequence[Robustness]


def by_group(results: Results) -> Dict[str, List[Robustness]]:
    """The results of each attack and noise, by rising level."""
    groups: Dict[str, List[Robustness]] = {}
    for result in sorted(results, key=lambda result: result.level):
        groups.setdefault(result.group, []).append(result)
    order = dict.fromkeys(result.group for result in results)
    return {group: groups[group] for group in order}


def robustness_table(results: Results) -> str:
    """Accuracy in percent, one row a perturbation, as a Markdown table.

    Args:
        results (Sequence[Robustness]): Results of one network.

    Returns:
        str: The table.
    """
    lines = [
        '| perturbation | level | accuracy (%) | mean loss | '
        'largest change (1/255) |', '|---|---|---|---|---|'
    ]
    for result in results:
        level = f'{result.level:g}'
        if result.group in ATTACKS:
            level += '/255'
        elif result.group == 'clean':
            level = ''
        lines.append(
            f'| {result.group} | {level} | {100 * result.accuracy:.2f} +- '
            f'{100 * result.stderr:.2f} | {result.loss:.3f} | '
            f'{result.max_norm:.2f} |')
    return '\n'.join(lines)


def plot_robustness(networks: Mapping[str, Results], path: str) -> None:
    """Accuracy over radius and severity, one panel a perturbation.

    Args:
        networks (Mapping[str, Sequence[Robustness]]): Results by network.
        path (str): Picture to write.
    """
    from mmstepnet.evaluation.plots import figure, finish
    grouped = {name: by_group(results) for name, results in networks.items()}
    clean = {name: groups.pop('clean', []) for name, groups in grouped.items()}
    groups = list(
        dict.fromkeys(group for groups in grouped.values()
                      for group in groups))
    fig, axes = figure(len(groups))
    for ax, group in zip(axes, groups):
        for name, results in grouped.items():
            points = clean[name] + results.get(group, [])
            ax.errorbar([point.level for point in points],
                        [100 * point.accuracy for point in points],
                        [100 * point.stderr for point in points],
                        marker='o',
                        label=name)
        is_attack = group in ATTACKS
        ax.set(
            title=group.upper() if is_attack else f'{group} noise',
            xlabel='radius (1/255)' if is_attack else 'severity',
            ylabel='accuracy (%)',
            ylim=(0, 100))
    finish(fig, axes, path)
