# Copyright (c) mmstepnet contributors. All rights reserved.
"""``torch.load(..., weights_only=True)`` for more than weights.

Written so that it works from PyTorch 2.4 on, the first that can be told what
else to allow, and for files of NumPy 1 and 2 under either.
"""
import codecs
import re
from typing import Any, Callable, Iterable, List

import numpy as np
import torch


def known_as(name: str, function: Callable) -> Callable:
    """A function that takes the place of the one with this name in a file.

    Args:
        name (str): Module and name.
        function (Callable): What to call instead.

    Returns:
        Callable: To be given to :func:`load_safely`.

    Example:
        >>> known_as('builtins.getattr', max).__module__
        'builtins'
    """

    def alias(*args):
        return function(*args)

    alias.__module__, _, alias.__name__ = name.rpartition('.')
    alias.__qualname__ = alias.__name__
    return alias


def numpy_globals() -> list:
    """What arrays and numbers of NumPy are made of in a file.

    With ``codecs.encode``, in which ``torch.save`` wraps their bytes.
    """
    functions: List[Any] = [
        np.empty(0).__reduce__()[0],
        np.float64(0).__reduce__()[0]
    ]
    dtypes = [np.int64, np.float32, np.float64, np.uint32, np.bool_]
    return [np.ndarray, np.dtype, codecs.encode] + [
        type(np.dtype(x)) for x in dtypes
    ] + [
        known_as(f'numpy.{core}.multiarray.{function.__name__}', function)
        for core in ('core', '_core') for function in functions
    ]


def load_safely(path: str, allowed: Iterable[Callable]) -> object:
    """Load a file on the CPU, and refuse what is not allowed in it.

    Args:
        path (str): A file that ``torch.save`` wrote.
        allowed (Iterable[Callable]): Classes and functions that it may refer
            to, besides those of weights.

    Returns:
        object: What the file holds.

    Raises:
        pickle.UnpicklingError: If it refers to anything else.
    """
    serialization = torch.serialization
    before = list(serialization.get_safe_globals())
    serialization.add_safe_globals(list(allowed))
    try:
        return torch.load(path, map_location='cpu', weights_only=True)
    finally:
        serialization.clear_safe_globals()
        serialization.add_safe_globals(before)


def refused_globals(error: Exception) -> List[str]:
    """What :func:`load_safely` met first and refused, by its error."""
    return re.findall(r'GLOBAL (\S+) (?:was not an|whose)', str(error))
