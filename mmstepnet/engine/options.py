# Copyright (c) mmstepnet contributors. All rights reserved.
import re
from typing import Any

from mmengine.config import DictAction

_KEPT_SPACE = '\0'
# A dict as Python writes it, also in a list.
_DICT = re.compile(r'(^|[\[(,])\s*[\'"]?(dict\(|\{\s*[\'"])')


def _restore_spaces(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_restore_spaces(element) for element in value)
    if isinstance(value, str):
        return value.replace(_KEPT_SPACE, ' ')
    return value


class ConfigOptions(DictAction):
    """MMEngine's ``KEY=VALUE`` options that keep the spaces inside a value.

    ``DictAction`` drops every space, so that ``my data/train.json`` would
    become ``mydata/train.json``. Spaces next to commas and brackets still
    mean nothing.

    Example:
        >>> import argparse
        >>> parser = argparse.ArgumentParser()
        >>> _ = parser.add_argument('-o', nargs='+', action=ConfigOptions)
        >>> parser.parse_args(['-o', 'root=my data', 'x=[red cell, 2]']).o
        {'root': 'my data', 'x': ['red cell', 2]}
    """

    def __call__(self, parser, namespace, values, option_string=None) -> None:
        """Take the options that follow one flag."""
        for option in values:
            key, equals, value = option.partition('=')
            if not key.strip() or not equals:
                parser.error(f'{option_string} takes KEY=VALUE without '
                             f'spaces around the =, got {option!r}')
            if _DICT.search(value):
                parser.error(f'{option_string} takes a dict key by key, as in '
                             f'{key}.type=NAME, got {option!r}')
            try:
                super().__call__(parser, namespace, [option], option_string)
            except RecursionError:  # DictAction finds no comma to split at
                parser.error(f'{option_string} takes several values as '
                             f'{key}=[A,B], got {option!r}')

    @staticmethod
    def _parse_iterable(val: str) -> Any:
        val = re.sub(r'\s*,\s*', ',', val.strip())
        val = re.sub(r'(?<=[\[(])\s+|\s+(?=[\])])', '', val)
        value = DictAction._parse_iterable(val.replace(' ', _KEPT_SPACE))
        return _restore_spaces(value)
