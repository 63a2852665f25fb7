# Copyright (c) mmstepnet contributors. All rights reserved.
"""The report of an analysis: one file that needs nothing else."""
import base64
from html import escape
from typing import Any, Dict, Iterable, List, Sequence

STYLE = '''
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1100px;
       margin: 2em auto; padding: 0 1em; color: #222; }
table { border-collapse: collapse; margin: 1em 0; }
th, td { border-bottom: 1px solid #ccc; padding: .25em .8em;
         text-align: right; }
th:first-child, td:first-child { text-align: left; }
img { max-width: 100%; }
.warning { border-left: 4px solid #D55E00; padding-left: .8em; }
'''
NSI_OF = dict(own='the own step size of every block', unit='step size 1')


def write_html(path: str, numbers: Dict[str, Any], pictures: Dict[str,
                                                                  str]) -> str:
    """Write the report.

    Args:
        path (str): File to write.
        numbers (dict): What ``stiffness.json`` holds.
        pictures (dict[str, str]): Title to the path of a PNG.

    Returns:
        str: The path.
    """
    networks = numbers['networks']
    parts = [
        '<h1>Stiffness</h1>',
        f'<p>NSI with {NSI_OF[numbers["dt"]]}. Mean over images, with its '
        'standard error and the confidence interval of '
        f'{networks[0]["confidence"]["level"]:.0%}.</p>',
        _overview(networks, numbers['metric'])
    ]
    if 'correlation' in numbers:
        parts.append(_correlation(numbers['correlation'], numbers['metric']))
    parts += [_warning(name, why) for name, why in numbers['failed'].items()]
    for title, picture in pictures.items():
        with open(picture, 'rb') as file:
            data = base64.b64encode(file.read()).decode()
        parts.append(f'<h2>{escape(title)}</h2><img alt="{escape(title)}" '
                     f'src="data:image/png;base64,{data}">')
    parts += [_details(network) for network in networks]
    with open(path, 'w', encoding='utf-8') as file:
        file.write('<!doctype html><html lang="en"><meta charset="utf-8">'
                   f'<title>Stiffness</title><style>{STYLE}</style>'
                   f'{"".join(parts)}</html>')
    return path


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [''.join(f'<th>{escape(cell)}</th>' for cell in head)]
    lines += [
        ''.join(f'<td>{escape(_text(cell))}</td>' for cell in row)
        for row in rows
    ]
    return '<table>' + ''.join(f'<tr>{x}</tr>' for x in lines) + '</table>'


def _text(value: Any) -> str:
    if value is None:
        return '-'
    return f'{value:.4g}' if isinstance(value, float) else str(value)


def _overview(networks: List[dict], metric: Any) -> str:
    rows = []
    for network in networks:
        total, interval = network['total'], network['confidence']
        rows.append([
            network['name'], total['mean'], total['stderr'], interval['low'],
            interval['high'], total['num_samples'],
            network['metrics'].get(metric)
        ])
    head = ('network', 'TNS', 'standard error', 'from', 'to', 'images', metric
            or 'metric')
    return _table(head, rows)


def _correlation(both: dict, metric: str) -> str:
    return (f'<p>TNS and {escape(metric)} over {both["num_pairs"]} networks: '
            f'Kendall {_text(both["kendall"])} '
            f'(p = {_text(both["kendall_p"])}), '
            f'Spearman {_text(both["spearman"])} '
            f'(p = {_text(both["spearman_p"])}).</p>')


def _warning(name: str, why: str) -> str:
    return (f'<p class="warning">{escape(name)} was not measured: '
            f'{escape(why)}</p>')


def _details(network: dict) -> str:
    parts = [
        f'<h2>{escape(network["name"])}</h2><p>{escape(network["how"])}'
        '</p>'
    ]
    if network['non_finite']:
        shown = list(network['non_finite'].items())[:20]
        parts.append('<p class="warning">'
                     f'{len(network["non_finite"])} images had a NSI that is '
                     'not finite and were left out: ' +
                     escape('; '.join(f'{image} (from {block})'
                                      for image, block in shown)) + '</p>')
    parts.append(
        _table(('stage', 'TNS', 'standard error'),
               [(stage, value['mean'], '0 by definition'
                 if stage in network['undefined'] else value['stderr'])
                for stage, value in network['stages'].items()]))
    parts.append(
        _table(('block', 'NSI', 'standard deviation', 'step size',
                'Spearman of NSI and step size'),
               [(block, value['nsi'], value['nsi_std'], value['step_size'],
                 network['step_correlations'][block]['spearman'])
                for block, value in network['blocks'].items()]))
    return ''.join(parts)
