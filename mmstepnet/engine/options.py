# Copyright (c) mmstepnet contributors. All rights reserved.
import re
from typing import Any

from mmengine.config import DictAction

_KEPT_SPACE = '\0'


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
            if not option.partition('=')[0].strip() or '=' not in option:
                parser.error(f'{option_string} takes KEY=VALUE without '
                             f'spaces around the =, got {option!r}')
        super().__call__(parser, namespace, values, option_string)

    @staticmethod
    def _parse_iterable(val: str) -> Any:
        val = re.sub(r'\s*,\s*', ',', val.strip())
        val = re.sub(r'(?<=[\[(])\s+|\s+(?=[\])])', '', val)
        value = DictAction._parse_iterable(val.replace(' ', _KEPT_SPACE))
        return _restore_spaces(value)
