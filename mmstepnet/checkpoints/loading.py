# Copyright (c) mmstepnet contributors. All rights reserved.
"""Reading checkpoints as weights only."""
import argparse
import os
import os.path as osp
import pickle
import zipfile
from typing import Dict
from urllib.parse import urlparse

import torch
from mmengine.dist import barrier, get_dist_info
from mmengine.logging import HistoryBuffer
from mmengine.optim.scheduler import OneCycleParamScheduler
from torch import Tensor

from mmstepnet.compat.safe_load import (known_as, load_safely, numpy_globals,
                                        refused_globals)

# Where a file keeps its weights, if not at its top level.
WEIGHT_KEYS = ('state_dict', 'model_state_dict', 'model', 'net')
SCHEMES = ('http', 'https', 'torchvision', 'open-mmlab', 'openmmlab', 'mmcls')

# Classes whose methods MMEngine's checkpoints refer to: those of logs and of
# the one-cycle schedule.
WITH_METHODS = (HistoryBuffer, OneCycleParamScheduler)


def _method(cls: type, name: str) -> object:
    """The only ``getattr`` that MMEngine's checkpoints need."""
    if cls not in WITH_METHODS:
        raise pickle.UnpicklingError(f'attribute {name!r} of {cls}')
    return getattr(cls, name)


def _allowed() -> list:
    """Plain data classes that training frameworks store beside weights."""
    return [
        *WITH_METHODS,
        known_as('builtins.getattr', _method), argparse.Namespace,
        *numpy_globals()
    ]


def _resolve(address: str) -> str:
    """The URL of a model that MMEngine knows by name."""
    from mmengine.runner import checkpoint as hub
    scheme, name = address.split('://', 1)
    if scheme not in SCHEMES:
        raise ValueError(
            f'checkpoint must be a file or start with one of {SCHEMES}, got '
            f'{address!r}: download it first.')
    if scheme in ('http', 'https'):
        return address
    if scheme == 'torchvision':
        urls = hub.get_torchvision_models()
    elif scheme == 'mmcls':
        urls = hub.get_mmcls_models()
    else:
        urls = hub.get_external_models()
        name = hub.get_deprecated_model_names().get(name, name)
    if name not in urls:
        raise ValueError(f'no model is known as {address!r}: expected one of '
                         f'{sorted(urls)[:3]} and {len(urls) - 3} others.')
    return urls[name]


def _download(address: str) -> str:
    """Fetch a remote checkpoint, the first process before the others."""
    url = _resolve(address)
    folder = osp.join(torch.hub.get_dir(), 'checkpoints')
    path = osp.join(folder, osp.basename(urlparse(url).path))
    os.makedirs(folder, exist_ok=True)
    for is_my_turn in (get_dist_info()[0] == 0, True):
        if is_my_turn and not osp.isfile(path):
            torch.hub.download_url_to_file(url, path)
        barrier()
    return path


class DamagedError(ValueError):
    """A file that is not as it was written."""


def _read(path: str) -> object:
    if path.endswith('.safetensors'):
        from safetensors.torch import load_file
        return load_file(path)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
        if damaged:
            raise DamagedError(f'but the checksum of {damaged} is wrong')
    return load_safely(path, _allowed())


def read_checkpoint(checkpoint: str) -> object:
    """Read a checkpoint without running code that it may hold.

    Args:
        checkpoint (str): A file (``.pth``, ``.th``, ``.safetensors``, ...),
            an address, or a name such as ``torchvision://resnet50`` or
            ``open-mmlab://resnet50_caffe``.

    Returns:
        object: What the file holds, tensors on the CPU.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is damaged or holds objects that are neither
            weights nor plain data.
    """
    path = _download(checkpoint) if '://' in checkpoint else checkpoint
    if not osp.isfile(path):
        raise FileNotFoundError(f'no checkpoint at {checkpoint!r}.')
    try:
        return _read(path)
    except ImportError as error:
        raise ValueError(f'the checkpoint {checkpoint!r} needs the package '
                         f'safetensors: {error}.') from error
    except Exception as error:
        raise ValueError(_why_unreadable(checkpoint, path, error)) from error


def load_weights(checkpoint: str) -> Dict[str, Tensor]:
    """Load the weights of a checkpoint and nothing that could run code.

    Args:
        checkpoint (str): As in :func:`read_checkpoint`.

    Returns:
        dict[str, Tensor]: The weights on the CPU, under the names in the
        file.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file can't be read or holds no weights.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile(suffix='.pth') as file:
        ...     torch.save(dict(state_dict=dict(a=torch.ones(2))), file.name)
        ...     load_weights(file.name)
        {'a': tensor([1., 1.])}
    """
    weights = read_checkpoint(checkpoint)
    for key in WEIGHT_KEYS:
        if isinstance(weights, dict) and isinstance(weights.get(key), dict):
            weights = weights[key]
            break
    if not isinstance(weights, dict) or not weights or not all(
            isinstance(value, Tensor) for value in weights.values()):
        raise ValueError(
            f'the checkpoint {checkpoint!r} holds no weights: expected names '
            f'and tensors, at the top level or under one of {WEIGHT_KEYS}, '
            f'got {_content(weights)}.')
    return dict(weights)


def _why_unreadable(checkpoint: str, path: str, error: Exception) -> str:
    refused = refused_globals(error)
    if refused:
        return (f'the checkpoint {checkpoint!r} holds objects other than '
                f'weights and plain data, {refused}: save its state_dict '
                'alone.')
    with open(path, 'rb') as file:
        start = file.read(16)
    reason = error if isinstance(error, DamagedError) else (
        f'got {osp.getsize(path)} bytes that begin with {start!r}')
    return (f'the checkpoint {checkpoint!r} is damaged or not a checkpoint: '
            f'expected what torch.save or safetensors writes, {reason}.')


def _content(weights: object) -> str:
    if not isinstance(weights, dict):
        return f'a {type(weights).__name__}'
    return f'a dict with the keys {list(weights)[:5]}'
