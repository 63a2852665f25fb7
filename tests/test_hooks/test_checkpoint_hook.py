# Copyright (c) mmstepnet contributors. All rights reserved.
import os
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from mmengine.hooks import Hook
from mmengine.model import BaseModel
from mmengine.runner import Runner
from torch import nn
from torch.utils.data import Dataset

import mmstepnet.engine.files as files
from mmstepnet.checkpoints import read_checkpoint
from mmstepnet.engine import checkpoint, loop
from mmstepnet.engine.checkpoint import is_whole, latest_checkpoint
from mmstepnet.hooks import ResumableCheckpointHook


class Numbers(Dataset):

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return torch.tensor([float(index)]) + torch.rand(1)


class Line(BaseModel):

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(1, 1)
        nn.init.ones_(self.layer.weight)
        nn.init.zeros_(self.layer.bias)

    def forward(self, inputs, mode='tensor'):
        y = self.layer(torch.stack(list(inputs)) + torch.rand(1))
        return dict(loss=y.square().mean()) if mode == 'loss' else [y]


class Score:
    """An evaluator with scores that are given."""

    def __init__(self, scores):
        self.scores = iter(scores)

    def process(self, *args, **kwargs):
        pass

    def evaluate(self, size):
        return dict(score=next(self.scores))


SGD = dict(type='SGD', lr=0.01, momentum=0.9)


def make_runner(work_dir,
                name,
                hook,
                scores,
                max_epochs=3,
                optimizer=SGD,
                **kwargs):
    loader = dict(
        dataset=Numbers(),
        batch_size=2,
        num_workers=0,
        sampler=dict(type='DefaultSampler', shuffle=True),
        collate_fn=lambda batch: dict(inputs=batch))
    runner = Runner(
        Line(),
        str(work_dir),
        train_dataloader=loader,
        val_dataloader=loader,
        val_evaluator=dict(type='Evaluator', metrics=[]),
        train_cfg=dict(
            type='mmstepnet.ResumableTrainLoop', max_epochs=max_epochs),
        val_cfg=dict(),
        optim_wrapper=dict(optimizer=optimizer),
        default_hooks=dict(checkpoint=hook, logger=None),
        randomness=dict(seed=3),
        experiment_name=name,
        log_level='WARNING',
        **kwargs)
    runner.val_loop.evaluator = Score(scores)
    return runner


def config(**kwargs):
    return dict(
        type='mmstepnet.ResumableCheckpointHook',
        interval=1,
        save_best='score',
        rule='greater',
        **kwargs)


class Killed(BaseException):
    """Ends a training as abruptly as an exception can."""


def kill_before_replacing(monkeypatch, number):
    """Let the file that is the ``number``-th to be written not be written."""
    replace, names = os.replace, []

    def fail(source, target):
        names.append(os.path.basename(target))
        if len(names) == number:
            raise Killed(target)
        replace(source, target)

    monkeypatch.setattr(files.os, 'replace', fail)
    return names


@pytest.fixture(scope='module')
def uninterrupted(tmp_path_factory):
    work_dir = tmp_path_factory.mktemp('uninterrupted')
    runner = make_runner(
        work_dir, 'whole', config(max_keep_ckpts=1), scores=[1, 3, 2])
    runner.train()
    return work_dir, runner


def files_of(work_dir):
    return sorted(p.name for p in work_dir.iterdir() if p.suffix == '.pth')


def test_files(uninterrupted):
    assert files_of(
        uninterrupted[0]) == ['best_score_epoch_2.pth', 'epoch_3.pth']


def check_hubs(*work_dirs):
    for name in files_of(work_dirs[0]):
        infos = [
            read_checkpoint(str(folder / name))['message_hub']['runtime_info']
            for folder in work_dirs
        ]
        for key in ('epoch', 'iter', 'is_validated', 'best_score',
                    'keep_ckpt_ids'):
            assert infos[0].get(key) == infos[1].get(key), (name, key)
        outdated = [[Path(path).name for path in info['outdated_ckpts']]
                    for info in infos if 'outdated_ckpts' in info]
        assert len(outdated) in (0, 2) and outdated[:1] == outdated[1:]


# epoch_1, last_checkpoint, best, epoch_1, last_checkpoint, epoch_2, ...
@pytest.mark.parametrize('number', range(1, 13))
def test_killed_at_each_file(uninterrupted, tmp_path, monkeypatch, number):
    with monkeypatch.context() as patch:
        names = kill_before_replacing(patch, number)
        runner = make_runner(tmp_path, f'killed{number}',
                             config(max_keep_ckpts=1), [1, 3, 2])
        with pytest.raises(Killed):
            runner.train()
    assert len(names) == number
    assert (tmp_path / f'{names[-1]}.partial').exists()
    latest = latest_checkpoint(str(tmp_path))
    assert latest is None or is_whole(latest)
    validated = 0
    if latest is not None:
        info = torch.load(latest, weights_only=False)['message_hub']
        info = info['runtime_info']
        validated = info['epoch'] + info['is_validated']
    runner = make_runner(
        tmp_path,
        f'resumed{number}',
        config(max_keep_ckpts=1), [1, 3, 2][validated:],
        load_from=latest,
        resume=latest is not None)
    runner.train()
    first = uninterrupted[1]
    assert (runner.epoch, runner.iter) == (first.epoch, first.iter) == (3, 9)
    for name, value in first.model.state_dict().items():
        assert torch.equal(runner.model.state_dict()[name], value)
    assert runner.message_hub.get_info('best_score') == 3
    history = [
        hub.get_scalar('val/score').data[0].tolist()
        for hub in (runner.message_hub, first.message_hub)
    ]
    assert history == [[1, 3, 2]] * 2
    assert files_of(tmp_path) == files_of(uninterrupted[0])
    check_hubs(tmp_path, uninterrupted[0])
    assert not list(tmp_path.glob('*.partial'))


class SignalHook(Hook):

    def __init__(self, iteration):
        self.iteration = iteration

    def before_train_iter(self, runner, *args, **kwargs):
        if runner.iter == self.iteration:
            signal.raise_signal(signal.SIGUSR1)


@pytest.mark.parametrize('iteration', [7, 8])
def test_stopped_in_the_last_epoch(uninterrupted, tmp_path, iteration):
    """In it, and after its last iteration."""
    hooks = [SignalHook(iteration), dict(type='mmstepnet.StopHook')]
    runner = make_runner(
        tmp_path,
        f'stopped{iteration}',
        config(max_keep_ckpts=1), [1, 3],
        custom_hooks=hooks)
    with pytest.raises(SystemExit):
        runner.train()
    runner = make_runner(
        tmp_path,
        f'continued{iteration}',
        config(max_keep_ckpts=1), [2],
        load_from=latest_checkpoint(str(tmp_path)),
        resume=True)
    runner.train()
    assert runner.iter == 9
    assert files_of(tmp_path) == files_of(uninterrupted[0])
    check_hubs(tmp_path, uninterrupted[0])
    first = uninterrupted[1].model.state_dict()
    for name, value in runner.model.state_dict().items():
        assert torch.equal(first[name], value)


def test_no_checkpoint_goes_before_the_next_is_there(tmp_path, monkeypatch):
    full = []
    write = files.write_whole

    def fail(data, path):
        if full:
            raise OSError(28, 'No space left on device')
        write(data, path)
        full.extend(['epoch_1.pth'] if str(path).endswith('_2.pth') else [])

    monkeypatch.setattr(files, 'write_whole', fail)
    runner = make_runner(tmp_path, 'full', config(max_keep_ckpts=1), [1, 2, 3])
    with pytest.raises(OSError, match='No space left'):
        runner.train()
    assert is_whole(latest_checkpoint(str(tmp_path)))


def validated_buffers(rank, world_size):
    model = torch.nn.BatchNorm1d(2)
    model.running_mean += rank + 1
    model.num_batches_tracked += rank + 5
    ResumableCheckpointHook(interval=1).before_val_epoch(
        SimpleNamespace(model=model))
    return model.running_mean.tolist(), model.num_batches_tracked.item()


@pytest.mark.ddp
def test_all_processes_validate_what_is_saved(gloo_pool):
    assert gloo_pool.run(validated_buffers) == [([1., 1.], 5)] * 2


def test_another_number_of_batches(tmp_path):
    runner = make_runner(tmp_path, 'batches', None, [])
    runner.message_hub.update_info_dict(
        dict(batches_done=2, batches_per_epoch=5))
    with pytest.raises(ValueError, match='after 2 of the 5 .* epoch has 3'):
        runner.train()


def test_nothing_left_to_train(uninterrupted, tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr(loop, 'print_log',
                        lambda message, *args: said.append(message))
    work_dir, first = uninterrupted
    runner = make_runner(
        tmp_path,
        'finished',
        config(), [],
        load_from=latest_checkpoint(str(work_dir)),
        resume=True)
    runner.train()
    assert said == [
        'nothing is left to train: 3 epochs are done, max_epochs is 3'
    ]
    assert runner.iter == first.iter


@pytest.mark.parametrize('before, now, others', [
    (SGD, dict(type='AdamW'), 'dampening, momentum, nesterov, which AdamW'),
    (dict(type='AdamW'), SGD, 'amsgrad, betas, .*eps, which SGD'),
])
def test_another_optimizer(tmp_path, before, now, others):
    make_runner(
        tmp_path, others, config(), [1], max_epochs=1,
        optimizer=before).train()
    resumed = make_runner(
        tmp_path,
        f'resumed {others}',
        config(), [],
        optimizer=now,
        load_from=latest_checkpoint(str(tmp_path)),
        resume=True)
    with pytest.raises(
            ValueError, match=f'an optimizer with {others} does not'):
        resumed.train()


def test_another_learning_rate(monkeypatch):
    said = []
    monkeypatch.setattr(checkpoint, 'print_log',
                        lambda message, *args: said.append(message))
    states = []
    for lr in (0.01, 0.01, 0.002):
        optimizer = torch.optim.SGD(Line().parameters(), lr=lr)
        torch.optim.lr_scheduler.StepLR(optimizer, 1)
        states.append(optimizer.state_dict())
        checkpoint.check_optimizer(optimizer, states[0])
    assert said == [
        'the training goes on with the learning rate of the checkpoint, 0.01 '
        'before its schedule, not with 0.002 of the config'
    ]


def test_the_order_of_samples_of_a_run_without_a_seed(tmp_path):
    runner = make_runner(tmp_path, 'seedless', None, [1, 2, 3])
    runner.message_hub.update_info('sampler_seed', 77)
    runner.train()
    assert runner.train_dataloader.sampler.seed == 77
