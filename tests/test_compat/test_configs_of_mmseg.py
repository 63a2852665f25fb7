# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
from mmengine.config import utils

from mmstepnet.compat import configs, find_mmseg_configs


@pytest.mark.parametrize('family, package', [('onedl', 'mmseg'),
                                             ('openmmlab', 'mmsegmentation')])
def test_where_the_bases_of_mmseg_are_looked_for(monkeypatch, family, package):
    monkeypatch.setitem(utils.MODULE2PACKAGE, 'mmseg', 'mmsegmentation')
    monkeypatch.setattr(configs, 'installed_families', lambda: {family: []})
    find_mmseg_configs()
    found, _ = utils._get_package_and_cfg_path('mmseg::fcn/name.py')
    assert found == package
