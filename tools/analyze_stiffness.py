# Copyright (c) mmstepnet contributors. All rights reserved.
import argparse
import os.path as osp
import sys

from mmstepnet.checkpoints import load_weights, our_names
from mmstepnet.engine import (ConfigOptions, build_runner, check_device,
                              explain_errors, load_config,
                              set_dataloader_defaults)
from mmstepnet.stiffness.analysis import NetworkStiffness, save_analysis
from mmstepnet.stiffness.sources import (ImageFolder, even_places,
                                         library_model, measure_network)

NETWORK_HELP = ('a config file, torchvision:NAME or timm:NAME, and its '
                'checkpoints; for the last two also "pretrained" (default) '
                'or "random"')


def parse_args():
    parser = argparse.ArgumentParser(
        description='Measure and show the stiffness of residual networks')
    parser.add_argument('network', nargs='+', help=NETWORK_HELP)
    parser.add_argument(
        '--network',
        nargs='+',
        action='append',
        default=[],
        dest='others',
        metavar='NETWORK',
        help='one more network to compare with; may be repeated')
    parser.add_argument(
        '--names', nargs='+', help='how to call the networks, in order')
    parser.add_argument(
        '--out-dir',
        default='work_dirs/stiffness',
        help='folder of the report, the pictures and the numbers')
    parser.add_argument(
        '--split',
        choices=['val', 'test'],
        default='test',
        help='the dataset of a config to measure on')
    parser.add_argument(
        '--images', help='folder of images for torchvision and timm')
    parser.add_argument(
        '--num-images',
        type=int,
        help='measure on so many images, at even distances')
    parser.add_argument(
        '--batch-size',
        type=int,
        default=32,
        help='images a batch for torchvision and timm')
    parser.add_argument(
        '--device', default='cpu', help='device for torchvision and timm')
    parser.add_argument(
        '--dt',
        choices=['own', 'unit'],
        default='own',
        help="NSI with the blocks' own step sizes or with step size 1")
    parser.add_argument(
        '--blocks', nargs='+', help='names of the residual blocks')
    parser.add_argument(
        '--metric', help='the metric to compare TNS with over networks')
    parser.add_argument(
        '--single',
        type=int,
        nargs='+',
        default=[],
        help='draw these images one by one as well, by their places')
    parser.add_argument(
        '--cfg-options',
        nargs='+',
        action=ConfigOptions,
        metavar='KEY=VALUE',
        help='settings that override those of the configs')
    args = parser.parse_args()
    if args.batch_size < 1:
        parser.error(f'--batch-size must be at least 1, got {args.batch_size}')
    return args


def load_checkpoint(model, path):
    """Load the whole network or say what is missing."""
    weights = load_weights(path)
    theirs = our_names(weights)
    own = model.state_dict()
    state, missing = {}, []
    for name, key in our_names(own).items():
        value = weights.get(theirs.get(name))
        if value is not None and value.shape == own[key].shape:
            state[key] = value
        elif not name.endswith('num_batches_tracked'):
            missing.append(key)
    left = set(theirs) - set(our_names(own))
    if missing or left:
        example = missing[0] if missing else sorted(left)[0]
        raise ValueError(
            f'the checkpoint {path!r} is of another architecture: '
            f'{len(missing)} of {len(own)} tensors of the network are missing '
            f'or of another shape, {len(left)} have no place in it, for '
            f'example {example}')
    model.load_state_dict(state, strict=False)


def measure_config(config, checkpoint, name, args):
    args.config, args.work_dir = config, osp.join(args.out_dir, 'runs')
    args.launcher, args.local_rank, args.no_pin_memory = 'none', 0, True
    cfg = load_config(args)
    # The names of runs must differ.
    args.num_runs = getattr(args, 'num_runs', 0) + 1
    cfg.experiment_name = f'stiffness_{args.num_runs}'
    set_dataloader_defaults(cfg, args, [args.split])
    hooks = [
        hook for hook in cfg.get('custom_hooks') or []
        if hook['type'] != 'mmstepnet.TNSHook'
    ]
    cfg.custom_hooks = hooks + [
        dict(type='mmstepnet.TNSHook', dt=args.dt, blocks=args.blocks)
    ]
    is_subset = args.num_images is not None
    if is_subset:
        take_subset(cfg, args)
    runner = build_runner(cfg, [args.split])
    load_checkpoint(runner.model, checkpoint)
    metrics = getattr(runner, args.split)()
    hook = next(h for h in runner.hooks if type(h).__name__ == 'TNSHook')
    if hook.measured is None:
        raise ValueError(f'{config}: {hook.description}')
    if is_subset and cfg.get('default_scope') == 'mmdet':
        # They count the objects of all images.
        metrics = {}
    return NetworkStiffness(
        name, hook.description, hook.measured, {
            key: float(value)
            for key, value in metrics.items() if not key.startswith(
                ('tns/', 'nsi/')) and isinstance(value, (int, float))
        })


def take_subset(cfg, args):
    from mmengine.registry import DATASETS, init_default_scope
    init_default_scope(cfg.get('default_scope', 'mmengine'))
    dataset = cfg[f'{args.split}_dataloader'].dataset
    places = even_places(len(DATASETS.build(dataset)), args.num_images)
    dataset.indices = places


def measure_library(source, checkpoint, name, args):
    if args.images is None:
        raise ValueError(f'{source} needs a folder of images: --images FOLDER')
    model, transform = library_model(source, checkpoint == 'pretrained')
    if checkpoint not in ('pretrained', 'random'):
        load_checkpoint(model, checkpoint)
    images = ImageFolder(args.images, transform, args.num_images)
    return measure_network(
        model,
        images.batches(args.batch_size),
        name=name,
        blocks=args.blocks,
        num_classes=len(images.classes),
        device=args.device)


def networks_to_measure(args):
    """Source, checkpoint and name of every network."""
    pairs = []
    for source, *checkpoints in [args.network] + args.others:
        is_config = source.endswith(('.py', '.json', '.yml', '.yaml'))
        if is_config and not checkpoints:
            raise ValueError(f'{source} needs a checkpoint')
        pairs += [(source, c) for c in checkpoints or ['pretrained']]
    names = args.names
    if names is None:
        names = [' '.join(map(short, pair)) for pair in pairs]
        if len(set(names)) < len(names):
            names = [
                f'{short(source)} {osp.basename(osp.dirname(checkpoint))}/'
                f'{short(checkpoint)}' for source, checkpoint in pairs
            ]
    if len(names) != len(pairs):
        raise ValueError(f'--names needs {len(pairs)} names, got {len(names)}')
    return [(*pair, name) for pair, name in zip(pairs, names)]


def short(path):
    return osp.splitext(osp.basename(path))[0]


@explain_errors
def main():
    args = parse_args()
    check_device(args.device)
    measured, failed = [], {}
    for source, checkpoint, name in networks_to_measure(args):
        measure = measure_library if ':' in source else measure_config
        try:
            network = measure(source, checkpoint, name, args)
        except (ImportError, OSError, ValueError) as error:
            failed[name] = str(error)
            continue
        print(f'{name}: {network.how} {network.report(args.dt).summary()}')
        measured.append(network)
    if measured:  # else they are the error
        for name, why in failed.items():
            print(f'{name} is left out: {why}', file=sys.stderr)
    path = save_analysis(
        measured,
        args.out_dir,
        dt=args.dt,
        metric=args.metric,
        single=args.single,
        failed=failed)
    print(f'the report is {path}; numbers and pictures lie beside it')


if __name__ == '__main__':
    main()
