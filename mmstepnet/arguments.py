# Copyright (c) mmstepnet contributors. All rights reserved.
"""What a wrong argument is told: its name, what was got and expected."""
import inspect
from collections.abc import Sequence
from difflib import get_close_matches
from functools import lru_cache
from numbers import Integral, Real
from typing import (Annotated, Any, Dict, Iterable, Tuple, Union, get_args,
                    get_origin)

#: Annotations of arguments that count something, and of rates.
Positive = Annotated[int, 'positive']
NonNegative = Annotated[int, 'non-negative']
NonNegativeNumber = Annotated[float, 'non-negative']

_PLAIN: Dict[Any, Tuple[Any, str, str]] = {
    int: (Integral, 'an integer', 'integers'),
    float: (Real, 'a number', 'numbers'),
    bool: (bool, 'True or False', 'True or False'),
    str: (str, 'a string', 'strings'),
    dict: (dict, 'a dict', 'dicts'),
    type: (type, 'a class', 'classes'),
    type(None): (type(None), 'None', 'None'),
}


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint at the known name that is most like another.

    Args:
        name (str): What was asked for.
        known (Iterable[str]): What there is.

    Returns:
        str: The hint, or nothing if none is like it.

    Example:
        >>> nearest('stepp', ['depth', 'step'])
        " (did you mean 'step'?)"
    """
    close = get_close_matches(str(name), list(known), n=1)
    return f' (did you mean {close[0]!r}?)' if close else ''


def short(value: Any, length: int = 80) -> str:
    """The ``repr`` of a value, cut to a length."""
    text = ' '.join(repr(value).split())
    return text if len(text) <= length else f'{text[:length - 3]}...'


@lru_cache(maxsize=None)
def accepted_arguments(cls: type) -> Dict[str, inspect.Parameter]:
    """The arguments that a class takes.

    Args:
        cls (type): The class. Where its constructor hands ``**kwargs`` on,
            those of its base classes count too.

    Returns:
        dict[str, inspect.Parameter]: The arguments by their names.

    Example:
        >>> from mmstepnet.steps import SE
        >>> list(accepted_arguments(SE))
        ['in_channels', 'ratio', 'bias', 'init_cfg']
    """
    accepted: Dict[str, inspect.Parameter] = {}
    for base in cls.__mro__:
        init = vars(base).get('__init__')
        if init is None:
            continue
        parameters = list(inspect.signature(init).parameters.values())[1:]
        for parameter in parameters:
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD,
                                  parameter.KEYWORD_ONLY):
                accepted.setdefault(parameter.name, parameter)
        if all(p.kind != p.VAR_KEYWORD for p in parameters):
            break
    return accepted


def unknown_argument(cls: type, name: str) -> str:
    """The sentence for an argument that a class doesn't take."""
    known = list(accepted_arguments(cls))
    return (f'{cls.__name__} has no argument {name!r}{nearest(name, known)}: '
            f'expected some of {", ".join(known)}')


def _fits(value: Any, hint: Any, bounded: bool = True) -> bool:
    if get_origin(hint) is Annotated:
        plain, bound = get_args(hint)
        return _fits(value, plain) and (not bounded or value > 0 or
                                        bound == 'non-negative' and value == 0)
    if get_origin(hint) is Union:
        return any(_fits(value, option, bounded) for option in get_args(hint))
    if get_origin(hint) is Sequence:
        element, = get_args(hint)
        return isinstance(value,
                          Sequence) and not isinstance(value, str) and all(
                              _fits(v, element, bounded) for v in value)
    if isinstance(value, bool) and hint in (int, float):
        return False
    return hint not in _PLAIN or isinstance(value, _PLAIN[hint][0])


def _describe(hint: Any, several: bool = False) -> str:
    if get_origin(hint) is Annotated:
        plain, bound = get_args(hint)
        noun = _PLAIN[plain][1].split()[-1]
        return f'{bound} {noun}s' if several else f'a {bound} {noun}'
    if get_origin(hint) is Union:
        return ' or '.join(
            _describe(option, several) for option in get_args(hint))
    if get_origin(hint) is Sequence:
        element, = get_args(hint)
        text = _describe(element, True)
        if get_origin(element) is Union:
            text = f'({text})'
        return f'{"lists" if several else "a list"} of {text}'
    return _PLAIN[hint][2 if several else 1] if hint in _PLAIN else 'an object'


def check_value(name: str, value: Any, hint: Any) -> None:
    """Check the type of a value.

    Args:
        name (str): What it is called in the message.
        value (Any): The value.
        hint (Any): A type, one of the annotations above, or a ``Union``, an
            ``Optional`` or a ``Sequence`` of some; anything is right for
            other hints.

    Raises:
        TypeError: If the value is of another type.
        ValueError: If it is a number that is not positive, or is negative.
    """
    if not _fits(value, hint):
        error = ValueError if _fits(value, hint, False) else TypeError
        raise error(f'{name} must be {_describe(hint)}, got {short(value)}')


class CheckedArguments:
    """Mixin that checks the arguments of a constructor by its annotations.

    Raises:
        TypeError: If an argument is unknown or of another type.
        ValueError: If a count is not positive.

    Example:
        >>> class Layer(CheckedArguments):
        ...     def __init__(self, width: int = 1):
        ...         self.width = width
        >>> Layer(widht=2)
        Traceback (most recent call last):
        ...
        TypeError: Layer has no argument 'widht' (did you mean 'width'?): ...
        >>> Layer(width='2')
        Traceback (most recent call last):
        ...
        TypeError: width of Layer must be an integer, got '2'
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> 'CheckedArguments':
        accepted = accepted_arguments(cls)  # type: ignore[arg-type]
        places = [
            name for name, parameter in accepted.items()
            if parameter.kind != parameter.KEYWORD_ONLY
        ]
        for name, value in [*zip(places, args), *kwargs.items()]:
            if name not in accepted:
                raise TypeError(unknown_argument(cls, name))
            check_value(f'{name} of {cls.__name__}', value,
                        accepted[name].annotation)
        return super().__new__(cls)
