# Copyright (c) mmstepnet contributors. All rights reserved.
import os
import random

import numpy as np
import pytest
import torch
from mmengine.config import Config
from mmengine.logging import MessageHub
from torch.utils.data import DataLoader, Dataset

from mmstepnet.engine import checkpoint
from mmstepnet.engine.batches import count_batches
from mmstepnet.engine.checkpoint import latest_checkpoint, save_latest
from mmstepnet.engine.resume import find_checkpoint, make_resumable
from mmstepnet.engine.seeds import seed_all


class Runner:
    """As much of a runner as saving needs."""

    def __init__(self, work_dir):
        self.work_dir = str(work_dir)
        self.message_hub = MessageHub('test')

    def save_checkpoint(self, out_dir, filename, meta, **kwargs):
        torch.save(
            dict(meta=meta, message_hub={}, optimizer={}),
            os.path.join(out_dir, filename))


@pytest.fixture
def saved(tmp_path):
    """A work dir with the checkpoints of three epochs."""
    runner = Runner(tmp_path)
    for epoch in (1, 2, 3):
        name = f'epoch_{epoch}.pth'
        save_latest(runner, str(tmp_path), name, dict(epoch=epoch, iter=epoch))
        os.utime(tmp_path / name, (epoch, epoch))
    return tmp_path


def test_the_latest_checkpoint(saved, tmp_path_factory):
    assert latest_checkpoint(str(saved)) == str(saved / 'epoch_3.pth')
    assert latest_checkpoint(str(tmp_path_factory.mktemp('empty'))) is None


@pytest.mark.parametrize('damage', ['truncated', 'missing', 'unnamed'])
def test_a_damaged_latest_checkpoint(saved, damage, monkeypatch):
    said = []
    monkeypatch.setattr(checkpoint, 'print_log',
                        lambda message, *args: said.append(message))
    newest = saved / 'epoch_3.pth'
    if damage == 'truncated':
        newest.write_bytes(newest.read_bytes()[:-200])
        os.utime(newest, (3, 3))
    elif damage == 'missing':
        newest.unlink()
    else:
        (saved / 'last_checkpoint').write_text('')
    # files that no training can go on from
    torch.save(dict(state_dict={}), saved / 'best_epoch_3.pth')
    torch.save(dict(state_dict={}), saved / 'folded.pth')
    expected = 'epoch_3.pth' if damage == 'unnamed' else 'epoch_2.pth'
    assert latest_checkpoint(str(saved)) == str(saved / expected)
    assert len(said) == 1 and str(saved / expected) in said[0]
    assert 'is missing or damaged; the training goes on from' in said[0]


def test_no_checkpoint_can_be_read(saved):
    for path in saved.glob('*.pth'):
        path.write_bytes(b'PK')
    with pytest.raises(ValueError, match="epoch_3.pth', named by .* no other"):
        latest_checkpoint(str(saved))


def test_the_checkpoint_of_a_signal_goes_with_the_next(saved):
    runner = Runner(saved)
    save_latest(runner, str(saved), 'stopped.pth', dict(epoch=3, iter=4))
    assert latest_checkpoint(str(saved)) == str(saved / 'stopped.pth')
    save_latest(runner, str(saved), 'epoch_4.pth', dict(epoch=4, iter=5))
    assert latest_checkpoint(str(saved)) == str(saved / 'epoch_4.pth')
    assert not (saved / 'stopped.pth').exists()


def test_resume_from_the_latest_or_start(saved, tmp_path_factory):
    cfg = Config(dict(resume=True, load_from='a.pth', work_dir=str(saved)))
    find_checkpoint(cfg)
    assert (cfg.resume, cfg.load_from) == (True, str(saved / 'epoch_3.pth'))
    empty = str(tmp_path_factory.mktemp('empty'))
    cfg = Config(dict(resume=True, load_from='a.pth', work_dir=empty))
    find_checkpoint(cfg)
    assert (cfg.resume, cfg.load_from) == (False, 'a.pth')


@pytest.mark.parametrize('loop, expected', [
    (dict(type='EpochBasedTrainLoop'), 'mmstepnet.ResumableTrainLoop'),
    (dict(by_epoch=True), 'mmstepnet.ResumableTrainLoop'),
    (dict(by_epoch=False), None),
    (dict(type='mmengine.EpochBasedTrainLoop'),
     'mmengine.EpochBasedTrainLoop'),
])
def test_loops_that_are_replaced(loop, expected):
    cfg = Config(dict(train_cfg=loop))
    make_resumable(cfg)
    assert cfg.train_cfg.get('type') == expected


@pytest.mark.parametrize('hook, expected', [
    (dict(type='CheckpointHook', interval=3),
     dict(type='mmstepnet.ResumableCheckpointHook', interval=3)),
    (dict(type='Other'), dict(type='Other')),
    (None, None),
])
def test_hooks_that_are_replaced(hook, expected):
    cfg = Config(
        dict(
            default_hooks=dict(checkpoint=hook, timer='kept'),
            custom_hooks=[dict(type='EMAHook')]))
    make_resumable(cfg)
    make_resumable(cfg)
    assert cfg.default_hooks.checkpoint == expected
    assert cfg.default_hooks.timer == 'kept'
    types = [hook['type'] for hook in cfg.custom_hooks]
    assert types == ['EMAHook', 'mmstepnet.StopHook']


def draw():
    return random.random(), np.random.rand(), torch.rand(1).item()


def test_a_key_gives_all_random_numbers():
    seed_all(1, 2)
    first = draw()
    for other in ((1, 2, 0), (2, 1), (1, ), (0, 1, 2)):
        seed_all(*other)
        assert not set(draw()) & set(first)
    seed_all(1, 2)
    assert draw() == first


class Noise(Dataset):
    """Random numbers, as an augmentation draws them."""

    def __len__(self):
        return 10

    def __getitem__(self, index):
        return torch.tensor([index, *draw()], dtype=torch.float64)


def epochs(workers, done=0):
    loader = DataLoader(
        Noise(),
        batch_size=3,
        num_workers=workers,
        persistent_workers=workers > 0)
    batches = count_batches(loader)
    batches.seed = 5
    found = []
    for batches.epoch in range(2):
        batches.done = done
        found.append(list(loader))
    return found


def test_samples_depend_on_their_place_alone():
    first, second = epochs(0)
    assert len(first) == len(second) == 4
    assert not torch.equal(first[0], second[0])
    assert len({tuple(row[1:].tolist()) for row in torch.cat(first)}) == 10
    draw()
    for workers, done in ((0, 2), (2, 0), (2, 3)):
        for batches, expected in zip(epochs(workers, done), (first, second)):
            assert torch.equal(torch.cat(batches), torch.cat(expected[done:]))


def test_a_loader_without_batches():
    with pytest.raises(ValueError, match='with a batch_size'):
        count_batches(DataLoader(Noise(), batch_size=None))
