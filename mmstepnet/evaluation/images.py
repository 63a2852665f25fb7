# Copyright (c) mmstepnet contributors. All rights reserved.
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence

import torch
from torch import Tensor
from torch.utils.data import DataLoader


class PixelBatch(NamedTuple):
    """Images as they leave the pipeline, before normalization.

    Attributes:
        images (Tensor): Pixels in [0, 1], (N, C, H, W), float32.
        labels (Tensor): Classes, (N,), int64.
        indices (list[int]): Places in the dataset.
    """
    images: Tensor
    labels: Tensor
    indices: List[int]

    def to(self, device: torch.device) -> 'PixelBatch':
        """The batch on another device."""
        return PixelBatch(
            self.images.to(device), self.labels.to(device), self.indices)


class PixelBatches:
    """Batches of an MMPretrain dataset by number, for resumable work.

    A batch has the same images however many processes there are. With
    ``num_images`` a subset is taken at even distances through the dataset, so
    that one sorted by class keeps its balance.

    Args:
        dataset (Dataset): Dataset whose pipeline ends in ``PackInputs`` and
            gives 8-bit images of one size.
        batch_size (int): Images a batch.
        num_images (int, optional): Size of the subset. Defaults to None, all
            images.
        num_workers (int): Processes that read. Defaults to 0.

    Raises:
        ValueError: If ``num_images`` or ``batch_size`` is not possible.

    Example:
        >>> from mmengine.structures import BaseDataElement
        >>> image = torch.full((3, 4, 4), 255, dtype=torch.uint8)
        >>> dataset = [dict(inputs=image, data_samples=BaseDataElement(
        ...     gt_label=torch.tensor([i]))) for i in range(6)]
        >>> batches = PixelBatches(dataset, batch_size=2, num_images=3)
        >>> [batch.indices for batch in batches.read(range(len(batches)))]
        [[0, 2], [4]]
    """

    def __init__(self,
                 dataset: Any,
                 batch_size: int,
                 num_images: Optional[int] = None,
                 num_workers: int = 0) -> None:
        total = len(dataset)
        number = total if num_images is None else num_images
        if not 1 <= number <= total:
            raise ValueError('num_images must be from 1 to the '
                             f'{total} images of the dataset, got {number}')
        if batch_size < 1:
            raise ValueError(f'batch_size must be positive, got {batch_size}')
        self.dataset = dataset
        self.batch_size = batch_size
        self.num_workers = num_workers
        indices = [i * total // number for i in range(number)]
        self.indices = [
            indices[i:i + batch_size] for i in range(0, number, batch_size)
        ]

    @property
    def num_images(self) -> int:
        """Number of images in all batches."""
        return sum(map(len, self.indices))

    @property
    def settings(self) -> Dict[str, int]:
        """What tells these batches from others of the dataset."""
        return dict(num_images=self.num_images, batch_size=self.batch_size)

    def __len__(self) -> int:
        return len(self.indices)

    def read(self, numbers: Sequence[int]) -> Iterator[PixelBatch]:
        """The batches of these numbers, in their order."""
        chosen = [self.indices[i] for i in numbers]
        loader = DataLoader(
            self.dataset,
            batch_sampler=chosen,
            num_workers=self.num_workers,
            collate_fn=list)
        for indices, samples in zip(chosen, loader):
            yield self._pack(indices, samples)

    @staticmethod
    def _pack(indices: List[int], samples: List[Dict[str, Any]]) -> PixelBatch:
        images = [sample['inputs'] for sample in samples]
        kinds = {(tuple(image.shape), str(image.dtype)) for image in images}
        if len(kinds) > 1 or images[0].dtype != torch.uint8:
            raise ValueError('expected the pipeline to give 8-bit images of '
                             f'one size, got {sorted(kinds)}: resize or crop '
                             'to a fixed size, and leave normalization to '
                             'the data preprocessor')
        labels = torch.cat([s['data_samples'].gt_label for s in samples])
        if len(labels) != len(images):
            raise ValueError('expected one label an image, got '
                             f'{len(labels)} for {len(images)} images')
        return PixelBatch(torch.stack(images).float() / 255, labels, indices)
