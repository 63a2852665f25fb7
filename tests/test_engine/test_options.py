# Copyright (c) mmstepnet contributors. All rights reserved.
import argparse
import re

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
    ('epoch_{}.pth', 'epoch_{}.pth'),
    ('{:06d}.jpg', '{:06d}.jpg'),
])
def test_values(text, value):
    parser = argparse.ArgumentParser()
    parser.add_argument('--cfg-options', nargs='+', action=ConfigOptions)
    args = parser.parse_args(['--cfg-options', f'key={text}', 'other=1'])
    assert args.cfg_options == dict(key=value, other=1)


@pytest.mark.parametrize('value, sentence', [
    ("dict(type='mmstepnet.SGE',groups=8)", r'key by key, as in a\.b\.type='),
    ('dict(type=SE)', r'key by key, as in a\.b\.type='),
    ("{'type': 'SE'}", r'key by key, as in a\.b\.type='),
    ('[dict(type=SE, ratio=8)]', r'key by key, as in a\.b\.type='),
    ('f(1,2)', r'several values as a\.b=\[A,B\], got .a\.b=f\(1,2\)'),
])
def test_values_that_cannot_be_read(value, sentence, capsys):
    parser = argparse.ArgumentParser()
    parser.add_argument('-o', nargs='+', action=ConfigOptions)
    with pytest.raises(SystemExit):
        parser.parse_args(['-o', f'a.b={value}'])
    assert re.search(sentence, capsys.readouterr().err)


def test_spaces_around_the_equals_sign_get_a_sentence(capsys):
    parser = argparse.ArgumentParser()
    parser.add_argument('-o', nargs='+', action=ConfigOptions)
    with pytest.raises(SystemExit):
        parser.parse_args(['-o', 'a.b', '=', '3'])
    assert "KEY=VALUE without spaces around the =, got 'a.b'" in \
        capsys.readouterr().err
