# Copyright (c) mmstepnet contributors. All rights reserved.
import os
from pathlib import Path

import pytest
from gloo import GlooPool
from mmengine.registry import DefaultScope

# Before MMDetection, which looks for mmcv's operators when it is imported.
import mmstepnet  # noqa: F401

# files of fixtures are no modules to search for doctests
collect_ignore_glob = ['conftest.py', '*/conftest.py']


@pytest.fixture(autouse=True)
def no_default_scope():
    """Forget the scope that a test has set."""
    yield
    DefaultScope._instance_dict.clear()


@pytest.fixture(scope='session')
def test_data():
    """Folder of real data; without it the test is skipped."""
    default = Path(__file__).parents[2] / 'shared' / 'data'
    path = Path(os.environ.get('MMSTEPNET_TEST_DATA', default))
    if not path.is_dir():
        pytest.skip(f'no test data at {path}; set MMSTEPNET_TEST_DATA')
    return path


@pytest.fixture(scope='session')
def gloo_pool():
    """Two processes for the whole session, see ``gloo.GlooPool``."""
    pool = GlooPool(2)
    yield pool
    pool.close()
