# Copyright (c) mmstepnet contributors. All rights reserved.
import argparse
import os.path as osp

from mmengine.dist import is_main_process
from mmengine.logging import print_log

from mmstepnet import analysis
from mmstepnet.analysis import pictures
from mmstepnet.engine import explain_errors
from mmstepnet.evaluation.session import (add_evaluation_arguments,
                                          load_result, open_evaluation)

# name: measure, pictures by the ending of their file
ANALYSES = dict(
    features=(analysis.measure_features,
              dict(
                  fourier=pictures.plot_fourier,
                  variance=pictures.plot_variance)),
    hessian=(analysis.measure_hessian, dict(hessian=pictures.plot_hessian)),
    landscape=(analysis.measure_weight_surface,
               dict(landscape=pictures.plot_weight_surface)),
    attack=(analysis.measure_attack_surface,
            dict(attack=pictures.plot_attack_surface)),
    damping=(analysis.measure_damping, dict(damping=pictures.plot_damping)),
    stiffness=(analysis.measure_stiffness, {}),
    trajectory=(None, dict(trajectory=pictures.plot_trajectory)))


def parse_args():
    parser = argparse.ArgumentParser(
        description='Analyse a trained classifier: its feature maps, the '
        'Hessian and the landscape of its loss, its damping, its stiffness, '
        'or the trajectory of its weights through several checkpoints. A run '
        'that was stopped goes on in the same work dir.')
    commands = parser.add_subparsers(dest='analysis', required=True)
    texts = dict(
        features='Fourier analysis and variance of feature maps',
        hessian='top Hessian eigenvalues of mini-batches',
        landscape='loss in two filter-normalized directions of the weights',
        attack='loss over the images along an attack and at random',
        damping='learned damping of the blocks of an In-ResNet',
        stiffness='total neural stiffness and accuracy',
        trajectory='weights of several checkpoints in polar form')
    parsers = {}
    for name, text in texts.items():
        parsers[name] = commands.add_parser(name, help=text, description=text)
        add_evaluation_arguments(parsers[name])
        parsers[name].add_argument(
            '--compare',
            nargs='*',
            default=[],
            metavar='WORK_DIR',
            help='work dirs of other networks to show in the pictures too')
    parsers['features'].add_argument(
        '--pattern', help='regular expression for the names of blocks')
    parsers['hessian'].add_argument('--num-top', type=int, default=5)
    parsers['hessian'].add_argument('--max-steps', type=int, default=50)
    parsers['hessian'].add_argument('--tol', type=float, default=1e-3)
    parsers['landscape'].add_argument('--extent', type=float, default=1.)
    parsers['landscape'].add_argument('--num-points', type=int, default=21)
    parsers['attack'].add_argument(
        '--radius', type=float, default=8., help='in units of 1/255')
    parsers['attack'].add_argument('--num-points', type=int, default=17)
    parsers['stiffness'].add_argument(
        '--dt', choices=['own', 'unit'], default='own')
    return parser.parse_args()


OPTIONS = ('pattern', 'num_top', 'max_steps', 'tol', 'extent', 'num_points',
           'radius', 'dt')


def measure(args, evaluation):
    function = ANALYSES[args.analysis][0]
    if function is None:
        members = evaluation.classifier.members
        return analysis.polar_trajectory(
            [dict(member.named_parameters()) for member in members])
    subject = analysis.Subject(evaluation.classifier, evaluation.batches,
                               osp.join(evaluation.work_dir,
                                        args.analysis), evaluation.settings,
                               args.seed, evaluation.device)
    options = {key: vars(args)[key] for key in OPTIONS if key in vars(args)}
    return function(subject, **options)


@explain_errors
def main():
    args = parse_args()
    if (len(args.checkpoint) > 1) != (args.analysis == 'trajectory'):
        raise ValueError('trajectory takes several checkpoints, any other '
                         f'analysis one; got {len(args.checkpoint)} for '
                         f'{args.analysis}')
    file = f'{args.analysis}.json'
    others = [load_result(osp.join(path, file)) for path in args.compare]
    evaluation = open_evaluation(args)
    result = measure(args, evaluation)
    if not is_main_process():
        return
    evaluation.save(file, result)
    results = {evaluation.name: result}
    results.update({other['name']: other['result'] for other in others})
    for name, plot in ANALYSES[args.analysis][1].items():
        path = osp.join(evaluation.work_dir, f'{name}.png')
        plot(results, path)
        print_log(f'the picture is {path}', logger='current')


if __name__ == '__main__':
    main()
