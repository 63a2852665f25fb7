# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
import torch
from mmengine.structures import BaseDataElement

from mmstepnet.evaluation import PixelBatches


def dataset(number=10, dtype=torch.uint8, sizes=(4, )):
    return [
        dict(
            inputs=torch.full((3, sizes[i % len(sizes)], 4), i, dtype=dtype),
            data_samples=BaseDataElement(gt_label=torch.tensor([i % 3])))
        for i in range(number)
    ]


@pytest.mark.parametrize('num_workers', [0, 1])
def test_batches_by_number(num_workers):
    batches = PixelBatches(dataset(), 4, num_workers=num_workers)
    assert len(batches) == 3 and batches.num_images == 10
    last, first = batches.read([2, 0])
    assert last.indices == [8, 9] and first.indices == [0, 1, 2, 3]
    assert torch.equal(first.labels, torch.tensor([0, 1, 2, 0]))
    assert first.images.shape == (4, 3, 4, 4)
    assert torch.equal(first.images[2], torch.full((3, 4, 4), 2 / 255))


def test_subset_is_spread_over_the_dataset():
    batches = PixelBatches(dataset(10), 2, num_images=5)
    assert batches.indices == [[0, 2], [4, 6], [8]]
    assert batches.settings == dict(num_images=5, batch_size=2)


@pytest.mark.parametrize('kwargs, message', [
    (dict(num_images=11), 'from 1 to the 10 images of the dataset, got 11'),
    (dict(num_images=0), 'got 0'),
    (dict(batch_size=0), 'batch_size must be positive, got 0'),
])
def test_impossible_numbers(kwargs, message):
    with pytest.raises(ValueError, match=message):
        PixelBatches(dataset(), **{'batch_size': 2, **kwargs})


@pytest.mark.parametrize('kwargs', [
    dict(dtype=torch.float32),
    dict(sizes=(4, 5)),
])
def test_images_of_another_kind(kwargs):
    with pytest.raises(ValueError, match='8-bit images of one size'):
        list(PixelBatches(dataset(**kwargs), 2).read([0]))
