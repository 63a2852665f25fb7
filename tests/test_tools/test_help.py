# Copyright (c) mmstepnet contributors. All rights reserved.
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / 'tools'
NAMES = sorted(path.stem for path in TOOLS.glob('*.py'))


@pytest.mark.smoke
@pytest.mark.parametrize('name', NAMES)
def test_every_tool_says_how_it_is_called(name, run_tool, capsys):
    assert run_tool(name, '--help').code == 0
    usage = capsys.readouterr().out
    assert usage.startswith(f'usage: {name}.py') and '--help' in usage
