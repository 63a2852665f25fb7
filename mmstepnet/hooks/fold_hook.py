# Copyright (c) mmstepnet contributors. All rights reserved.
import copy
import os.path as osp

from mmengine.dist import master_only
from mmengine.hooks import Hook
from mmengine.model import is_model_wrapper
from mmengine.runner import Runner, save_checkpoint
from mmengine.runner.checkpoint import get_state_dict, weights_to_cpu
from torch import nn

from mmstepnet.folding import fold_steps, plain_config, step_blocks
from mmstepnet.registry import HOOKS


@HOOKS.register_module()
class FoldStepsHook(Hook):
    """Saves the trained network with its steps folded away.

    At the end of training, what a checkpoint would hold (the averaged
    weights, where an ``EMAHook`` keeps them) is folded by
    :func:`~mmstepnet.folding.fold_steps` and saved in the work dir. The file
    is that of a plain network, whose config is saved beside it. The model
    itself and its checkpoints stay as they are, so training can go on.

    Whether the steps will fold is checked before training begins.

    Args:
        name (str): Name of the two files, ``name.pth`` and ``name.py``.
            Defaults to ``'folded'``.

    Raises:
        ValueError: Before training, if a step size depends on the input or
            the model has no step.

    Example:
        >>> custom_hooks = [dict(type='mmstepnet.FoldStepsHook')]
    """

    priority = 'VERY_LOW'

    def __init__(self, name: str = 'folded') -> None:
        self.name = name

    def before_train(self, runner: Runner) -> None:
        """Check that the model folds.

        Args:
            runner (Runner): The runner.
        """
        model = self._copy(runner)
        for name, block in step_blocks(model).items():
            if block.step.input_weights() is None or \
                    len(block.step.input_weights()):
                raise ValueError(
                    f'{type(self).__name__} needs steps whose size never '
                    f'depends on the input, got {type(block.step).__name__} '
                    f"in {name}: use step=dict(type='mmstepnet.ASR').")
        fold_steps(model)

    def after_train(self, runner: Runner) -> None:
        """Fold a copy of the model and save it.

        Args:
            runner (Runner): The runner.
        """
        model = self._copy(runner)
        checkpoint = dict(state_dict=weights_to_cpu(get_state_dict(model)))
        runner.call_hook('before_save_checkpoint', checkpoint=checkpoint)
        model.load_state_dict(checkpoint['state_dict'])
        folded = fold_steps(model)
        path = osp.join(runner.work_dir, self.name)
        self._save(model, runner, path)
        runner.logger.info(f'Folded the steps of {len(folded)} blocks; the '
                           f'plain network is in {path}.py and {path}.pth')

    @staticmethod
    def _copy(runner: Runner) -> nn.Module:
        model = runner.model
        if is_model_wrapper(model):
            model = model.module
        return copy.deepcopy(model).eval()

    @staticmethod
    @master_only
    def _save(model: nn.Module, runner: Runner, path: str) -> None:
        cfg = plain_config(runner.cfg)
        cfg.dump(f'{path}.py')
        meta = dict(
            epoch=runner.epoch,
            iter=runner.iter,
            cfg=cfg.pretty_text,
            experiment_name=runner.experiment_name,
            dataset_meta=getattr(runner.train_dataloader.dataset, 'metainfo',
                                 None))
        state_dict = weights_to_cpu(model.state_dict())
        save_checkpoint(dict(meta=meta, state_dict=state_dict), f'{path}.pth')
