# Copyright (c) mmstepnet contributors. All rights reserved.
import argparse
import sys
from urllib.error import URLError

import pytest
from mmengine.runner.base_loop import BaseLoop

from mmstepnet.engine import errors, explain_errors


def tool(error):

    @explain_errors
    def main():
        raise error

    return main


@pytest.fixture(autouse=True)
def first_process(monkeypatch):
    monkeypatch.delenv('MMSTEPNET_DEBUG', raising=False)
    monkeypatch.setenv('LOCAL_RANK', '0')


@pytest.mark.parametrize('error, sentence', [
    (ValueError('depth must be\n  18'), 'depth must be 18'),
    (FileNotFoundError('no a.json'), 'no a.json'),
    (KeyError('Nope is not in'), 'KeyError: Nope is not in'),
    (AssertionError(), 'AssertionError: no message'),
    (URLError('offline'), 'a download failed .*offline.*checkpoint=PATH'),
])
def test_mistakes_become_one_line(error, sentence):
    with pytest.raises(SystemExit, match=f'^error: {sentence}') as exit:
        tool(error)()
    assert '\n' not in exit.value.code
    assert 'MMSTEPNET_DEBUG=1' in exit.value.code


def test_arguments_that_do_not_parse_become_one_line(monkeypatch, capsys):
    parser = argparse.ArgumentParser('a.py')
    commands = parser.add_subparsers()
    commands.add_parser('b').add_argument('--size', type=int)
    monkeypatch.setattr(sys, 'argv', ['a.py', 'b', '--size=\n1.5'])
    with pytest.raises(SystemExit) as exit:
        explain_errors(lambda: parser.parse_args())()
    assert exit.value.code == 2
    assert capsys.readouterr().err == (
        "error: argument --size: invalid int value: '\\n1.5' "
        '(a.py b --help shows the options)\n')
    with pytest.raises(SystemExit):
        parser.parse_args()
    assert capsys.readouterr().err.startswith('usage: ')  # of other programs


def test_the_traceback_can_be_had(monkeypatch):
    monkeypatch.setenv('MMSTEPNET_DEBUG', '1')
    with pytest.raises(ValueError):
        tool(ValueError('depth'))()


def test_other_errors_keep_their_traceback():
    with pytest.raises(ZeroDivisionError):
        tool(ZeroDivisionError())()


def test_an_interrupt_becomes_one_line(capsys):
    with pytest.raises(SystemExit) as exit:
        tool(KeyboardInterrupt())()
    assert exit.value.code == 130
    assert capsys.readouterr().err == (
        'interrupted; a training goes on with --resume\n')


def test_a_loop_keeps_its_traceback():
    error = ValueError('loss is infinite')
    with pytest.raises(ValueError, match='infinite'):
        explain_errors(lambda: Loop(error).run())()


class Loop(BaseLoop):
    """A training in which something goes wrong."""

    def __init__(self, error):
        self.error = error

    def run(self):
        raise self.error


@pytest.mark.parametrize('error, sentence', [
    (OSError(28, 'No space left on device', 'epoch_1.pth'),
     r"a file cannot be written \(.* No space left .* 'epoch_1.pth'\); .*"
     '--resume'),
    (OSError(30, 'Read-only file system'), 'a file cannot be written'),
    (RuntimeError('DataLoader worker (pid 7) is killed by signal: Killed.'),
     r'a process that loads data has died \(.*pid 7.*fewer num_workers'),
])
def test_faults_become_one_line_at_any_time(error, sentence):
    with pytest.raises(SystemExit, match=f'^error: {sentence}') as exit:
        explain_errors(lambda: Loop(error).run())()
    assert '\n' not in exit.value.code


def test_a_worker_that_died_while_it_sent_a_batch():

    def _try_get_data():  # of PyTorch's dataloader
        raise ConnectionResetError(104, 'Connection reset by peer')

    class Fetches(Loop):

        def run(self):
            _try_get_data()

    with pytest.raises(SystemExit, match='a process that loads data has died'):
        explain_errors(Fetches(None).run)()
    with pytest.raises(ConnectionResetError):
        explain_errors(Loop(ConnectionResetError(104, 'reset')).run)()


def test_who_is_left_alone_gives_others_time(monkeypatch):
    naps = []
    monkeypatch.setattr(errors.time, 'sleep', naps.append)
    monkeypatch.setattr(errors.signal, 'signal', lambda *args: None)
    error = RuntimeError('[third_party/gloo/gloo/transport/tcp/pair.cc:534] '
                         'Connection closed by peer')
    with pytest.raises(SystemExit, match='another process of the run'):
        explain_errors(lambda: Loop(error).run())()
    assert naps == [10]


def test_other_processes_wait_for_the_first(monkeypatch):
    naps = []
    monkeypatch.setattr(errors.time, 'sleep', naps.append)
    monkeypatch.setattr(errors.signal, 'signal', lambda *args: None)
    with pytest.raises(SystemExit):
        tool(ValueError('depth'))()
    assert not naps
    monkeypatch.setenv('LOCAL_RANK', '1')
    with pytest.raises(SystemExit, match='depth'):
        tool(ValueError('depth'))()
    assert naps
