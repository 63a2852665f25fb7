# Copyright (c) mmstepnet contributors. All rights reserved.
"""Tools with wrong arguments."""
from pathlib import Path
from typing import Callable, Iterator

from .harness import Case, Outcome, process, tool

DIGITS = 'dataset_converters/digits_scenes'
STL10 = 'dataset_converters/stl10'
# Tool, arguments, and what the sentence has to say.
ARGUMENTS = (
    ('model_zoo', (), 'expected configs or --backbones'),
    ('model_zoo', ('none.py', ), "'none.py'"),
    ('model_zoo', ('--backbones', 'ResNet(18)'), "'ResNet(18)'", 'NAME('),
    ('model_zoo', ('--backbones', 'ResNet(depth=18'), "got 'ResNet(depth=18'"),
    ('model_zoo', ('--backbones', 'ResNett(depth=18)'), "mean 'ResNet'?"),
    ('model_zoo', ('--backbones', 'ResNet(depth=18)', '--steps', 'SEE'),
     "got 'mmstepnet.SEE'", 'one of'),
    ('model_zoo', ('--backbones', 'ResNet(depth=18)', '--shape', '0', '0'),
     '--shape', 'at least 1', 'got [0, 0]'),
    ('model_zoo', ('--backbones', 'ResNet(depth=18)', '--shape', '64'),
     '--shape', 'expected 2 arguments'),
    ('model_zoo', ('--backbones', 'ResNet(depth=18)', '--repeats', '-1'),
     '--repeats', 'at least 0', 'got -1'),
    ('model_zoo', ('--backbones', 'ResNet(depth=18)', '--format', 'xml'),
     "'xml'", "'markdown'"),
    ('model_zoo', ('--backbones', 'ResNet(depth=18)', '--repeats', '0',
                   '--shape', '32', '32', '--out', 'none/a.md'),
     "'none/a.md'"),
    ('analyze_stiffness', ('none.py', 'a.pth'), "no config file 'none.py'"),
    ('analyze_stiffness', ('classifier.py', ), 'needs a checkpoint'),
    ('analyze_stiffness', ('classifier.py', 'none.pth'), "'none.pth'"),
    ('analyze_stiffness', ('torchvision:resnet18', 'random'),
     '--images FOLDER'),
    ('analyze_stiffness', ('torchvision:none', 'random', '--images', 'data'),
     'none'),
    ('analyze_stiffness', ('foo:bar', 'random', '--images', 'data'),
     "'foo:bar'", 'torchvision'),
    ('analyze_stiffness', ('torchvision:resnet18', 'random', '--images',
                           'none'), "'none'"),
    ('analyze_stiffness', ('torchvision:resnet18', 'random', '--images',
                           'data', '--num-images', '0'), '0', 'images'),
    ('analyze_stiffness', ('torchvision:resnet18', 'random', '--images',
                           'data', '--batch-size', '0'), 'batch', '0'),
    ('analyze_stiffness', ('torchvision:resnet18', 'random', '--images',
                           'data', '--blocks', 'layer9'), "'layer9'"),
    ('analyze_stiffness', ('torchvision:resnet18', 'random', '--images',
                           'data', '--device', 'abacus'), 'abacus'),
    ('analyze_stiffness', ('classifier.py', 'classifier.pth', '--names', 'a',
                           'b'), '--names needs 1 names, got 2'),
    ('robustness', ('none.py', 'classifier.pth'), "'none.py'"),
    ('robustness', ('classifier.py', 'none.pth'), "'none.pth'"),
    ('robustness', ('classifier.py', 'classifier.pth', '--num-images', '99'),
     'from 1 to the 4 images', 'got 99'),
    ('robustness', ('classifier.py', 'classifier.pth', '--batch-size', '0'),
     'batch_size must be positive', 'got 0'),
    ('robustness', ('classifier.py', 'classifier.pth', '--attacks', 'pdg'),
     "'pdg'", "'pgd'"),
    ('robustness', ('classifier.py', 'classifier.pth', '--severities', '6'),
     'from 1 to 5', 'got 6'),
    ('robustness', ('classifier.py', 'classifier.pth', '--radii', '-1'),
     'radi', '-1'),
    ('robustness', ('classifier.py', 'classifier.pth', '--steps', '0'),
     'steps', '0'),
    ('robustness', ('classifier.py', 'classifier.pth', '--compare', 'none'),
     "'none/robustness.json'"),
    ('robustness', ('classifier.py', 'detector.pth'), "'detector.pth'",
     'not one of this classifier'),
    ('run_seeds', ('none.py', ), "'none.py'"),
    ('run_seeds', ('classifier.py', '--seeds', 'a'), "'a'", '--seeds'),
    ('run_seeds', ('classifier.py', '--gpus', '-1'), '--gpus', 'got -1'),
    ('run_seeds', ('classifier.py', '--work-dir', 'broken'),
     "'broken/results.json'"),
    ('compare_networks', ('none', ), "'none/robustness.json'",
     'run tools/robustness.py'),
    ('compare_networks', ('broken', ), 'broken/robustness.json'),
    ('compare_networks', ('broken', '--attack', 'x'), "'x'", "'pgd'"),
    ('convert_checkpoint', ('none.py', 'a.pth', 'b.pth'), "'none.py'"),
    ('convert_checkpoint', ('classifier.py', 'none.pth', 'b.pth'),
     "'none.pth'"),
    ('convert_checkpoint', ('classifier.py', 'classifier.pth', 'no/b.pth'),
     "'no/b.pth'"),
    ('convert_checkpoint', ('classifier.py', 'classifier.pth', 'b.pth',
                            '--prefix', 'foo.'), "'foo.'"),
    ('fold_steps', ('classifier.py', 'classifier.pth', 'no/b.pth'),
     "'no/b.pth'"),
    ('export_onnx', ('classifier.py', 'none.pth', 'b.onnx'), "'none.pth'"),
    ('export_onnx', ('classifier.py', 'classifier.pth', 'b.onnx', '--size',
                     '0', '0'), '--size', 'at least 1', 'got [0, 0]'),
    ('test', ('detector.py', 'detector.pth', '--out', 'a.json'), "'a.json'",
     '.pkl'),
    ('test', ('detector.py', ), 'checkpoint'),
    ('train', ('detector.py', '--launcher', 'pytorch'), 'dist_train.sh'),
    ('train', ('detector.py', '--launcher', 'pytorsh'), "'pytorsh'"),
    ('train', ('detector.py', '--resum', 'a', 'b'), 'unrecognized'),
    (DIGITS, ('--num-train', '0'), '--num-train', 'at least 1', 'got 0'),
    (DIGITS, ('--size', '8'), '--size', 'at least 16', 'got 8'),
    (DIGITS, ('--seed', 'x'), '--seed', "'x'"),
    (DIGITS, ('--out-dir', 'data'), 'data holds something else'),
    (DIGITS, ('--out-dir', 'detector.py'), 'detector.py'),
    (STL10, ('none', 'out'), 'none/train_X.bin'),
    (STL10, ('broken', 'out'), 'train_X.bin', 'must have', 'got 5 bytes'),
    (STL10, ('labels', 'out'), 'train_y.bin', 'from 1 to 10', 'got [11]'),
)


def prepared(run: Callable[[Path], Outcome]) -> Callable[[Path], Outcome]:
    """With results and binaries that are broken at hand."""

    def with_files(root: Path) -> Outcome:
        for folder in ('broken', 'labels'):
            (root / folder).mkdir(exist_ok=True)
        for name in ('robustness', 'stiffness', 'hessian', 'results'):
            (root / f'broken/{name}.json').write_text('{"name": ')
        for split in ('train', 'test'):
            (root / f'broken/{split}_X.bin').write_bytes(b'12345')
            (root / f'broken/{split}_y.bin').write_bytes(b'1')
        (root / 'labels/train_X.bin').write_bytes(bytes(3 * 96**2))
        (root / 'labels/train_y.bin').write_bytes(b'\x0b')
        return run(root)

    return with_files


def cases() -> Iterator[Case]:
    for name, args, *words in ARGUMENTS:
        if name in ('robustness', ):
            args = (*args, '--work-dir', 'runs/robust')
        if name == 'analyze_stiffness':
            args = (*args, '--out-dir', 'runs/stiff')
        yield Case('tools', f'{name} {" ".join(args)}',
                   prepared(tool(name, *args)), tuple(words))
    for name, args, *words in (
        ('train', ('detector.py', '--cfg-options', 'model.backbone.stepp=1'),
         "'stepp'", "mean 'step'?"),
        ('model_zoo', ('--backbones', 'ResNet(depth=17)'), 'got 17'),
    ):
        yield Case(
            'tools',
            f'{name} in a process',
            process(name, *args),
            tuple(words),
            fast=False)
