# Copyright (c) mmstepnet contributors. All rights reserved.
"""What every config must do."""
from collections import Counter
from pathlib import PurePath

import pytest
import yaml
from mmengine.registry import HOOKS, DefaultScope
from repo_configs import CONFIGS, NAMES, PROJECTS, REPO, build, load

pytestmark = [pytest.mark.mmdet, pytest.mark.mmpretrain]

PAPER = [name for name in NAMES if 'quickstart' not in name]


@pytest.mark.parametrize('name', NAMES)
def test_builds(name):
    cfg = load(name)
    model = build(cfg.model, cfg.default_scope)
    assert type(model.backbone).__module__.startswith('mmstepnet.')
    keys = list(model.backbone.state_dict())
    for scope in {'mmdet', 'mmpretrain'} - {cfg.default_scope}:
        assert list(build(cfg.model.backbone, scope).state_dict()) == keys
    with DefaultScope.overwrite_default_scope(cfg.default_scope):
        for hook in cfg.get('custom_hooks', []):
            HOOKS.build(hook)


@pytest.mark.parametrize('name', PAPER)
def test_measures_stiffness_and_scales_its_rate(name):
    cfg = load(name)
    assert dict(type='mmstepnet.TNSHook') in cfg.custom_hooks
    assert cfg.auto_scale_lr.base_batch_size > 0


def test_names_are_unique():
    # MIM finds a config by its name alone.
    names = Counter(path.name for path in CONFIGS.rglob('*.py'))
    assert max(names.values()) == 1, names.most_common(3)


def test_metafiles_list_every_config_once():
    index = yaml.safe_load((REPO / 'model-index.yml').read_text())
    found, collections = [], set()
    for metafile in index['Import']:
        content = yaml.safe_load((REPO / metafile).read_text())
        collections.update(c['Name'] for c in content.get('Collections', []))
        for model in content['Models']:
            assert model['Name'] == PurePath(model['Config']).stem
            assert model['In Collection'] in collections
            assert 'Weights' not in model
            found.append(model['Config'])
    assert sorted(found) == sorted(f'configs/{name}'
                                   for name in PAPER + PROJECTS)
