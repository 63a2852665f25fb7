# Copyright (c) mmstepnet contributors. All rights reserved.
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

REPO = Path(__file__).parents[1]
SOURCES = ('LICENSE', 'MANIFEST.in', 'README.md', 'configs', 'mmstepnet',
           'model-index.yml', 'pyproject.toml', 'requirements', 'setup.cfg',
           'setup.py', 'tools')
pytest.importorskip('setuptools')


@pytest.fixture(scope='module')
def checkout(tmp_path_factory):
    """A copy of the sources, since a build writes next to them."""
    root = tmp_path_factory.mktemp('packaging') / 'checkout'
    root.mkdir()
    for name in SOURCES:
        if (REPO / name).is_dir():
            shutil.copytree(
                REPO / name,
                root / name,
                ignore=shutil.ignore_patterns('__pycache__', '.mim'))
        else:
            shutil.copy2(REPO / name, root)
    return root


def build(hook, source):
    """Call a PEP 517 hook where torch and mmengine can't be imported."""
    code = ('import sys; sys.modules.update(torch=None, mmengine=None)\n'
            'from setuptools import build_meta\n'
            f'print(build_meta.{hook}("dist"))')
    (source / 'dist').mkdir(exist_ok=True)
    result = subprocess.run([sys.executable, '-c', code],
                            cwd=source,
                            text=True,
                            capture_output=True)
    assert result.returncode == 0, result.stderr
    return source / 'dist' / result.stdout.splitlines()[-1]


@pytest.fixture(scope='module')
def wheel(checkout):
    """The wheel that is built from the source distribution."""
    with tarfile.open(build('build_sdist', checkout)) as archive:
        # Python 3.11.3 and older know no filters
        archive.extraction_filter = getattr(tarfile, 'data_filter', None)
        archive.extractall(checkout.parent)
    return build('build_wheel', next(checkout.parent.glob('mmstepnet-*')))


def files(root, folder):
    return {
        str(path.relative_to(root))
        for path in (root / folder).rglob('*') if path.is_file()
    }


def test_the_wheel_has_all_modules(checkout, wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert files(checkout, 'mmstepnet') <= names


@pytest.mark.parametrize('folder', ['configs', 'tools'])
def test_the_wheel_has_what_mim_looks_for(checkout, wheel, folder):
    names = set(zipfile.ZipFile(wheel).namelist())
    metadata = next(n for n in names if n.endswith('METADATA'))
    expected = files(checkout, folder)
    assert expected
    # OpenMMLab's MIM looks into the package, OneDL's beside the metadata.
    for place in ('mmstepnet', metadata.split('/')[0]):
        assert f'{place}/.mim/model-index.yml' in names
        assert {f'{place}/.mim/{name}' for name in expected} <= names


def test_names_and_requirements(wheel):
    assert wheel.name.startswith('mmstepnet-')
    archive = zipfile.ZipFile(wheel)
    metadata = next(name for name in archive.namelist()
                    if name.endswith('METADATA'))
    lines = archive.read(metadata).decode().splitlines()
    assert 'Requires-Python: >=3.10' in lines
    assert {'Provides-Extra: onedl', 'Provides-Extra: openmmlab'} <= set(lines)
    required = [
        line for line in lines
        if line.startswith('Requires-Dist') and 'extra ==' not in line
    ]
    assert any('torch' in line for line in required)
    assert not any('mm' in line for line in required)


def test_scripts_stay_executable(wheel):
    info = zipfile.ZipFile(wheel).getinfo('mmstepnet/.mim/tools/dist_train.sh')
    assert (info.external_attr >> 16) & 0o111


def test_editable_install(checkout, tmp_path):
    wheel = build('build_editable', checkout)
    with zipfile.ZipFile(wheel) as archive:
        assert not [name for name in archive.namelist() if '.mim' in name]
        archive.extractall(tmp_path)
    assert not (checkout / 'mmstepnet' / '.mim').exists()
    code = (f'import site; site.addsitedir({str(tmp_path)!r})\n'
            'import mmstepnet; print(mmstepnet.__file__)')
    env = {k: v for k, v in os.environ.items() if k != 'PYTHONPATH'}
    # -S: without the environment's own installation of this package
    result = subprocess.run([sys.executable, '-S', '-c', code],
                            cwd=tmp_path,
                            env=env,
                            text=True,
                            capture_output=True)
    assert result.stdout.strip() == str(checkout / 'mmstepnet' /
                                        '__init__.py'), result.stderr


def test_the_model_index_is_complete():
    index = yaml.safe_load((REPO / 'model-index.yml').read_text())
    assert index['Import']
    for name in index['Import']:
        metafile = yaml.safe_load((REPO / name).read_text())
        collections = {entry['Name'] for entry in metafile['Collections']}
        for model in metafile['Models']:
            assert (REPO / model['Config']).is_file(), model
            assert model['In Collection'] in collections
