# Copyright (c) mmstepnet contributors. All rights reserved.
from itertools import islice
from typing import Any, Iterable, Iterator, Sequence, Tuple

from mmengine.dist import get_rank
from torch.utils.data import DataLoader

from .seeds import seed_all


class SeededBatch:
    """Indices of a batch that seed whoever goes through them.

    A dataloader goes through them where it loads the samples, in a worker or
    in the process of the training.

    Args:
        indices (Sequence[int]): Places in the dataset.
        key (tuple[int]): What :func:`seed_all` takes, before the place of the
            sample in the batch.
    """

    def __init__(self, indices: Sequence[int], key: Tuple[int, ...]) -> None:
        self.indices = indices
        self.key = key

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[int]:
        for place, index in enumerate(self.indices):
            seed_all(*self.key, place)
            yield index


class CountedBatches:
    """The batches of an epoch, from any of them on, each with its seed.

    So the random numbers of an augmentation depend on the seed, the epoch and
    the place of the sample in it, but neither on the workers that load the
    sample nor on what they have loaded before.

    Args:
        batches (Iterable[Sequence[int]]): The batch sampler, which has a
            length; its attributes are ours too.

    Attributes:
        seed (int): Seed of the run.
        epoch (int): Epoch that is next.
        done (int): Batches of it to leave out.

    Example:
        >>> batches = CountedBatches([[3, 1], [0, 2]])
        >>> batches.done = 1
        >>> [list(batch) for batch in batches], len(batches)
        ([[0, 2]], 2)
    """

    def __init__(self, batches: Iterable[Sequence[int]]) -> None:
        self.batches: Any = batches
        self.seed = self.epoch = self.done = 0

    def __getattr__(self, name: str) -> Any:
        if name == 'batches':
            raise AttributeError(name)
        return getattr(self.batches, name)

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[SeededBatch]:
        key = self.seed, get_rank(), self.epoch
        for number, batch in islice(enumerate(self.batches), self.done, None):
            yield SeededBatch(batch, (*key, number))


def count_batches(dataloader: DataLoader) -> CountedBatches:
    """Let a dataloader count its batches.

    Args:
        dataloader (DataLoader): The dataloader, changed in place.

    Returns:
        CountedBatches: What counts them.

    Raises:
        ValueError: If the dataloader makes no batches.

    Example:
        >>> loader = DataLoader([5, 6, 7], batch_size=2)
        >>> count_batches(loader).done = 1
        >>> list(loader)
        [tensor([7])]
    """
    if dataloader.batch_sampler is None:
        raise ValueError('expected a train_dataloader with a batch_size or a '
                         'batch_sampler, got one without; train_cfg.type='
                         'mmengine.EpochBasedTrainLoop takes it')
    batches = CountedBatches(dataloader.batch_sampler)
    # A dataloader refuses to be changed later by its own means; all it does
    # with the batch sampler is to go through it.
    object.__setattr__(dataloader, 'batch_sampler', batches)
    return batches
