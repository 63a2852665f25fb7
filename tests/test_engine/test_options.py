# Copyright (c) mmstepnet contributors. All rights reserved.
import argparse

import pytest

from mmstepnet.engine.options import ConfigOptions


@pytest.mark.parametrize('text, value', [
    ('my data/', 'my data/'),
    ('my data (old)/a.json', 'my data (old)/a.json'),
    ('"my data"', 'my data'),
    ("['red cell', 'white  cell']", ['red cell', 'white  cell']),
    ('[( 1, 2 ), [a b, None], true]', [(1, 2), ['a b', None], True]),
    ('1, 2 ,3', [1, 2, 3]),
    ('(3, )', (3, )),
    (' 0.5 ', 0.5),
    ('', ''),
    ('a=b c', 'a=b c'),
])
def test_values(text, value):
    parser = argparse.ArgumentParser()
    parser.add_argument('--cfg-options', nargs='+', action=ConfigOptions)
    args = parser.parse_args(['--cfg-options', f'key={text}', 'other=1'])
    assert args.cfg_options == dict(key=value, other=1)


def test_spaces_around_the_equals_sign_get_a_sentence(capsys):
    parser = argparse.ArgumentParser()
    parser.add_argument('-o', nargs='+', action=ConfigOptions)
    with pytest.raises(SystemExit):
        parser.parse_args(['-o', 'a.b', '=', '3'])
    assert "KEY=VALUE without spaces around the =, got 'a.b'" in \
        capsys.readouterr().err
