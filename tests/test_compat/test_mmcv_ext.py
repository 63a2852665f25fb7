# Copyright (c) mmstepnet contributors. All rights reserved.
import importlib
import subprocess
import sys
import types
from pathlib import Path

import pytest

from mmstepnet.compat import announce_afterwards, mmcv_ext

REPO = Path(__file__).parents[2]
pytest.importorskip('mmcv')


@pytest.fixture
def no_extension(monkeypatch):
    """The state before anything has imported ``mmcv._ext``."""
    finder = mmcv_ext.MMCVExtFinder()
    monkeypatch.setattr(sys, 'meta_path', [finder])
    monkeypatch.delitem(sys.modules, mmcv_ext.EXTENSION, raising=False)
    said = []
    monkeypatch.setattr(mmcv_ext, '_announce', lambda: said.append('served'))
    yield said
    sys.modules.pop(mmcv_ext.EXTENSION, None)


def run_python(code, *path):
    env = {'PYTHONPATH': ':'.join(map(str, (*path, REPO))), 'PATH': ''}
    result = subprocess.run([sys.executable, '-c', code],
                            env=env,
                            text=True,
                            capture_output=True)
    assert result.returncode == 0, result.stderr
    return result.stdout + result.stderr


@pytest.mark.smoke
def test_import_is_light():
    run_python('import sys, mmstepnet\n'
               'heavy = ["torch", "mmdet", "mmengine", "mmcv", "matplotlib"]\n'
               'loaded = [name for name in heavy if name in sys.modules]\n'
               'assert not loaded, loaded')


def test_a_compiled_extension_is_preferred(tmp_path):
    (tmp_path / 'mmcv').mkdir()
    (tmp_path / 'mmcv' / '__init__.py').touch()
    (tmp_path / 'mmcv' / '_ext.py').write_text('compiled = True')
    output = run_python(
        'import mmstepnet, mmcv._ext\n'
        'assert mmcv._ext.compiled\n'
        'assert not hasattr(mmcv._ext, "nms")', tmp_path)
    assert output == ''


def test_the_finder_answers_for_one_name():
    finder = mmcv_ext.MMCVExtFinder()
    for name in ('mmcv', 'mmcv.ops', 'mmcv._ext.nms', '_ext', 'mmdet._ext'):
        assert finder.find_spec(name) is None
    assert finder.find_spec('mmcv._ext').name == 'mmcv._ext'


def test_the_finder_is_installed_once_and_last(monkeypatch):
    monkeypatch.setattr(sys, 'meta_path', list(sys.meta_path[:2]))
    for _ in range(2):
        mmcv_ext.install_mmcv_ext_finder()
    kinds = [isinstance(f, mmcv_ext.MMCVExtFinder) for f in sys.meta_path]
    assert kinds == [False, False, True]


def test_the_served_module(no_extension):
    module = importlib.import_module('mmcv._ext')
    assert no_extension == ['served']
    assert importlib.import_module('mmcv._ext') is module
    assert no_extension == ['served']
    assert module.anything.__name__ == 'anything'
    with pytest.raises(NotImplementedError, match="'anything' needs"):
        module.anything(1, to=2)
    with pytest.raises(AttributeError, match='__path__'):
        module.__path__


@pytest.mark.parametrize('families, advice', [
    (dict(onedl=['onedl-mmcv']), 'onedl-mmcv`'),
    (dict(openmmlab=['mmcv-lite']), 'mim install mmcv'),
    ({}, 'onedl-mmcv`.* or .*mim install mmcv'),
])
def test_the_advice_fits_the_family(monkeypatch, families, advice):
    monkeypatch.setattr(mmcv_ext, 'installed_families', lambda: families)
    with pytest.raises(NotImplementedError, match=advice):
        mmcv_ext._unserved_operator('carafe_forward')()


def test_the_announcement_can_wait(no_extension):
    with announce_afterwards():
        importlib.import_module('mmcv._ext')
        assert no_extension == []
    assert no_extension == ['served']
    with announce_afterwards():
        importlib.import_module('mmcv._ext')
    assert no_extension == ['served']


def test_nothing_served_nothing_announced(no_extension):
    with announce_afterwards():
        pass
    assert no_extension == []


def test_the_announcement_goes_to_the_log(monkeypatch):
    lines = []
    monkeypatch.setattr('mmengine.logging.print_log',
                        lambda text, logger: lines.append((logger, text)))
    mmcv_ext._announce()
    assert len(lines) == 1
    assert lines[0][0] == 'current' and 'torchvision' in lines[0][1]


def test_mmdet_imported_too_early(monkeypatch):
    monkeypatch.setattr(sys, 'meta_path', [])
    monkeypatch.setitem(sys.modules, 'mmdet.structures',
                        types.ModuleType('mmdet.structures'))
    monkeypatch.delitem(sys.modules, 'mmcv.ops', raising=False)
    with pytest.warns(UserWarning, match='import mmstepnet first'):
        mmcv_ext.install_mmcv_ext_finder()
