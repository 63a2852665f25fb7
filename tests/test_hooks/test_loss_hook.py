# Copyright (c) mmstepnet contributors. All rights reserved.
from types import SimpleNamespace

import pytest
import torch

from mmstepnet.engine import InputError
from mmstepnet.hooks import FiniteLossHook


def look(last_ckpt=None, **outputs):
    hub = SimpleNamespace(get_info=lambda key: last_ckpt)
    runner = SimpleNamespace(iter=11, epoch=1, message_hub=hub)
    FiniteLossHook().after_train_iter(runner, 2, outputs=outputs)


def test_finite_losses():
    look(loss=torch.tensor(2.), loss_cls=torch.tensor(1.), acc=float('nan'))
    FiniteLossHook().after_train_iter(SimpleNamespace(), 0)


@pytest.mark.parametrize('value', ['nan', 'inf', '-inf'])
def test_the_first_part_that_is_broken_is_named(value):
    with pytest.raises(InputError) as error:
        look(
            'runs/epoch_1.pth',
            loss=torch.tensor(float(value)),
            loss_cls=torch.tensor(1.),
            loss_bbox=torch.tensor(float(value)))
    message = str(error.value)
    assert message.startswith(
        f'loss_bbox is {value} in iteration 12 (batch 3 of epoch 2)')
    assert message.endswith('the last checkpoint is runs/epoch_1.pth')


def test_it_comes_before_the_checkpoint():
    from mmengine.hooks import CheckpointHook
    from mmengine.runner.priority import get_priority
    assert get_priority(FiniteLossHook.priority) < get_priority(
        CheckpointHook.priority)
