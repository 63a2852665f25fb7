# Copyright (c) mmstepnet contributors. All rights reserved.
"""Train configs with several seeds; put mean and deviation into a table.

What is finished in the work dir is not run again, so the same command goes on
after an interruption and adds seeds or configs."""
import argparse
import json
import os
import os.path as osp
import statistics
import subprocess
import sys
from pathlib import Path

from mmstepnet.engine import explain_errors

TOOLS = osp.dirname(osp.abspath(__file__))


def parse_args():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('configs', nargs='+', help='train config files')
    parser.add_argument('--seeds', nargs='+', type=int, default=[0, 1, 2])
    parser.add_argument(
        '--gpus',
        type=int,
        default=0,
        help='processes of tools/dist_train.sh; 0 runs tools/train.py')
    parser.add_argument(
        '--metrics',
        nargs='+',
        default=['accuracy/top1'],
        help='values of the last validation, for example accuracy/top1 tns or '
        'coco/bbox_mAP')
    parser.add_argument(
        '--work-dir',
        default='work_dirs/seeds',
        help='folder of the runs, of results.json and results.md')
    parser.add_argument(
        '--train-args',
        nargs=argparse.REMAINDER,
        default=[],
        help='what follows goes to tools/train.py, for example --amp')
    args = parser.parse_args()
    if args.gpus < 0:
        parser.error(f'--gpus must be at least 0, got {args.gpus}')
    return args


def last_validation(work_dir):
    """All values that the last validation of a run has logged."""
    logs = sorted(Path(work_dir).glob('*/vis_data/scalars.json'))
    lines = logs[-1].read_text().splitlines() if logs else []
    records = [json.loads(line) for line in lines]
    # a line of training has a learning rate
    records = [record for record in records if 'lr' not in record]
    if not records:
        raise ValueError(f'expected a log of a validation in {work_dir!r}, '
                         'got none')
    return records[-1]


def train(config, seed, args, work_dir):
    """Train once and return the values of the last validation."""
    os.makedirs(work_dir, exist_ok=True)
    script = [
        'bash',
        osp.join(TOOLS, 'dist_train.sh'), config,
        str(args.gpus)
    ] if args.gpus else [sys.executable,
                         osp.join(TOOLS, 'train.py'), config]
    command = script + ['--work-dir', work_dir] + args.train_args
    seed_option = f'randomness.seed={seed}'
    if '--cfg-options' in command:
        command.insert(command.index('--cfg-options') + 1, seed_option)
    else:
        command += ['--cfg-options', seed_option]
    log = osp.join(work_dir, 'output.log')
    with open(log, 'w', encoding='utf-8') as file:
        status = subprocess.run(
            command,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=dict(os.environ, PYTHON=sys.executable)).returncode
    if status:
        raise RuntimeError(
            f'training of {config!r} with seed {seed} ended with status '
            f'{status}; its output is {log!r}')
    return last_validation(work_dir)


def as_table(results, metrics):
    """Mean and standard deviation over seeds, in Markdown.

    Args:
        results (dict): Config name to seed to values.
        metrics (list[str]): The columns.

    Returns:
        str: The table.
    """
    lines = [
        f"| config | seeds | {' | '.join(metrics)} |",
        '|---' * (2 + len(metrics)) + '|'
    ]
    for name, runs in results.items():
        cells = []
        for metric in metrics:
            values = [run[metric] for run in runs.values()]
            cell = f'{statistics.mean(values):.4g}'
            if len(values) > 1:
                cell += f' ± {statistics.stdev(values):.2g}'
            cells.append(cell)
        lines.append(f"| {name} | {len(runs)} | {' | '.join(cells)} |")
    return '\n'.join(lines) + '\n'


def read_results(file):
    """What earlier calls have finished."""
    try:
        return json.loads(file.read_text())
    except ValueError as error:
        raise ValueError(f'{str(file)!r} is damaged, expected the results of '
                         f'earlier runs: {error}') from error


@explain_errors
def main():
    args = parse_args()
    missing = [path for path in args.configs if not osp.isfile(path)]
    if missing:
        raise FileNotFoundError(f'there is no config file {missing[0]!r}')
    os.makedirs(args.work_dir, exist_ok=True)
    file = Path(args.work_dir, 'results.json')
    done = read_results(file) if file.exists() else {}
    shown = {}
    for config in args.configs:
        name = Path(config).stem
        runs = done.setdefault(name, {})
        for seed in map(str, args.seeds):
            if seed not in runs:
                print(f'{name}, seed {seed}', flush=True)
                runs[seed] = train(config, seed, args,
                                   osp.join(args.work_dir, name, seed))
                file.write_text(json.dumps(done, indent=2))
        shown[name] = {str(seed): runs[str(seed)] for seed in args.seeds}
        unknown = [
            metric for metric in args.metrics for run in shown[name].values()
            if metric not in run
        ]
        if unknown:
            raise ValueError(
                f'--metrics must be values of the last validation, '
                f'{sorted(next(iter(shown[name].values())))}, got '
                f'{unknown[0]!r}')
    table = as_table(shown, args.metrics)
    Path(args.work_dir, 'results.md').write_text(table)
    print(table, end='')


if __name__ == '__main__':
    main()
