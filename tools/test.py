# Copyright (c) mmstepnet contributors. All rights reserved.
import argparse
from copy import deepcopy

import torch

from mmstepnet.engine import (add_run_arguments, build_runner,
                              check_checkpoint, end_process, explain_errors,
                              load_config, set_dataloader_defaults)


def parse_args():
    parser = argparse.ArgumentParser(
        description='Test a detector or a classifier')
    parser.add_argument('config', help='test config file path')
    parser.add_argument('checkpoint', help='checkpoint file')
    parser.add_argument('--out', help='save the results to this file')
    parser.add_argument(
        '--out-item',
        choices=['pred', 'metrics'],
        default='pred',
        help='save predictions (default) or metrics')
    parser.add_argument(
        '--show', action='store_true', help='show the results in a window')
    parser.add_argument(
        '--show-dir', help='save painted images to this folder')
    parser.add_argument(
        '--interval',
        type=int,
        default=1,
        help='classification: paint one sample in so many')
    parser.add_argument(
        '--wait-time',
        type=float,
        default=2,
        help='seconds that a window is shown')
    parser.add_argument(
        '--tta', action='store_true', help='use test-time augmentation')
    parser.add_argument(
        '--tns',
        action='store_true',
        help='measure the total neural stiffness of the network too')
    add_run_arguments(parser)
    return parser.parse_args()


def paint_results(cfg, args):
    hook = cfg.get('default_hooks', {}).get('visualization')
    if hook is None:
        raise ValueError('--show and --show-dir need '
                         'default_hooks.visualization in the config')
    hook.update(show=args.show, wait_time=args.wait_time)
    if cfg.get('default_scope') == 'mmpretrain':
        hook.update(enable=True, out_dir=args.show_dir, interval=args.interval)
    else:
        hook.update(draw=True, test_out_dir=args.show_dir)


def innermost(dataset):
    """The dataset that reads the files, inside any wrappers."""
    while 'dataset' in dataset:
        dataset = dataset.dataset
    return dataset


def flip_pipeline(pipeline, pack):
    """The test pipeline, once as it is and once on the mirrored image."""
    flips = [dict(type='RandomFlip', prob=prob) for prob in (1., 0.)]
    augmentation = dict(type='TestTimeAug', transforms=[flips, [pack]])
    return pipeline[:-1] + [augmentation]


def use_tta(cfg):
    dataset = innermost(cfg.test_dataloader.dataset)
    pipeline = deepcopy(dataset.pipeline)
    pack = pipeline[-1]
    if cfg.get('default_scope') == 'mmpretrain':
        model = dict(type='mmpretrain.AverageClsScoreTTA')
    else:
        model = dict(
            type='DetTTAModel',
            tta_cfg=dict(
                nms=dict(type='nms', iou_threshold=0.5), max_per_img=100))
        pack = dict(
            type='mmdet.PackDetInputs',
            meta_keys=('img_id', 'img_path', 'ori_shape', 'img_shape',
                       'scale_factor', 'flip', 'flip_direction'))
    dataset.pipeline = cfg.get('tta_pipeline') or flip_pipeline(pipeline, pack)
    cfg.model = dict(cfg.get('tta_model') or model, module=cfg.model)


def apply_args(cfg, args):
    cfg.load_from = args.checkpoint
    if args.amp:
        if not torch.cuda.is_available():
            raise ValueError('--amp needs a GPU to test on: predictions in '
                             "bfloat16 can't be evaluated")
        cfg.test_cfg.fp16 = True
    if args.show or args.show_dir:
        paint_results(cfg, args)
    if args.tta:
        use_tta(cfg)
    if args.tns:
        hooks = cfg.get('custom_hooks') or []
        if not any(hook['type'] == 'mmstepnet.TNSHook' for hook in hooks):
            cfg.custom_hooks = hooks + [dict(type='mmstepnet.TNSHook')]
    set_dataloader_defaults(cfg, args, ['test'])


def check_out(args):
    """Refuse a file name before the test, not after it."""
    endings = ('.pkl', '.pickle')
    if args.out_item == 'metrics':
        endings += ('.json', '.yaml', '.yml')
    if args.out and not args.out.endswith(endings):
        raise ValueError(f'--out of {args.out_item} expects a file name that '
                         f'ends with one of {endings}, got {args.out!r}')


def dump_predictions(runner, path):
    if runner.cfg.get('default_scope') == 'mmdet':
        from mmdet.evaluation import DumpDetResults as Dump
    else:
        from mmengine.evaluator import DumpResults as Dump
    runner.test_evaluator.metrics.append(Dump(out_file_path=path))


def dump_metrics(runner, path, metrics):
    from mmengine.fileio import dump
    if runner.rank == 0:
        dump(metrics, path)


@explain_errors
def main():
    args = parse_args()
    check_out(args)
    cfg = load_config(args)
    check_checkpoint(args.checkpoint, 'the argument "checkpoint"')
    apply_args(cfg, args)
    runner = build_runner(cfg, ['test'])
    if args.out and args.out_item == 'pred':
        dump_predictions(runner, args.out)
    metrics = runner.test()
    if args.out and args.out_item == 'metrics':
        dump_metrics(runner, args.out, metrics)


if __name__ == '__main__':
    main()
    end_process()
