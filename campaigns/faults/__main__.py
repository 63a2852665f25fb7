# Copyright (c) mmstepnet contributors. All rights reserved.
"""Kill trainings, resume them, and compare their ends; see docs/faults.md."""
import argparse
import json
import random
import sys
from pathlib import Path

from .training import preload


def parse_args():
    parser = argparse.ArgumentParser(
        description='Kill small trainings at many moments, resume them, and '
        'compare them with ones that were not interrupted')
    parser.add_argument('--kills', type=int, default=24)
    parser.add_argument(
        '--configs', nargs='+', default=['classifier', 'detector'])
    parser.add_argument(
        '--others',
        metavar='CONFIG',
        help='let also the other faults happen, to this config')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument(
        '--work-dir', type=Path, default=Path('work_dirs/faults'))
    return parser.parse_args()


def main():
    args = parse_args()
    if args.work_dir.exists() and any(args.work_dir.iterdir()):
        sys.exit(f'error: --work-dir {str(args.work_dir)!r} is not empty')
    preload([*args.configs, args.others])
    from .data import write_scenes
    from .kills import run_kills
    from .others import run_others
    root = args.work_dir.resolve()
    root.mkdir(parents=True, exist_ok=True)
    write_scenes(root / 'data', 16)
    result = run_kills(root, args.kills, args.configs,
                       random.Random(args.seed))
    if args.others:
        result['others'] = run_others(root, args.others)
        result['wrong'] += sum((fault['wrong'] for fault in result['others']),
                               [])
    (root / 'result.json').write_text(json.dumps(result, indent=2))
    print(json.dumps(result, indent=2))
    sys.exit(1 if result['wrong'] else 0)


if __name__ == '__main__':
    main()
