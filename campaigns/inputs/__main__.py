# Copyright (c) mmstepnet contributors. All rights reserved.
"""Feed in broken inputs and count how they end; see docs/bad_input.md."""
import argparse
import json
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import mmstepnet  # noqa: F401  serves operators before mmdet looks for them
from . import checkpoints, coco, configs, images, tools
from .fuzz import fuzz_all
from .harness import run_case
from .workspace import write_checkpoints, write_workspace

AREAS = dict(
    configs=configs.cases,
    coco=coco.cases,
    checkpoints=checkpoints.cases,
    images=images.cases,
    tools=tools.cases)


def parse_args():
    parser = argparse.ArgumentParser(
        prog='python -m campaigns.inputs', description=__doc__)
    parser.add_argument(
        '--areas', nargs='+', choices=AREAS, default=list(AREAS))
    parser.add_argument('--only', help='cases whose name has this in it')
    parser.add_argument(
        '--examples',
        type=int,
        default=200,
        help='generated inputs of each kind; 0 for none')
    parser.add_argument('--out', type=Path, help='JSON file of all messages')
    return parser.parse_args()


def run_all(args, root):
    records = []
    for area in args.areas:
        for case in AREAS[area]():
            if args.only and args.only not in case.name:
                continue
            start = time.time()
            outcome, wrong = run_case(case, root)
            records.append(
                dict(
                    area=area,
                    name=case.name,
                    ends=case.ends,
                    message=outcome.message,
                    wrong=wrong,
                    seconds=round(time.time() - start, 1)))
            if wrong:
                print(
                    f'FAILED {area}, {case.name}: {"; ".join(wrong)}\n'
                    f'    {outcome.message[:1000]}',
                    flush=True)
    return records


def main():
    args = parse_args()
    warnings.simplefilter('ignore')
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_workspace(root)
        if set(args.areas) & {'checkpoints', 'images', 'tools'}:
            write_checkpoints(root)
        records = run_all(args, root)
    if args.examples and not args.only:
        records += fuzz_all(args.examples)
    counts = Counter((record['area'], record['ends']) for record in records
                     for _ in range(record.get('number', 1)))
    for (area, ends), number in counts.items():
        print(f'{area}: {number} {ends}')
    failed = sum(bool(record['wrong']) for record in records)
    print(f'{sum(counts.values())} inputs, {failed} failed')
    if args.out:
        args.out.write_text(json.dumps(records, indent=1, ensure_ascii=False))
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
