# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
import torch
import torchvision
from resnet18 import trunk
from sources import randomize


@pytest.fixture(scope='module')
def plain():
    """torchvision's ResNet-18 and the map that it ends with."""
    torch.manual_seed(0)
    model = randomize(torchvision.models.resnet18(num_classes=3))
    return model.state_dict(), trunk(model)
