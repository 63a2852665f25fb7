# Copyright (c) mmstepnet contributors. All rights reserved.
import json
import os

import pytest

from mmstepnet.evaluation import map_pieces


def square(i):
    return dict(square=i * i, third=i / 3)


EXPECTED = [square(i) for i in range(7)]


def test_results_in_order(tmp_path):
    assert map_pieces(square, 7, str(tmp_path), settings={}) == EXPECTED


def test_a_stopped_run_goes_on(tmp_path, capsys):
    calls = []

    def stop_at_four(i):
        if i == 4:
            raise KeyboardInterrupt
        calls.append(i)
        return square(i)

    def remember(i):
        calls.append(i)
        return square(i)

    with pytest.raises(KeyboardInterrupt):
        map_pieces(stop_at_four, 7, str(tmp_path), settings={}, logger=None)
    assert 'the same run goes on from what is in' in capsys.readouterr().out
    assert calls == [0, 1, 2, 3]
    assert map_pieces(remember, 7, str(tmp_path), settings={}) == EXPECTED
    assert calls == list(range(7))


def test_half_a_line_is_done_again(tmp_path):
    map_pieces(square, 7, str(tmp_path), settings={})
    path = tmp_path / 'rank0.jsonl'
    path.write_text(path.read_text()[:-5])
    assert map_pieces(square, 7, str(tmp_path), settings={}) == EXPECTED
    lines = path.read_text().splitlines()
    assert [json.loads(line)[0] for line in lines] == list(range(7))


def test_other_settings_are_refused(tmp_path):
    map_pieces(square, 2, str(tmp_path), settings=dict(seed=0, a=(1, 2)))
    map_pieces(square, 2, str(tmp_path), settings=dict(seed=0, a=[1, 2]))
    with pytest.raises(ValueError, match=r'seed=0 \(now 1\)'):
        map_pieces(square, 2, str(tmp_path), settings=dict(seed=1, a=[1, 2]))
    with pytest.raises(ValueError, match=r'num_pieces=2 \(now 3\)'):
        map_pieces(square, 3, str(tmp_path), settings=dict(seed=0, a=[1, 2]))


def test_read_gets_what_is_left(tmp_path):

    def read(numbers):
        assert list(numbers) == [0, 1, 2]
        return (10 * i for i in numbers)

    results = map_pieces(str, 3, str(tmp_path), settings={}, read=read)
    assert results == ['0', '10', '20']


def test_progress_is_logged(tmp_path, capsys):
    map_pieces(square, 3, str(tmp_path / 'work'), settings={}, logger='silent')
    assert capsys.readouterr().out == ''
    map_pieces(square, 3, str(tmp_path / 'work'), settings={}, logger=None)
    assert '3 of 3 pieces are done already' in capsys.readouterr().out
    map_pieces(square, 3, str(tmp_path / 'more'), settings={}, logger=None)
    assert '3/3 pieces of this process' in capsys.readouterr().out


def shared(rank, world_size, folder):
    calls = []

    def remember(i):
        calls.append(i)
        return square(i)

    return calls, map_pieces(remember, 7, folder, settings={}, logger='silent')


def shared_failure(rank, world_size, folder):
    try:
        map_pieces(square, 7, folder, settings=dict(seed=5))
    except ValueError as error:
        return str(error)


@pytest.mark.ddp
def test_two_processes_share_resume_and_agree(tmp_path, gloo_pool):
    folder = str(tmp_path)
    os.makedirs(folder, exist_ok=True)
    with pytest.raises(ZeroDivisionError):
        map_pieces(
            lambda i: square(i) if i < 2 else 1 / 0, 7, folder, settings={})
    (first, a), (second, b) = gloo_pool.run(shared, folder)
    assert a == b == EXPECTED
    assert sorted(first + second) == [2, 3, 4, 5, 6]
    assert abs(len(first) - len(second)) <= 1
    messages = gloo_pool.run(shared_failure, folder)
    assert all('seed=None (now 5)' in message for message in messages)
