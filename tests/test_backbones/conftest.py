# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
from tiny_resnet import STEPS


@pytest.fixture(params=STEPS)
def step(request):
    return STEPS[request.param]
