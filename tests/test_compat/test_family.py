# Copyright (c) mmstepnet contributors. All rights reserved.
import warnings
from importlib import util

import pytest

from mmstepnet.compat import (family, require_mmengine,
                              warn_missing_pkg_resources, warn_mixed_families)


@pytest.fixture
def install(monkeypatch):
    """Pretend that exactly these distributions are installed."""

    def pretend(*names):
        monkeypatch.setattr(family, '_is_installed', names.__contains__)

    return pretend


def test_families_are_told_apart(install):
    install('onedl-mmcv', 'onedl-mmengine')
    assert family.installed_families() == dict(
        onedl=['onedl-mmengine', 'onedl-mmcv'])
    install('mmcv-lite', 'mmdet')
    assert family.installed_families() == dict(
        openmmlab=['mmcv-lite', 'mmdet'])


@pytest.mark.parametrize('names', [(), ('mmdet', 'mmcv'), ('onedl-mmcv', )])
def test_one_family_needs_no_warning(install, names):
    install(*names)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        warn_mixed_families()


def test_both_families_are_warned_about(install):
    install('onedl-mmengine', 'mmdet')
    with pytest.warns(UserWarning, match='onedl-mmengine and mmdet'):
        warn_mixed_families()


@pytest.mark.parametrize('names, present, warned', [
    (('mmengine', ), False, True),
    (('mmengine', ), True, False),
    (('onedl-mmengine', ), False, False),
])
def test_missing_pkg_resources(install, monkeypatch, names, present, warned):
    install(*names)
    monkeypatch.setattr(util, 'find_spec', lambda name: present or None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        warn_missing_pkg_resources()
    assert ['setuptools<81' in str(w.message)
            for w in caught] == [True] * warned


def test_neither_family(monkeypatch):
    monkeypatch.setattr(util, 'find_spec', lambda name: None)
    with pytest.raises(ImportError, match='neither software family'):
        require_mmengine()


def test_mmengine_is_installed():
    pytest.importorskip('mmengine')
    require_mmengine()
