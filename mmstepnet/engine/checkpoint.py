# Copyright (c) mmstepnet contributors. All rights reserved.
from mmengine.hooks import Hook
from mmengine.model import BaseTTAModel, is_model_wrapper
from mmengine.runner import Runner


class MatchingKeysHook(Hook):
    """Refuses a checkpoint that has no tensor for the model.

    MMEngine only warns about keys that don't match, so that a run with the
    wrong file goes on with random weights.
    """

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        """Compare the keys and shapes.

        Args:
            runner (Runner): The runner.
            checkpoint (dict): What the file holds.

        Raises:
            ValueError: If none match.
        """
        model = runner.model
        while is_model_wrapper(model) or isinstance(model, BaseTTAModel):
            model = model.module
        expected = {
            key: value.shape
            for key, value in model.state_dict().items()
        }
        state_dict = checkpoint.get('state_dict', checkpoint)
        found = {
            key.removeprefix('module.'): getattr(value, 'shape', None)
            for key, value in state_dict.items()
        }
        if not expected.items() & found.items():
            raise ValueError(
                'the checkpoint has no key of the model: expected keys like '
                f'{next(iter(expected))!r}, got keys like '
                f'{next(iter(found), None)!r}; to load a backbone alone, set '
                "model.backbone.init_cfg=dict(type='Pretrained', "
                'checkpoint=...) instead')
