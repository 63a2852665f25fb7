# Copyright (c) mmstepnet contributors. All rights reserved.
"""The site: ``python -m sphinx -W --keep-going docs OUT``."""
import sys
from pathlib import Path

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS), str(DOCS.parent)]

import api_pages  # noqa: E402

from mmstepnet import __version__  # noqa: E402

project = 'mmstepnet'
copyright = 'mmstepnet contributors'
release = __version__
extensions = [
    'myst_parser', 'sphinx.ext.autodoc', 'sphinx.ext.napoleon',
    'sphinx.ext.viewcode'
]
html_theme = 'furo'
html_title = f'mmstepnet {release}'
html_math_renderer = 'mathml'
html_copy_source = False

myst_enable_extensions = ['dollarmath']
myst_heading_anchors = 4
exclude_patterns = ['_build']

autodoc_default_options = {'undoc-members': True, 'show-inheritance': True}
# The docstrings say the types, with shapes.
autodoc_typehints = 'none'
napoleon_custom_sections = ['Source']
napoleon_use_ivar = True
napoleon_use_rtype = False
# Types are written short, and two classes are called ResidualBlock.
suppress_warnings = ['ref.python']


def mathml(display):
    """Write a formula as MathML, which needs no script and no network."""

    def visit(translator, node):
        translator.body.append(convert(node.astext(), display=display))
        raise SkipNode

    return visit, None


def setup(app):
    app.add_html_math_renderer('mathml', mathml('inline'), mathml('block'))
    app.connect('config-inited', lambda *_: api_pages.write(DOCS / 'api'))
