# Copyright (c) mmstepnet contributors. All rights reserved.
"""Checkpoints that are broken, of something else, or hold code."""
import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any, Callable, Dict, Iterator

import torch

from .harness import Case, Outcome, call, process, tool

SENTINEL = 'code_has_run'


class Code:
    """Makes a file when it is unpickled."""

    def __reduce__(self) -> tuple:
        return os.system, (f'touch {SENTINEL}', )


class Note:
    """A class that no reader knows."""

    def __init__(self) -> None:
        self.text = 'note'


def saved(content: Any, legacy: bool = False) -> bytes:
    file = io.BytesIO()
    torch.save(content, file, _use_new_zipfile_serialization=not legacy)
    return file.getvalue()


def archive(name: str, content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, 'w') as target:
        target.writestr(name, content)
    return file.getvalue()


def flipped(data: bytes, place: float) -> bytes:
    index = int(len(data) * place)
    return data[:index] + bytes([data[index] ^ 255]) + data[index + 1:]


def contents(right: dict) -> Dict[str, tuple]:
    """Files by their names, with words of the sentence that they get."""
    data, old = saved(right), saved(right, legacy=True)
    weights = right['state_dict']
    other = {f'other.{name}': value for name, value in weights.items()}
    return {
        'empty.pth': (b'', '0 bytes'),
        'one byte.pth': (b'P', '1 byte'),
        'text.pth': (b'version https://git-lfs\n', "b've"),
        'page.pth': (b'<!DOCTYPE html><html>404</html>', "b'<!"),
        'zip.pth': (archive('readme.txt', b'no'), ),
        'pickled zip.pth': (archive('archive/data.pkl', b'no'), ),
        'head.pth': (data[:100], ),
        'half.pth': (data[:len(data) // 2], ),
        'no end.pth': (data[:-1], ),
        'old, half.pth': (old[:len(old) // 2], ),
        'old, head.pth': (old[:30], ),
        'flipped.pth': (flipped(data, 0.5), ),
        'old, flipped head.pth': (flipped(old, 0.0005), ),
        'code.pth':
        (saved(dict(state_dict=Code())), 'objects other than', 'system'),
        'old code.pth': (saved(dict(state_dict=Code()),
                               legacy=True), 'objects other than', 'system'),
        'bare code.pth': (pickle.dumps(Code(), protocol=2), ),
        'class.pth': (saved(dict(weights,
                                 note=Note())), 'objects other than', 'Note'),
        'list.pth': (saved([1, 2]), 'a list'),
        'number.pth': (saved(3), 'a int'),
        'nothing.pth': (saved({}), ),
        'other names.pth': (saved(dict(state_dict=other)), 'other.'),
        'scalars.pth': (saved(dict(state_dict=dict(a=1, b='c'))), "'a"),
        'broken.safetensors': (b'\x08\0\0\0\0\0\0\0{"a": 1', ),
        'cut.safetensors': (b'\xff\xff\xff\xff\0\0\0\0{}', ),
    }


def written(name: str,
            run: Callable[[Path], Outcome],
            model: str = 'detector') -> Callable[[Path], Outcome]:
    """Write the file before a run, remove it afterwards."""

    def prepared(root: Path) -> Outcome:
        right = torch.load(root / f'{model}.pth', weights_only=True)
        (root / name).write_bytes(contents(right)[name][0])
        try:
            return run(root)
        finally:
            (root / name).unlink()

    return prepared


def changed(change: Callable[[dict], Any],
            run,
            name: str = 'changed.pth',
            model: str = 'detector') -> Callable[[Path], Outcome]:
    """The same with the right weights after a change."""

    def prepared(root: Path) -> Outcome:
        content = torch.load(root / f'{model}.pth', weights_only=True)
        content = change(content) or content
        torch.save(content, root / name)
        try:
            return run(root)
        finally:
            (root / name).unlink()

    return prepared


def drop(part: str) -> Callable[[dict], None]:

    def change(content: dict) -> None:
        for name in [n for n in content['state_dict'] if part in n]:
            del content['state_dict'][name]

    return change


def widen(part: str) -> Callable[[dict], None]:

    def change(content: dict) -> None:
        for name, value in content['state_dict'].items():
            if part in name and value.ndim:
                content['state_dict'][name] = torch.cat([value, value])

    return change


def add(name: str) -> Callable[[dict], None]:
    return lambda content: content['state_dict'].update({name: torch.ones(3)})


RUNS = ('--work-dir', 'runs/checkpoint')


def test(path: str) -> Callable[[Path], Outcome]:
    return tool('test', 'detector.py', path, *RUNS)


def train(*args: str) -> Callable[[Path], Outcome]:
    return tool('train', 'detector.py', *RUNS, '--no-validate', *args)


def load(path: str) -> None:
    from mmstepnet.checkpoints import load_weights
    load_weights(path)


def warm_start(path: str, **options: Any) -> None:
    from mmstepnet.backbones import ResNet
    from mmstepnet.checkpoints import WarmStart
    model = ResNet(18, base_channels=8, step='StepNet', **options)
    WarmStart(path)(model)


def named(name: str, words: tuple) -> tuple:
    return (f"'{name}'", *words)


def tool_cases() -> Iterator[Case]:
    """Some of the files through every tool that reads one."""
    for name in ('half.pth', 'flipped.pth', 'code.pth', 'page.pth',
                 'other names.pth', 'list.pth', 'class.pth'):
        runs = dict(
            test=test(name),
            load_from=train('--cfg-options', f'load_from="{name}"'),
            resume=train('--resume', name))
        for what, run in runs.items():
            yield Case(
                'checkpoints',
                f'{name} to {what}',
                written(name, run), (f"'{name}'", ),
                fast=what == 'test')
        runs = dict(
            convert_checkpoint=('classifier.py', name, 'out.pth'),
            fold_steps=('classifier.py', name, 'out.pth'),
            export_onnx=('classifier.py', name, 'out.onnx'),
            analyze_stiffness=('classifier.py', name, '--out-dir',
                               'runs/stiff'),
            robustness=('classifier.py', name, *RUNS))
        for what, args in runs.items():
            yield Case(
                'checkpoints',
                f'{name} to {what}',
                written(name, tool(what, *args), 'classifier'),
                (f"'{name}'", ),
                fast=False)


def architecture_cases() -> Iterator[Case]:
    """Right files of other models."""
    path = 'changed.pth'
    for name, change, *words in (
        ('a step is missing', drop('.step.'), '.step.', 'got none'),
        ('a block is missing', drop('layer2.1.'), 'layer2.1.', 'got none'),
        ('another width', widen('backbone.conv1'), 'backbone.conv1.weight',
         'got (16, '),
        ('other classes', widen('fc_cls'), 'fc_cls.weight', 'got (6, '),
    ):
        yield Case('checkpoints', f'{name}, test', changed(change, test(path)),
                   (f"'{path}'", 'another architecture', *words))
    for name, change, *words in (
        ('a block is missing', drop('layer2.1.'), 'layer2.1.', 'got none'),
        ('a block more', add('backbone.layer1.2.conv1.weight'),
         'layer1.2.conv1.weight', 'no place'),
        ('another width', widen('backbone.conv1'), 'backbone.conv1.weight'),
    ):
        yield Case(
            'checkpoints',
            f'{name}, load_from',
            changed(change, train('--cfg-options', f'load_from={path}')),
            (f"'{path}'", 'another architecture', *words),
            fast=False)
    for name, change in (('other classes', widen('fc_cls')), ('no steps',
                                                              drop('.step.'))):
        yield Case(
            'checkpoints',
            f'{name}, load_from',
            changed(
                change,
                train('--cfg-options', f'load_from={path}',
                      'default_hooks.checkpoint=None')), ('Epoch(train)', ),
            'works',
            fast=False)
    yield Case(
        'checkpoints',
        'weights alone, resume',
        train('--resume', 'detector.pth'),
        ("'detector.pth' cannot be resumed", 'message_hub', 'load_from=PATH'),
        fast=False)
    yield Case(
        'checkpoints',
        'code in the saved config, resume',
        changed(
            lambda c: dict(
                c,
                message_hub={},
                optimizer={},
                meta=dict(
                    epoch=1,
                    iter=1,
                    config='import os\n'
                    f'os.system("touch {SENTINEL}")\n')),
            train('--resume', path)),
        fast=False)


def cases() -> Iterator[Case]:
    right = dict(state_dict={'conv1.weight': torch.rand(8, 3, 7, 7)})
    for name, (_, *words) in contents(right).items():
        if name != 'other names.pth':
            words = () if 'scalars' in name else words
            yield Case('checkpoints', f'{name} to load_weights',
                       written(name, call(load, name)),
                       named(name, tuple(w for w in words if w != '1 byte')))
        if name not in ('list.pth', 'number.pth', 'nothing.pth'):
            yield Case('checkpoints', f'{name} to WarmStart',
                       written(name, call(warm_start, name)), (f"'{name}'", ))
    yield Case('checkpoints', 'missing, load_weights', call(load, 'none.pth'),
               ("no checkpoint at 'none.pth'", ))
    yield Case('checkpoints', 'a folder, load_weights', call(load, 'data'),
               ("no checkpoint at 'data'", ))
    yield Case('checkpoints', 'unknown scheme', call(load, 'foo://a.pth'),
               ("'foo://a.pth'", "'torchvision'"))
    yield Case('checkpoints', 'unknown name', call(load, 'torchvision://a'),
               ("'torchvision://a'", 'expected one of'))
    yield Case('checkpoints', 'deeper network, WarmStart',
               written('other names.pth', call(warm_start, 'other names.pth')),
               ("'other names.pth'", 'expected names like'))
    yield Case(
        'checkpoints', 'another width, WarmStart',
        changed(widen('backbone.conv1'), call(warm_start, 'changed.pth')),
        ("'changed.pth'", 'conv1.weight', 'got (16, '))
    yield Case('checkpoints', 'a block is missing, WarmStart',
               changed(drop('layer2.1.'), call(warm_start, 'changed.pth')),
               ("'changed.pth'", 'layer2.1.'))
    yield Case(
        'checkpoints',
        'code, in a process',
        written('code.pth', process('test', 'detector.py', 'code.pth', *RUNS)),
        ("'code.pth'", 'objects other than'),
        fast=False)
    yield from tool_cases()
    yield from architecture_cases()
