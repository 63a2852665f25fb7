# Copyright (c) mmstepnet contributors. All rights reserved.
import argparse
import os.path as osp

import torch

from mmstepnet.checkpoints import load_model, read_checkpoint
from mmstepnet.engine import check_out, explain_errors, read_config
from mmstepnet.folding import fold_steps, plain_config


def parse_args():
    parser = argparse.ArgumentParser(
        description='Fold the constant steps of a trained model into its '
        'batch norms, so that a plain ResNet remains')
    parser.add_argument('config', help='config of the model')
    parser.add_argument('checkpoint', help='checkpoint of the model')
    parser.add_argument(
        'out',
        help='path of the folded checkpoint; its config is written '
        'beside it, ending in .py')
    return parser.parse_args()


@explain_errors
def main():
    args = parse_args()
    check_out(args.out)
    cfg = read_config(args.config)
    model = load_model(cfg, args.checkpoint)
    folded = fold_steps(model)
    for name, size in folded.items():
        print(f'{name}: step size {size.mean():.4f}, from {size.min():.4f} to '
              f'{size.max():.4f}')
    cfg = plain_config(cfg)
    content = read_checkpoint(args.checkpoint)
    meta = {**content.get('meta', {}), 'cfg': cfg.pretty_text}
    torch.save(dict(meta=meta, state_dict=model.state_dict()), args.out)
    config = osp.splitext(args.out)[0] + '.py'
    cfg.dump(config)
    print(f'folded {len(folded)} blocks; the plain network is in {config} and '
          f'{args.out}')


if __name__ == '__main__':
    main()
