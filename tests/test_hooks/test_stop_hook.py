# Copyright (c) mmstepnet contributors. All rights reserved.
import os
import signal
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from mmengine.logging import MessageHub

from mmstepnet.hooks import StopHook, stop_hook

REPO = Path(__file__).parents[2]


class Runner:
    """As much of a runner as the hook needs, in epoch 3 at iteration 7."""
    epoch, iter = 3, 7

    def __init__(self, work_dir, updates=True):
        self.work_dir = str(work_dir)
        self.message_hub = MessageHub('test')
        self.saved, self.said = [], []
        self.logger = SimpleNamespace(warning=self.said.append)
        self.optim_wrapper = SimpleNamespace(should_update=lambda: updates)
        loader = SimpleNamespace(worker_init_fn=None)
        self.train_loop = SimpleNamespace(dataloader=loader)
        self.val_loop = None

    def save_checkpoint(self, out_dir, filename, meta, backend_args):
        assert backend_args['backend'] == 'mmstepnet.whole'
        self.saved.append((filename, meta))


@pytest.fixture
def hook():
    before = signal.getsignal(signal.SIGTERM)
    hook = StopHook()
    yield hook
    hook.after_train(None)
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize('name, status', [('SIGTERM', 143), ('SIGUSR1', 138)])
def test_stop_after_the_iteration(hook, tmp_path, name, status):
    runner = Runner(tmp_path)
    hook.before_train(runner)
    hook.after_train_iter(runner, 0)
    for _ in range(2):  # the launcher passes on what it has got
        signal.raise_signal(getattr(signal, name))
    with pytest.raises(SystemExit) as end:
        hook.after_train_iter(runner, 1)
    assert end.value.code == status
    assert runner.saved == [('stopped.pth', dict(epoch=3, iter=8))]
    path = str(tmp_path / 'stopped.pth')
    assert (tmp_path / 'last_checkpoint').read_text() == path
    sentence, = runner.said
    assert sentence == (f'{name}: the training ends after iteration 8; '
                        f'--resume goes on from {path}')


def test_a_signal_while_processes_agree_is_not_lost(hook, tmp_path,
                                                    monkeypatch):
    runner = Runner(tmp_path)
    hook.before_train(runner)
    monkeypatch.setattr(stop_hook, 'all_reduce',
                        lambda *args: signal.raise_signal(signal.SIGTERM))
    hook.after_train_iter(runner, 0)
    with pytest.raises(SystemExit):
        hook.after_train_iter(runner, 1)


def test_gradients_in_progress_are_not_lost(hook, tmp_path):
    runner = Runner(tmp_path, updates=False)
    hook.before_train(runner)
    signal.raise_signal(signal.SIGTERM)
    hook.after_train_iter(runner, 0)
    runner.optim_wrapper.should_update = lambda: True
    with pytest.raises(SystemExit):
        hook.after_train_iter(runner, 1)


def test_stop_in_a_validation(hook, tmp_path):
    runner = Runner(tmp_path)
    hook.before_train(runner)
    signal.raise_signal(signal.SIGTERM)
    hook.after_val_iter(runner, 0)  # the epoch has not been saved
    saved = dict(saved_iter=7, last_ckpt='epoch_3.pth')
    runner.message_hub.update_info_dict(saved)
    with pytest.raises(SystemExit) as end:
        hook.after_val_iter(runner, 1)
    assert end.value.code == 143
    assert not runner.saved and 'epoch_3.pth' in runner.said[0]


def test_stop_after_a_validation(hook, tmp_path):
    runner = Runner(tmp_path)
    hook.before_train(runner)
    signal.raise_signal(signal.SIGTERM)
    with pytest.raises(SystemExit):
        hook.after_val_epoch(runner, {})
    assert runner.saved == [('stopped.pth', dict(epoch=3, iter=7))]


def test_without_training(hook, tmp_path):
    hook.after_val_epoch(Runner(tmp_path), {})


def test_unknown_signals():
    with pytest.raises(ValueError, match="got 'SIGNONE'"):
        StopHook(signals=['SIGNONE'])


def test_a_second_signal_ends_at_once(monkeypatch):
    note, sent = stop_hook.SignalNote(), []
    now = iter([10., 11.9, 12.1])
    monkeypatch.setattr(stop_hook.time, 'monotonic', lambda: next(now))
    monkeypatch.setattr(stop_hook.signal, 'signal',
                        lambda *args: sent.append(args))
    monkeypatch.setattr(stop_hook.os, 'kill', lambda *args: sent.append(args))
    note(15, None)
    note(15, None)
    assert not sent
    note(15, None)
    assert sent == [(15, signal.SIG_DFL), (os.getpid(), 15)]


def test_workers_outlive_a_signal(hook, tmp_path):
    runner = Runner(tmp_path)
    started = []
    runner.train_loop.dataloader.worker_init_fn = started.append
    hook.before_train(runner)
    hook.after_train(runner)
    loader = runner.train_loop.dataloader
    before = {signum: signal.getsignal(signum) for signum in hook.signals}
    try:
        loader.worker_init_fn(2)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGUSR1)
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
    assert started == [2]


def stop_one(rank, world_size, work_dir):
    runner, hook = Runner(work_dir), StopHook()
    hook.before_train(runner)
    if rank == 1:
        signal.raise_signal(signal.SIGTERM)
    try:
        hook.after_train_iter(runner, 0)
    except SystemExit as end:
        return end.code, runner.said
    finally:
        hook.after_train(runner)


@pytest.mark.ddp
def test_all_processes_stop_together(gloo_pool):
    with tempfile.TemporaryDirectory() as work_dir:
        results = gloo_pool.run(stop_one, work_dir)
        assert os.listdir(work_dir) == ['last_checkpoint']
    assert [code for code, _ in results] == [143, 143]


@pytest.mark.skipif(sys.platform != 'linux', reason='about Linux')
def test_a_process_ends_with_its_launcher():
    run = partial(
        subprocess.Popen, stdout=subprocess.PIPE, text=True, cwd=REPO)
    parent = run([
        sys.executable, '-c', f'''
import subprocess, sys, time
child = subprocess.Popen([sys.executable, '-c', """
import importlib.util, os, time
os.environ['TORCHELASTIC_RUN_ID'] = '0'
spec = importlib.util.spec_from_file_location(
    'parent', {str(REPO / 'mmstepnet/engine/parent.py')!r})
parent = importlib.util.module_from_spec(spec)
spec.loader.exec_module(parent)
parent.end_with_launcher()
print(os.getpid(), flush=True)
time.sleep(60)
"""])
time.sleep(60)
'''
    ])
    child = parent.stdout.readline().strip()
    assert Path(f'/proc/{child}').exists()
    parent.kill()
    parent.wait()
    # the pipe closes when the last of the two processes has ended
    assert parent.stdout.read() == ''


FAILING = '''
from types import SimpleNamespace
from torch.utils.data import DataLoader
from mmstepnet.hooks import StopHook
loader = DataLoader(range(99), num_workers=1)
loop = SimpleNamespace(dataloader=loader)
StopHook().before_train(SimpleNamespace(train_loop=loop, val_loop=None))
batches = iter(loader)
next(batches)
raise SystemExit('the end')
'''


def test_workers_end_with_a_training_that_fails():
    result = subprocess.run([sys.executable, '-c', FAILING],
                            stderr=subprocess.PIPE,
                            text=True,
                            timeout=60)
    assert result.returncode == 1
    assert result.stderr.endswith('the end\n')
