# Copyright (c) mmstepnet contributors. All rights reserved.
"""Links work on the forge and on the site, and every page is in the menu."""
import re
from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]
DOCS = REPO / 'docs'
ROOT_PAGES = [
    REPO / name for name in ('README.md', 'CONTRIBUTING.md', 'CHANGELOG.md')
]
PAGES = sorted(DOCS.rglob('*.md'))
CODE = re.compile(r'^```[\s\S]*?^```$|`[^`\n]+`', re.M)
LINK = re.compile(r'\]\(([^)\s]+)\)')


def anchors(path):
    """The anchors that a forge and the site give the headings of a page."""
    text = re.sub(r'^```[\s\S]*?^```$', '', path.read_text(), flags=re.M)
    found = []
    for heading in re.findall(r'^#+ (.+)$', text, re.M):
        words = re.sub(r'[^\w\- ]', '', heading.lower())
        found.append(words.strip().replace(' ', '-'))
    return found


def links(path):
    return LINK.findall(CODE.sub('', path.read_text()))


def problem(link, page):
    """What is wrong with a link of a page, or None."""
    if '://' in link:
        return None if link.startswith('https://') else 'is not https'
    name, _, anchor = link.partition('#')
    target = (page.parent / name).resolve() if name else page
    if not target.exists():
        return 'does not exist'
    # On the site there is nothing but docs/; the pages at the root are
    # included there under their own names.
    if DOCS not in target.parents and not (page in ROOT_PAGES and
                                           (DOCS / name).is_file()):
        return 'is not on the site'
    if anchor and anchor not in anchors(target):
        return f'has no heading {anchor!r}'
    return None


@pytest.mark.parametrize(
    'page', ROOT_PAGES + PAGES, ids=lambda path: str(path.relative_to(REPO)))
def test_links(page):
    wrong = {link: problem(link, page) for link in links(page)}
    assert {k: v for k, v in wrong.items() if v} == {}


@pytest.mark.parametrize('link, expected', [
    ('nowhere.md', 'does not exist'),
    ('../setup.py', 'is not on the site'),
    ('method.md#stiff', "has no heading 'stiff'"),
    ('http://arxiv.org', 'is not https'),
    ('method.md#stiffness', None),
])
def test_broken_links_are_found(link, expected):
    assert problem(link, DOCS / 'stiffness.md') == expected


def test_there_are_links():
    assert len(links(REPO / 'README.md')) > 10


def test_every_page_is_in_the_menu_once():
    menu = re.findall(r'^```\{toctree\}\n(?::.*\n)*\n([\s\S]*?)^```$',
                      (DOCS / 'index.md').read_text(), re.M)
    entries = '\n'.join(menu).split()
    pages = {str(p.relative_to(DOCS).with_suffix('')) for p in PAGES}
    assert pages - {'index'} <= set(entries)
    assert len(entries) == len(set(entries))
