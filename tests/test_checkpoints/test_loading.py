# Copyright (c) mmstepnet contributors. All rights reserved.
import argparse
import io
import os
import zipfile

import numpy as np
import pytest
import torch
from mmengine.logging import HistoryBuffer
from mmengine.optim import OneCycleLR

from mmstepnet.checkpoints import load_weights, loading

WEIGHTS = {'conv1.weight': torch.arange(4096.), 'bn1.bias': torch.ones(3)}


def save(content, path, **kwargs):
    torch.save(content, path, **kwargs)
    return str(path)


@pytest.mark.parametrize('container', loading.WEIGHT_KEYS + (None, ))
@pytest.mark.parametrize('zipped', [True, False])
def test_containers(container, zipped, tmp_path):
    content = {container: WEIGHTS, 'epoch': 3} if container else WEIGHTS
    path = save(
        content, tmp_path / 'a.pth', _use_new_zipfile_serialization=zipped)
    loaded = load_weights(path)
    assert list(loaded) == list(WEIGHTS)
    assert loaded['conv1.weight'].equal(WEIGHTS['conv1.weight'])


def test_what_training_frameworks_add(tmp_path):
    history = HistoryBuffer(np.array([1., 2.]), np.array([1, 1]))
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    schedule = OneCycleLR(optimizer, eta_max=1., total_steps=3)
    content = dict(
        state_dict=WEIGHTS,
        optimizer=optimizer.state_dict(),
        param_schedulers=[schedule.state_dict()],
        meta=dict(epoch=1, dataset_meta=dict(classes=('cell', ))),
        message_hub=dict(
            log_scalars={'train/loss': history},
            runtime_info=dict(loss=np.float64(1.))),
        args=argparse.Namespace(lr=.1))
    assert len(load_weights(save(content, tmp_path / 'a.pth'))) == 2


def test_safetensors(tmp_path):
    safetensors = pytest.importorskip('safetensors.torch')
    path = str(tmp_path / 'a.safetensors')
    safetensors.save_file(WEIGHTS, path)
    assert load_weights(path)['bn1.bias'].equal(WEIGHTS['bn1.bias'])


class Attack:
    """An object whose unpickling makes a folder."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (self.folder, )


@pytest.mark.parametrize('zipped', [True, False])
def test_code_is_not_run(zipped, tmp_path):
    folder = str(tmp_path / 'made')
    path = save(
        dict(state_dict=WEIGHTS, extra=Attack(folder)),
        tmp_path / 'a.pth',
        _use_new_zipfile_serialization=zipped)
    with pytest.raises(ValueError, match='a.pth') as caught:
        load_weights(path)
    assert '\n' not in str(caught.value)
    assert not os.path.exists(folder)
    if zipped:
        assert 'holds objects other than weights' in str(caught.value)


def truncated(data):
    return data[:len(data) // 2]


def flipped(data):
    """A bit of a tensor's data is wrong, so that its checksum is."""
    index = data.index(np.arange(100., 110., dtype=np.float32).tobytes())
    return data[:index] + bytes([data[index] ^ 1]) + data[index + 1:]


def archive(data):
    """A zip file that is no checkpoint."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, 'w') as archive:
        archive.writestr('readme.txt', 'none')
    return file.getvalue()


@pytest.mark.parametrize('damage', [
    truncated, flipped, archive, lambda data: b'',
    lambda data: b'<html>404 Not Found</html>', lambda data: data[:100]
])
def test_damaged_file(damage, tmp_path):
    path = tmp_path / 'a.pth'
    save(WEIGHTS, path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match='damaged or not a checkpoint') as e:
        load_weights(str(path))
    assert '\n' not in str(e.value) and len(str(e.value)) < 300


@pytest.mark.parametrize('content, got', [
    ([1, 2], 'a list'),
    ({}, 'a dict'),
    (dict(epoch=1, lr=.1), "a dict with the keys ['epoch', 'lr']"),
    (dict(state_dict={}), 'a dict with the keys []'),
    (dict(state_dict=dict(a=1)), "a dict with the keys ['a']"),
    (torch.ones(3), 'a Tensor'),
])
def test_file_without_weights(content, got, tmp_path):
    path = save(content, tmp_path / 'a.pth')
    with pytest.raises(ValueError, match='holds no weights') as caught:
        load_weights(path)
    assert f'got {got}' in str(caught.value)


def test_missing_file():
    with pytest.raises(FileNotFoundError, match='no checkpoint at'):
        load_weights('nowhere.pth')


@pytest.mark.parametrize('name, url', [
    ('torchvision://resnet50', 'https://download.pytorch.org/models/resnet50'),
    ('open-mmlab://detectron2/resnet50_caffe', 'https://'),
    ('https://host/a.pth', 'https://host/a.pth'),
])
def test_known_names(name, url, tmp_path, monkeypatch):
    fetched = []

    def download(source, path):
        fetched.append(source)
        torch.save(WEIGHTS, path)

    monkeypatch.setattr(torch.hub, 'get_dir', lambda: str(tmp_path))
    monkeypatch.setattr(torch.hub, 'download_url_to_file', download)
    for _ in range(2):
        assert len(load_weights(name)) == 2
    assert len(fetched) == 1 and fetched[0].startswith(url)


@pytest.mark.parametrize('name, message', [
    ('torchvision://resnet51', 'no model is known as'),
    ('s3://bucket/a.pth', 'download it first'),
])
def test_unknown_names(name, message):
    with pytest.raises(ValueError, match=message):
        load_weights(name)
