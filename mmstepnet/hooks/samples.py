# Copyright (c) mmstepnet contributors. All rights reserved.
from typing import Any, Hashable, List, Optional, Sequence, Tuple

from mmengine.dist import get_rank, get_world_size


def sample_id(data_sample: Any) -> Optional[Hashable]:
    """What tells a data sample from all others, None if nothing does.

    Args:
        data_sample (Any): Output of a model for one image.

    Returns:
        Hashable, optional: Its path and its index, those it has.

    Example:
        >>> from mmengine.structures import BaseDataElement
        >>> sample_id(BaseDataElement(metainfo=dict(img_id=7)))
        (7,)
    """
    names = tuple(
        getattr(data_sample, key)
        for key in ('img_path', 'img_id', 'sample_idx')
        if getattr(data_sample, key, None) is not None)
    return names or None


class SampleTracker:
    """Tells which samples of a dataset the batches of a process hold.

    The place in the dataset is that of an unshuffled ``DefaultSampler``,
    which deals the samples out to the processes in turn and begins anew to
    give all processes as many.

    Args:
        dataset_size (int): Samples of the dataset.
    """

    def __init__(self, dataset_size: int) -> None:
        self.dataset_size = dataset_size
        self.seen = 0

    @property
    def next_place(self) -> int:
        """Place in the dataset of the next sample of this process."""
        return self.seen * get_world_size() + get_rank()

    def take(self, outputs: Any,
             number: int) -> Tuple[List[int], List[Hashable]]:
        """Places and ids of a batch of ``number`` samples.

        Args:
            outputs (Any): What the model returned for the batch.
            number (int): Samples in the batch.

        Returns:
            tuple[list[int], list]: Places in the dataset, and ids: those
            that the outputs carry, or else the places.
        """
        places = []
        for _ in range(number):
            places.append(self.next_place % self.dataset_size)
            self.seen += 1
        is_list = isinstance(outputs, Sequence) and len(outputs) == number
        ids = [sample_id(output) for output in outputs] if is_list else []
        named = [i for i in ids if i is not None]
        return places, named if len(named) == number else list(places)
