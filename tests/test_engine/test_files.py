# Copyright (c) mmstepnet contributors. All rights reserved.
import os
import re

import pytest
import torch
from mmengine.fileio import get_file_backend

from mmstepnet.engine import files
from mmstepnet.engine.checkpoint import is_whole


def test_a_file_changes_as_a_whole(tmp_path, monkeypatch):
    path = tmp_path / 'file'
    files.write_whole(b'old', path)
    seen = []

    def replace(source, target):
        seen.append((path.read_bytes(), open(source, 'rb').read()))
        os.rename(source, target)

    monkeypatch.setattr(files.os, 'replace', replace)
    files.write_whole(b'new', path)
    assert seen == [(b'old', b'new')]
    assert path.read_bytes() == b'new'
    assert [path] == list(tmp_path.iterdir())


@pytest.mark.parametrize('step', ['fsync', 'replace'])
def test_nothing_is_left_of_what_cannot_be_written(tmp_path, monkeypatch,
                                                   step):
    path = tmp_path / 'file'
    path.write_bytes(b'old')

    def fail(*args):
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(files.os, step, fail)
    with pytest.raises(OSError, match=f'No space .*{path}'):
        files.write_whole(b'new', path)
    assert path.read_bytes() == b'old'
    assert [path] == list(tmp_path.iterdir())


def test_backend(tmp_path):
    backend = get_file_backend(
        str(tmp_path), backend_args=dict(backend='mmstepnet.whole'))
    path = backend.join_path(str(tmp_path), 'new', 'file')
    backend.put(b'all', path)
    assert backend.get(path) == b'all'
    assert os.listdir(tmp_path / 'new') == ['file']


def test_partial_files_go(tmp_path):
    for name in ('epoch_1.pth', 'epoch_2.pth.partial'):
        (tmp_path / name).touch()
    files.remove_partial(str(tmp_path))
    assert os.listdir(tmp_path) == ['epoch_1.pth']


def test_work_dir_that_takes_no_files(tmp_path):
    folder = str(tmp_path / 'a' / 'b')
    files.check_writable(folder)
    assert os.listdir(folder) == []
    (tmp_path / 'file').touch()
    with pytest.raises(OSError, match='the work dir .* takes no files: Not'):
        files.check_writable(str(tmp_path / 'file' / 'b'))


def test_work_dir_on_a_full_disk(monkeypatch, tmp_path):

    def fail(*args, **kwargs):
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(files.tempfile, 'TemporaryFile', fail)
    sentence = f'the work dir {str(tmp_path)!r} takes no files: No space left'
    with pytest.raises(OSError, match=re.escape(sentence)):
        files.check_writable(str(tmp_path))


def test_whole_checkpoints(tmp_path):
    path = tmp_path / 'a.pth'
    torch.save(dict(weight=torch.arange(1000)), path)
    data = path.read_bytes()
    assert is_whole(str(path))
    path.write_bytes(data[:-1])
    assert not is_whole(str(path))
    path.write_bytes(b'')
    assert not is_whole(str(path))
    middle = data.index(torch.arange(3, 6).numpy().tobytes())
    path.write_bytes(data[:middle] + bytes(8) + data[middle + 8:])
    assert not is_whole(str(path))
    assert not is_whole(str(tmp_path / 'none.pth'))
