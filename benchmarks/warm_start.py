# Copyright (c) mmstepnet contributors. All rights reserved.
"""A trained ResNet-56 as the start of a network with each step.

``python benchmarks/warm_start.py WEIGHTS IMAGES`` takes the weights of
akamaster/pytorch_resnet_cifar10 and a folder of CIFAR-10 photos, a folder a
class. It prints for every step the accuracy at the start, the photos that are
classified otherwise than by the plain network, and the largest difference of
a logit relative to the largest logit.
"""
import argparse

import torch
from torchvision import datasets, transforms

from mmstepnet.checkpoints import load_weights, warm_start
from mmstepnet.registry import MODELS
from mmstepnet.steps import available_steps

OPTIONS = {
    'InResNet': dict(init_range=(0., 0.)),
    'LambdaInResNet': dict(init_range=(0., 0.)),
    'SGE': dict(groups=8),
}


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('weights', help='resnet56-4bfd9763.th')
    parser.add_argument('images', help='folder with a folder a class')
    parser.add_argument('--threads', type=int, default=2)
    return parser.parse_args()


def classifier(step, **backbone):
    return MODELS.build(
        dict(
            type='mmpretrain.ImageClassifier',
            backbone=dict(
                type='mmstepnet.CIFARResNet',
                depth=56,
                block='basic',
                shortcut='pad',
                step=step,
                **backbone),
            neck=dict(type='GlobalAveragePooling'),
            head=dict(type='LinearClsHead', num_classes=10, in_channels=64),
            _scope_='mmpretrain'))


def read_photos(folder):
    transform = transforms.Compose([
        transforms.ToTensor(),
        transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    ])
    photos, labels = zip(*datasets.ImageFolder(folder, transform))
    return torch.stack(photos), torch.tensor(labels)


@torch.inference_mode()
def logits_of(model, photos):
    model.eval()
    return torch.cat([model(batch) for batch in photos.split(250)])


def main():
    args = parse_args()
    torch.set_num_threads(args.threads)
    weights = load_weights(args.weights)
    photos, labels = read_photos(args.images)
    print(f'{len(photos)} photos')
    print(f'{"step":16} {"top-1":>7} {"changed":>8} {"difference":>11}')
    plain = None
    subjects = {'Unit': classifier(None)}
    for step in sorted({*available_steps()} - {'Unit'}):
        subjects[step] = classifier(dict(type=step, **OPTIONS.get(step, {})))
    subjects['IEBN'] = classifier(
        None,
        norm_cfg=dict(type='mmstepnet.IEBN'),
        downsample_norm_cfg=dict(type='BN'))
    for name, model in subjects.items():
        torch.manual_seed(0)
        warm_start(model, weights)
        logits = logits_of(model, photos)
        plain = logits if plain is None else plain
        predicted = logits.argmax(1)
        accuracy = predicted.eq(labels).double().mean()
        changed = predicted.ne(plain.argmax(1)).sum()
        difference = (logits - plain).abs().max() / plain.abs().max()
        print(
            f'{name:16} {accuracy:7.2%} {changed:8d} {difference:11.1e}',
            flush=True)


if __name__ == '__main__':
    main()
