# Copyright (c) mmstepnet contributors. All rights reserved.
import functools
import os
import pickle
import sys
import time
import traceback
from typing import Callable
from urllib.error import URLError

from mmengine.runner.base_loop import BaseLoop

_USER_ERRORS = (AssertionError, ImportError, KeyError, OSError, RuntimeError,
                SyntaxError, TypeError, ValueError, pickle.UnpicklingError)


def _raised_in_loop(error: BaseException) -> bool:
    """Whether training, validation or testing had begun."""
    return any(frame.f_code.co_name == 'run'
               and isinstance(frame.f_locals.get('self'), BaseLoop)
               for frame, _ in traceback.walk_tb(error.__traceback__))


def _sentence(error: BaseException) -> str:
    text = str(error.args[0] if isinstance(error, KeyError) else error)
    text = ' '.join(text.split()) or 'no message'
    if isinstance(error, URLError):
        return (f'a download failed ({text}); weights on this machine are '
                'named by --cfg-options '
                'model.backbone.init_cfg.checkpoint=PATH')
    if isinstance(error, (ValueError, FileNotFoundError)):
        return text
    return f'{type(error).__name__}: {text}'


def explain_errors(main: Callable[[], None]) -> Callable[[], None]:
    """Let a tool say in one line why it couldn't start.

    What goes wrong before the first iteration, while configs are read and
    things are built, is nearly always a mistake in what was asked for: it
    becomes one line on stderr and exit status 1. What goes wrong later keeps
    its traceback, and so does everything where the environment variable
    ``MMSTEPNET_DEBUG`` is set.

    Args:
        main (Callable): The tool.

    Returns:
        Callable: The same tool.
    """

    @functools.wraps(main)
    def wrapper() -> None:
        try:
            main()
        except _USER_ERRORS as error:
            if os.environ.get('MMSTEPNET_DEBUG') or _raised_in_loop(error):
                raise
            if int(os.environ.get('LOCAL_RANK', 0)) > 0:
                # The first process is about to say the same, and the launcher
                # then ends this one.
                time.sleep(10)
            sys.exit(f'error: {_sentence(error)} (MMSTEPNET_DEBUG=1 shows '
                     'the traceback)')

    return wrapper
