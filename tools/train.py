# Copyright (c) mmstepnet contributors. All rights reserved.
import argparse

import torch

from mmstepnet.engine import (add_run_arguments, build_runner,
                              check_checkpoint, end_process, explain_errors,
                              find_checkpoint, load_config, make_resumable,
                              set_dataloader_defaults)


def parse_args():
    parser = argparse.ArgumentParser(
        description='Train a detector or a classifier')
    parser.add_argument('config', help='train config file path')
    parser.add_argument(
        '--resume',
        nargs='?',
        const='auto',
        help='go on from this checkpoint or, without a path, from the latest '
        'one in the work dir')
    parser.add_argument(
        '--auto-scale-lr',
        action='store_true',
        help='scale the learning rate to the real batch size')
    parser.add_argument(
        '--no-validate',
        action='store_true',
        help="don't validate during training")
    parser.add_argument(
        '--no-persistent-workers',
        action='store_true',
        help='let the workers of the dataloaders end with each epoch')
    add_run_arguments(parser)
    return parser.parse_args()


def use_amp(cfg):
    """Compute in mixed precision, in bfloat16 where there is no GPU."""
    if torch.cuda.is_available():
        cfg.optim_wrapper.type = 'AmpOptimWrapper'
        cfg.optim_wrapper.setdefault('loss_scale', 'dynamic')
    else:
        cfg.optim_wrapper.type = 'mmstepnet.CPUAmpOptimWrapper'
        cfg.optim_wrapper.pop('loss_scale', None)
        cfg.optim_wrapper.pop('dtype', None)


def apply_args(cfg, args):
    if args.amp:
        use_amp(cfg)
    if args.auto_scale_lr:
        if 'base_batch_size' not in cfg.get('auto_scale_lr', {}):
            raise ValueError('--auto-scale-lr needs '
                             'auto_scale_lr.base_batch_size in the config')
        cfg.auto_scale_lr.enable = True
    if args.no_validate:
        cfg.val_cfg = cfg.val_dataloader = cfg.val_evaluator = None
    if args.resume not in (None, 'auto'):
        cfg.resume, cfg.load_from = True, args.resume
    elif args.resume == 'auto' or (cfg.get('resume')
                                   and not cfg.get('load_from')):
        find_checkpoint(cfg)
    make_resumable(cfg)
    set_dataloader_defaults(cfg, args, ['train', 'val'])


@explain_errors
def main():
    args = parse_args()
    cfg = load_config(args)
    if args.resume != 'auto':
        check_checkpoint(args.resume, '--resume')
    apply_args(cfg, args)
    build_runner(cfg, ['train', 'val']).train()


if __name__ == '__main__':
    main()
    end_process()
