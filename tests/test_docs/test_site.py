# Copyright (c) mmstepnet contributors. All rights reserved.
"""The API reference names everything; the site builds without a warning."""
import inspect
import pkgutil
import subprocess
import sys
import zlib
from importlib import import_module
from pathlib import Path

import pytest

import mmstepnet

DOCS = Path(__file__).parents[2] / 'docs'

pytestmark = [pytest.mark.mmdet, pytest.mark.mmpretrain]


@pytest.fixture(scope='module')
def public():
    """Full names of all public functions and classes, by their objects."""
    found = {}
    for info in pkgutil.walk_packages(mmstepnet.__path__, 'mmstepnet.'):
        module = import_module(info.name)
        for name, value in vars(module).items():
            if (inspect.isclass(value) or inspect.isfunction(value)) and \
                    value.__module__ == info.name and name[0] != '_':
                found[value] = f'{info.name}.{name}'
    return found


@pytest.fixture
def documented(monkeypatch):
    """What the pages of the API reference name."""
    monkeypatch.syspath_prepend(DOCS)
    import api_pages
    names = []
    for page in api_pages.pages().values():
        for part in page.split('.. automodule:: ')[1:]:
            module, members = part.splitlines()[:2]
            names += [
                f'{module}.{name.strip()}'
                for name in members.removeprefix('   :members:').split(',')
            ]
    return names


def look_up(name):
    module, _, name = name.rpartition('.')
    return getattr(import_module(module), name)


def test_everything_public_is_in_the_reference_once(public, documented):
    assert len(public) > 200
    values = [id(look_up(name)) for name in documented]
    times = {name: values.count(id(value)) for value, name in public.items()}
    assert {name: n for name, n in times.items() if n != 1} == {}


@pytest.mark.slow
def test_the_site_builds_without_a_warning(documented, tmp_path):
    for name in ('sphinx', 'furo', 'myst_parser', 'latex2mathml'):
        pytest.importorskip(name)
    build = subprocess.run([
        sys.executable, '-m', 'sphinx', '-q', '-W', '--keep-going', DOCS,
        tmp_path
    ],
                           capture_output=True,
                           text=True)
    assert build.returncode == 0, build.stderr
    inventory = (tmp_path / 'objects.inv').read_bytes().split(b'\n', 4)[4]
    objects = {
        line.split()[0]
        for line in zlib.decompress(inventory).decode().splitlines()
    }
    assert set(documented) <= objects
    method = (tmp_path / 'method.html').read_text()
    assert '<mfrac>' in method and '\\frac' not in method
    pages = ''.join(p.read_text() for p in tmp_path.rglob('*.html'))
    assert 'src="http' not in pages and '<link rel="stylesheet" href="http' \
        not in pages
