# Copyright (c) mmstepnet contributors. All rights reserved.
import argparse
import os
import os.path as osp

from mmstepnet.analysis.comparison import (comparison_table, plot_comparison,
                                           read_network)
from mmstepnet.engine import explain_errors
from mmstepnet.robustness import ATTACKS


def parse_args():
    parser = argparse.ArgumentParser(
        description='Put stiffness, accuracy, robustness and curvature of '
        'several networks side by side, from the results of robustness.py, '
        '"analyze.py stiffness" and "analyze.py hessian" in their work dirs')
    parser.add_argument('work_dir', nargs='+', help='one for each network')
    parser.add_argument('--attack', choices=ATTACKS, default='pgd')
    parser.add_argument(
        '--radius', type=float, default=1., help='in units of 1/255')
    parser.add_argument(
        '--out-dir',
        default='work_dirs/comparison',
        help='folder of comparison.md and comparison.png')
    return parser.parse_args()


@explain_errors
def main():
    args = parse_args()
    networks = [
        read_network(path, args.attack, args.radius) for path in args.work_dir
    ]
    table = comparison_table(networks)
    os.makedirs(args.out_dir, exist_ok=True)
    path = osp.join(args.out_dir, 'comparison.md')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(f'The attack is {args.attack.upper()} with radius '
                   f'{args.radius:g}/255.\n\n{table}\n')
    plot_comparison(networks, osp.join(args.out_dir, 'comparison.png'))
    print(f'{table}\nthe report is {path}, the picture lies beside it')


if __name__ == '__main__':
    main()
