# Copyright (c) mmstepnet contributors. All rights reserved.
import warnings
from importlib import util

import pytest

from mmstepnet.compat import family, require_mmengine, warn_mixed_families


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


def test_neither_family(monkeypatch):
    monkeypatch.setattr(util, 'find_spec', lambda name: None)
    with pytest.raises(ImportError, match='neither software family'):
        require_mmengine()


def test_mmengine_is_installed():
    pytest.importorskip('mmengine')
    require_mmengine()
