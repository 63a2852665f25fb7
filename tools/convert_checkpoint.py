# Copyright (c) mmstepnet contributors. All rights reserved.
import argparse

import torch
from mmengine.registry import init_default_scope

from mmstepnet.checkpoints import warm_start
from mmstepnet.engine import (ConfigOptions, check_out, explain_errors,
                              read_config)
from mmstepnet.registry import MODELS


def parse_args():
    parser = argparse.ArgumentParser(
        description='Convert the weights of a ResNet, plain or with SE or '
        'ECA, into those of a model with the same outputs')
    parser.add_argument('config', help='config of the model')
    parser.add_argument(
        'checkpoint',
        help='file, address or name such as torchvision://resnet50')
    parser.add_argument('out', help='path of the converted checkpoint')
    parser.add_argument(
        '--prefix',
        help='take only the names that start with it, for example backbone.')
    parser.add_argument(
        '--cfg-options',
        nargs='+',
        action=ConfigOptions,
        metavar='KEY=VALUE',
        help='settings that override those of the config')
    return parser.parse_args()


def converted(model, report):
    """What the checkpoint held and the steps that it lacked."""
    return {
        name: value
        for name, value in model.state_dict().items()
        if name not in report.fresh
    }


@explain_errors
def main():
    args = parse_args()
    check_out(args.out)
    cfg = read_config(args.config, args.cfg_options)
    init_default_scope(cfg.get('default_scope', 'mmengine'))
    model = MODELS.build(cfg.model)
    report = warm_start(model, args.checkpoint, args.prefix)
    print(report)
    state_dict = converted(model, report)
    torch.save(dict(meta={}, state_dict=state_dict), args.out)
    print(f'wrote {len(state_dict)} tensors to {args.out}')


if __name__ == '__main__':
    main()
