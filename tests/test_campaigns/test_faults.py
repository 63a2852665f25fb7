# Copyright (c) mmstepnet contributors. All rights reserved.
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from mmengine.logging import HistoryBuffer

from campaigns.faults import compare, kills

REPO = Path(__file__).parents[2]


def run_campaign(*args):
    return subprocess.run(
        [sys.executable, '-m', 'campaigns.faults', *map(str, args)],
        text=True,
        cwd=REPO,
        capture_output=True)


@pytest.mark.slow
@pytest.mark.mmdet
@pytest.mark.mmpretrain
def test_a_killed_training_ends_like_any_other(tmp_path):
    """Two kills of a classifier: in an iteration, in a validation."""
    result = run_campaign('--kills', 2, '--configs', 'classifier',
                          '--work-dir', tmp_path / 'faults')
    assert result.returncode == 0, result.stdout + result.stderr
    counts = json.loads((tmp_path / 'faults' / 'result.json').read_text())
    assert counts['wrong'] == []
    assert counts['kills'] == 2
    assert sum(counts['moments'].values()) == 2
    assert list((tmp_path / 'faults').glob('*/epoch_3.pth'))
    assert not list((tmp_path / 'faults').glob('*/*.partial'))


def make_work_dir(path, weight=1., score=0.5, time=1.):
    (path / 'run' / 'vis_data').mkdir(parents=True)
    log = path / 'run' / 'vis_data' / 'scalars.json'
    log.write_text(json.dumps(dict(loss=score, time=time, step=1)) + '\n{"lo')
    history = HistoryBuffer()
    history.update(score)
    torch.save(
        dict(
            state_dict=dict(weight=torch.tensor(weight)),
            message_hub=dict(loss=history, time=time, last=str(path / 'a'))),
        path / 'epoch_1.pth')
    (path / 'tns.jsonl').write_text(f'{score}\n')
    (path / 'last_checkpoint').write_text(str(path / 'epoch_1.pth'))


@pytest.mark.parametrize('change, found', [
    (dict(), []),
    (dict(time=2.), []),
    (dict(weight=1.0000001), ['epoch_1.pth/state_dict/weight']),
    (dict(score=0.6),
     ['epoch_1.pth/message_hub/loss', 'tns.jsonl', "scalars/('loss', 1)"]),
])
def test_what_differs_is_found(tmp_path, change, found):
    make_work_dir(tmp_path / 'first')
    make_work_dir(tmp_path / 'second', **change)
    assert compare.compare(tmp_path / 'first', tmp_path / 'second') == found


def test_a_missing_file_is_found(tmp_path):
    make_work_dir(tmp_path / 'first')
    make_work_dir(tmp_path / 'second')
    (tmp_path / 'second' / 'epoch_2.pth.partial').touch()
    assert compare.compare(tmp_path / 'first', tmp_path /
                           'second') == ['file epoch_2.pth.partial']


def test_a_damaged_latest_checkpoint_is_found(tmp_path):
    assert kills.check_latest(tmp_path) == []
    make_work_dir(tmp_path / 'first')
    assert kills.check_latest(tmp_path / 'first') == []
    (tmp_path / 'first' / 'epoch_1.pth').write_bytes(b'PK')
    assert 'is damaged' in kills.check_latest(tmp_path / 'first')[0]


def test_a_work_dir_in_use_is_refused(tmp_path):
    (tmp_path / 'file').touch()
    result = run_campaign('--work-dir', tmp_path)
    assert result.returncode == 1
    assert result.stderr == (f'error: --work-dir {str(tmp_path)!r} is not '
                             'empty\n')
