# Copyright (c) mmstepnet contributors. All rights reserved.
"""Compare what networks cost: one row for each config, or for each of some
backbones with each of some steps. No data is needed."""
import argparse
import ast
import csv
import io
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path

import torch
from mmengine.registry import DefaultScope

from mmstepnet.analysis.complexity import (checkpoint_size,
                                           count_multiply_adds,
                                           count_parameters, measure_latencies)
from mmstepnet.engine import check_out, explain_errors, read_config
from mmstepnet.registry import MODELS

IEBN = dict(
    norm_cfg=dict(type='mmstepnet.IEBN'), downsample_norm_cfg=dict(type='BN'))


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('configs', nargs='*', help='config files')
    parser.add_argument(
        '--backbones',
        nargs='+',
        default=[],
        metavar='NAME(OPTION=VALUE, ...)',
        help='for example "ResNet(depth=50)" "CIFARResNet(depth=164)"')
    parser.add_argument(
        '--steps',
        nargs='+',
        default=['plain'],
        metavar='NAME(OPTION=VALUE, ...)',
        help='steps of the backbones, for example plain "SE(ratio=8)" '
        'StepNet; IEBN replaces the norms')
    parser.add_argument(
        '--shape',
        nargs=2,
        type=int,
        default=[224, 224],
        metavar=('HEIGHT', 'WIDTH'),
        help='size of the image')
    parser.add_argument(
        '--repeats',
        type=int,
        default=10,
        help='passes whose median is the latency, of all networks in turn; '
        '0 measures none')
    parser.add_argument(
        '--format', choices=['markdown', 'csv', 'json'], default='markdown')
    parser.add_argument('--out', help='file to write to, else the terminal')
    args = parser.parse_args()
    if not args.configs and not args.backbones:
        parser.error('expected configs or --backbones, got neither')
    if min(args.shape) < 1:
        parser.error(f'--shape must be at least 1 1, got {args.shape}')
    if args.repeats < 0:
        parser.error(f'--repeats must be at least 0, got {args.repeats}')
    return args


def parse_call(text):
    """``'SE(ratio=8)'`` to ``dict(type='mmstepnet.SE', ratio=8)``."""
    try:
        node = ast.parse(text, mode='eval').body
        options = {}
        if isinstance(node, ast.Call) and not node.args:
            options = {k.arg: ast.literal_eval(k.value) for k in node.keywords}
            node = node.func
        return dict(type=f'mmstepnet.{node.id}', **options)
    except (AttributeError, SyntaxError, ValueError):
        raise ValueError('expected NAME or NAME(OPTION=VALUE, ...), got '
                         f'{text!r}') from None


def step_options(text):
    """Options of a backbone that give it a step."""
    if text == 'plain':
        return {}
    return IEBN if text == 'IEBN' else dict(step=parse_call(text))


def networks(args):
    """Name, step and config of the model or backbone of every row."""
    for path in args.configs:
        cfg = read_config(path)
        yield Path(path).stem, cfg.model, cfg.get('default_scope')
    for backbone in args.backbones:
        for step in args.steps:
            cfg = dict(parse_call(backbone), **step_options(step))
            yield f'{backbone} {step}', cfg, None


def measure(cfg, scope, shape):
    """Numbers of one row, operations and bytes of the backbone, and it."""

    def build(cfg, device):
        with DefaultScope.overwrite_default_scope(scope), \
                torch.device(device):
            return MODELS.build(cfg)

    model = build(cfg, 'meta')
    backbone_cfg = cfg.get('backbone', cfg)
    backbone = build(backbone_cfg, 'cpu')
    return dict(
        parameters=count_parameters(model),
        backbone_parameters=count_parameters(backbone),
        multiply_adds=count_multiply_adds(build(backbone_cfg, 'meta'), shape),
        checkpoint_bytes=checkpoint_size(backbone)), backbone


def as_markdown(rows, shape):
    lines = [
        '| network | parameters (M) | of the backbone (M) | multiply-adds at '
        f'{shape[1]}x{shape[2]} (G) | checkpoint (MB) | CPU latency (ms) |',
        '|---|---|---|---|---|---|'
    ]
    for row in rows:
        latency = row['latency_seconds']
        lines.append(f"| {row['network']} | {row['parameters'] / 1e6:.4f} | "
                     f"{row['backbone_parameters'] / 1e6:.4f} | "
                     f"{row['multiply_adds'] / 1e9:.4f} | "
                     f"{row['checkpoint_bytes'] / 1e6:.2f} | "
                     f"{'' if latency is None else f'{1e3 * latency:.1f}'} |")
    return '\n'.join(lines) + '\n'


def as_csv(rows):
    file = io.StringIO()
    writer = csv.DictWriter(file, rows[0], lineterminator='\n')
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


@explain_errors
def main():
    args = parse_args()
    check_out(args.out)
    shape = (3, *args.shape)
    with redirect_stdout(sys.stderr):  # where logs do not mix with the table
        rows, backbones = [], []
        for name, cfg, scope in networks(args):
            row, backbone = measure(cfg, scope, shape)
            rows.append(dict(network=name, **row))
            backbones.append(backbone)
        latencies = measure_latencies(backbones, shape, args.repeats) \
            if args.repeats else [None] * len(rows)
        for row, latency in zip(rows, latencies):
            row['latency_seconds'] = latency
    if args.format == 'markdown':
        text = as_markdown(rows, shape)
    elif args.format == 'csv':
        text = as_csv(rows)
    else:
        text = json.dumps(dict(shape=shape, networks=rows), indent=2) + '\n'
    if args.out:
        Path(args.out).write_text(text)
    else:
        print(text, end='')


if __name__ == '__main__':
    main()
