# Copyright (c) mmstepnet contributors. All rights reserved.
import argparse
import os.path as osp

from mmengine.dist import is_main_process
from mmengine.logging import print_log

from mmstepnet.engine import explain_errors
from mmstepnet.evaluation.session import (add_evaluation_arguments,
                                          load_result, open_evaluation)
from mmstepnet.robustness import (ATTACKS, NOISES, RADII, Robustness,
                                  evaluate_robustness, plot_robustness,
                                  robustness_table, standard_cases)

RESULTS = 'robustness.json'


def parse_args():
    parser = argparse.ArgumentParser(
        description='Accuracy of a classifier on attacked and noisy images. '
        'Several checkpoints form an ensemble. A run that was stopped goes '
        'on in the same work dir.')
    add_evaluation_arguments(parser)
    parser.add_argument(
        '--attacks', nargs='*', default=ATTACKS, choices=ATTACKS)
    parser.add_argument(
        '--radii',
        nargs='+',
        type=float,
        default=RADII,
        help='radii in the maximum norm, in units of 1/255')
    parser.add_argument(
        '--alpha',
        type=float,
        default=2.,
        help='step of the iterated attacks, in units of 1/255')
    parser.add_argument(
        '--steps', type=int, default=20, help='steps of iterated attacks')
    parser.add_argument(
        '--noises', nargs='*', default=list(NOISES), choices=list(NOISES))
    parser.add_argument(
        '--severities', nargs='+', type=int, default=[1, 2, 3, 4, 5])
    parser.add_argument(
        '--compare',
        nargs='*',
        default=[],
        metavar='WORK_DIR',
        help='work dirs of other networks to show in the picture too')
    return parser.parse_args()


def earlier_results(work_dir):
    saved = load_result(osp.join(work_dir, RESULTS))
    return saved['name'], [Robustness(**row) for row in saved['result']]


@explain_errors
def main():
    args = parse_args()
    others = dict(earlier_results(path) for path in args.compare)
    cases = standard_cases(args.attacks, args.radii, args.noises,
                           args.severities, args.alpha, args.steps)
    evaluation = open_evaluation(args)
    results = evaluate_robustness(
        evaluation.classifier,
        evaluation.batches,
        cases,
        evaluation.work_dir,
        seed=args.seed,
        device=evaluation.device,
        settings=evaluation.settings)
    if not is_main_process():
        return
    print_log(
        f'{evaluation.name}, {evaluation.batches.num_images} images\n' +
        robustness_table(results),
        logger='current')
    evaluation.save(RESULTS, [row.to_dict() for row in results])
    if len(cases) > 1:
        path = osp.join(evaluation.work_dir, 'robustness.png')
        plot_robustness({evaluation.name: results, **others}, path)
        print_log(f'the picture is {path}', logger='current')


if __name__ == '__main__':
    main()
