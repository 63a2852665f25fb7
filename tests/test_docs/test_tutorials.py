# Copyright (c) mmstepnet contributors. All rights reserved.
"""The code of the tutorials runs and prints what the pages show."""
import os
import sys
from pathlib import Path

import pytest

from mmstepnet.registry import MODELS

REPO = Path(__file__).parents[2]
DOCS = REPO / 'docs'
TUTORIALS = sorted(path.stem for path in (DOCS / 'tutorials').glob('*.md'))


@pytest.fixture
def pages(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    import run_page
    return run_page


@pytest.fixture
def checkout(pages, tmp_path, monkeypatch):
    """A folder where the code of a page finds tools and configs."""
    pages.lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv(
        'PATH',
        os.pathsep.join([str(Path(sys.executable).parent),
                         os.environ['PATH']]))
    MODELS.import_from_location()
    monkeypatch.setattr(MODELS, '_module_dict', dict(MODELS._module_dict))
    return tmp_path


@pytest.mark.slow
@pytest.mark.mmdet
@pytest.mark.mmpretrain
@pytest.mark.parametrize('name', TUTORIALS)
def test_tutorial(name, pages, checkout):
    pages.run_page(DOCS / 'tutorials' / f'{name}.md')


@pytest.mark.parametrize('printed', ['2 cats', 'then: 3 cats and 0.52 dogs'])
def test_another_number_or_line_is_an_error(pages, printed):
    with pytest.raises(ValueError, match='the page shows'):
        pages.compare('3 cats and 0.5 dogs\n', printed, 0.03)


def test_numbers_within_the_tolerance(pages):
    shown = '3 cats and 0.5 dogs\nin ... 2.5e-3 s\n'
    printed = 'x\nthen: 3 cats and 0.51 dogs!\nin all 2.5e-3 s\n'
    assert pages.compare(shown, printed,
                         0.03) == ['3 cats and 0.51 dogs', 'in ... 2.5e-3 s']


def test_write_puts_the_printed_numbers_in(pages, tmp_path):
    page = tmp_path / 'page.md'
    text = '```python\nprint(6 * 7)\n```\n\n```text\n{}\n```\n'
    page.write_text(text.format(41))
    with pytest.raises(ValueError, match="shows '41', got '42'"):
        pages.run_page(page)
    pages.run_page(page, write=True)
    assert page.read_text() == text.format(42)


def test_a_failing_command_is_an_error(pages, tmp_path):
    page = tmp_path / 'page.md'
    page.write_text('```bash\nfalse\ntrue\n```\n')
    with pytest.raises(RuntimeError, match='false'):
        pages.run_page(page)
