# Copyright (c) mmstepnet contributors. All rights reserved.
import math
from typing import Any, Optional

import torch
from mmengine.hooks import Hook
from mmengine.runner import Runner

from mmstepnet.engine.errors import InputError
from mmstepnet.registry import HOOKS


@HOOKS.register_module()
class FiniteLossHook(Hook):
    """Ends a training whose loss is no number, before it is saved.

    MMEngine goes on with NaN weights and writes them over what was learned.
    This hook comes before the hook that saves; the training of
    ``tools/train.py`` has it. The losses are on the CPU by then, since the
    log has them, so that the look at them costs nothing.

    Raises:
        InputError: If a loss is infinite or NaN; names it and the iteration.

    Example:
        >>> custom_hooks = [dict(type='mmstepnet.FiniteLossHook')]
    """

    priority = 'NORMAL'

    def after_train_iter(self,
                         runner: Runner,
                         batch_idx: int,
                         data_batch: Any = None,
                         outputs: Optional[dict] = None) -> None:
        """Look at the losses.

        Args:
            runner (Runner): The runner.
            batch_idx (int): Number of the batch in the epoch.
            data_batch (Any): The batch.
            outputs (dict, optional): The losses by their names.
        """
        losses = {
            name: torch.as_tensor(value).item()
            for name, value in (outputs or {}).items() if 'loss' in name
        }
        broken = {
            name: value
            for name, value in losses.items() if not math.isfinite(value)
        }
        if broken:
            # the parts before their sum
            name, value = next(
                iter(
                    sorted(broken.items(),
                           key=lambda item: item[0] == 'loss')))
            saved = runner.message_hub.get_info('last_ckpt')
            raise InputError(
                f'{name} is {value} in iteration {runner.iter + 1} (batch '
                f'{batch_idx + 1} of epoch {runner.epoch + 1}), expected a '
                'finite loss: lower the learning rate, clip the gradients or '
                'look at the data; the last checkpoint is '
                f'{saved or "none yet"}')
