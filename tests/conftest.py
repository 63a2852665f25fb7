# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
from gloo import GlooPool


@pytest.fixture(scope='session')
def gloo_pool():
    """Two processes for the whole session, see ``gloo.GlooPool``."""
    pool = GlooPool(2)
    yield pool
    pool.close()
