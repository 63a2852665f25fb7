# Copyright (c) mmstepnet contributors. All rights reserved.
import argparse

from mmstepnet.checkpoints import load_model
from mmstepnet.engine import (ConfigOptions, check_out, explain_errors,
                              read_config)
from mmstepnet.export import check_onnx, export_onnx
from mmstepnet.folding import fold_steps


def parse_args():
    parser = argparse.ArgumentParser(
        description='Export a classifier, or the backbone and neck of a '
        'detector, as an ONNX file and compare it with the model')
    parser.add_argument('config', help='config of the model')
    parser.add_argument('checkpoint', help='checkpoint of the model')
    parser.add_argument('out', help='path of the ONNX file')
    parser.add_argument(
        '--size', type=int, nargs=2, default=[224, 224], metavar=('H', 'W'))
    parser.add_argument(
        '--static',
        action='store_true',
        help='let the file take batches of two images of this size alone')
    parser.add_argument(
        '--fold', action='store_true', help='fold the steps first')
    parser.add_argument(
        '--trace',
        action='store_true',
        help='capture the network by torch.jit.trace, not torch.export')
    parser.add_argument(
        '--cfg-options',
        nargs='+',
        action=ConfigOptions,
        metavar='KEY=VALUE',
        help='settings that override those of the config')
    args = parser.parse_args()
    if min(args.size) < 1:
        parser.error(f'--size must be at least 1 1, got {args.size}')
    return args


@explain_errors
def main():
    args = parse_args()
    check_out(args.out)
    cfg = read_config(args.config, args.cfg_options)
    model = load_model(cfg, args.checkpoint)
    if args.fold:
        print(f'folded the steps of {len(fold_steps(model))} blocks')
    export_onnx(model, args.out, args.size, not args.static, not args.trace)
    height, width = args.size
    shapes = [(2, height, width)]
    if not args.static:
        shapes += [(1, height + 64, width + 32), (3, height, width + 96)]
    errors = check_onnx(model, args.out, shapes)
    for (batch, height, width), error in errors.items():
        print(f'{batch} images of {height}x{width}: relative difference '
              f'{error:.1e}')
    print(f'wrote {args.out}')


if __name__ == '__main__':
    main()
