# Copyright (c) mmstepnet contributors. All rights reserved.
from typing import Any, Sequence

from mmengine.logging import print_log
from mmengine.runner import EpochBasedTrainLoop

from mmstepnet.registry import LOOPS
from .batches import count_batches
from .seeds import seed_all


@LOOPS.register_module()
class ResumableTrainLoop(EpochBasedTrainLoop):
    """Trains by epochs, and goes on exactly where a checkpoint was saved.

    MMEngine's loop begins the epoch anew that a checkpoint was saved in, and
    leaves out the validation that was due. This one goes on with the next
    batch, validates what is not validated, and draws the same random numbers
    as a training that was never interrupted: they follow from the seed, the
    epoch, the iteration and the place in the batch. What it needs for that
    are five values in the message hub, which checkpoints hold.

    Random numbers that neither Python's, NumPy's nor PyTorch's own generators
    draw are not taken care of.

    The arguments are those of ``EpochBasedTrainLoop``.

    Raises:
        ValueError: When it goes on in the middle of an epoch that had another
            number of batches.

    Example:
        >>> train_cfg = dict(type='mmstepnet.ResumableTrainLoop',
        ...                  max_epochs=12)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._batches = count_batches(self.dataloader)

    def run(self) -> Any:
        """Train, from where the runner has resumed."""
        self._restore()
        self.runner.call_hook('before_train')
        if self._iter:
            # as it is after an iteration
            self._put(iter=self._iter - 1)
        if not self._get('is_validated', True):
            self._put(epoch=self._epoch - 1)
            self._validate()
        if self._epoch >= self._max_epochs:
            print_log(
                f'nothing is left to train: {self._epoch} epochs are done, '
                f'max_epochs is {self._max_epochs}', 'current')
        while self._epoch < self._max_epochs and not self.stop_training:
            self.run_epoch()
            self._validate()
        self.runner.call_hook('after_train')
        return self.runner.model

    def _get(self, key: str, default: Any) -> Any:
        return self.runner.message_hub.get_info(key, default)

    def _put(self, **values: Any) -> None:
        self.runner.message_hub.update_info_dict(values)

    def _restore(self) -> None:
        """Take over the order of the samples and the place in the epoch."""
        sampler: Any = getattr(self._batches, 'sampler', None)
        if hasattr(sampler, 'seed'):
            sampler.seed = self._get('sampler_seed', sampler.seed)
            self._put(sampler_seed=sampler.seed)
        done, number = self._get('batches_done', 0), len(self._batches)
        before = self._get('batches_per_epoch', number)
        if done and number != before:
            raise ValueError(
                f'the checkpoint was saved after {done} of the {before} '
                f'batches of epoch {self._epoch + 1}, but now an epoch has '
                f'{number}: go on with the same dataset, batch size and '
                'number of processes, or from the checkpoint of an epoch')
        self._put(batches_per_epoch=number)
        self._batches.done = done

    def run_epoch(self) -> None:
        """Train for what is left of an epoch."""
        self.runner.call_hook('before_train_epoch')
        self.runner.model.train()
        self._batches.seed = self.runner.seed
        self._batches.epoch = self._epoch
        for idx, batch in enumerate(self.dataloader, self._batches.done):
            self.run_iter(idx, batch)
        self._batches.done = 0
        self._put(batches_done=0, is_validated=False)
        self.runner.call_hook('after_train_epoch')
        self._epoch += 1

    def run_iter(self, idx: int, data_batch: Sequence[dict]) -> None:
        """Train on a batch.

        Args:
            idx (int): Its number in the epoch.
            data_batch (Sequence[dict]): The batch.
        """
        seed_all(self.runner.seed, self._iter)
        self._put(batches_done=idx + 1, is_validated=True)
        super().run_iter(idx, data_batch)

    def _validate(self) -> None:
        """Validate, if it is due after the epochs so far."""
        self._decide_current_val_interval()
        if (self.runner.val_loop is not None and self._epoch >= self.val_begin
                and (self._epoch % self.val_interval == 0
                     or self._epoch == self._max_epochs)):
            seed_all(self.runner.seed, self._iter, 0)
            self.runner.val_loop.run()
