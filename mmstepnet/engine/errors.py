# Copyright (c) mmstepnet contributors. All rights reserved.
import argparse
import errno
import functools
import os
import pickle
import signal
import sys
import time
import traceback
from typing import Callable, NoReturn, Optional
from unittest.mock import patch
from urllib.error import URLError

from mmengine.runner.base_loop import BaseLoop

from .hints import explain_build, is_ours, where

_USER_ERRORS = (AssertionError, AttributeError, EOFError, ImportError,
                LookupError, OSError, RuntimeError, SyntaxError, TypeError,
                ValueError, pickle.UnpicklingError)


class InputError(ValueError):
    """Wrong input that shows only when it is read, in the middle of a run.

    Tools say it in one line at any time, as it comes from what was given to
    them.
    """


def _raised_in_loop(error: BaseException) -> bool:
    """Whether a training had done an iteration, or another loop had begun."""
    loops = [
        frame.f_locals['self']
        for frame, _ in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_name == 'run'
        and isinstance(frame.f_locals.get('self'), BaseLoop)
    ]
    return any(getattr(loop, '_iter', None) != 0 for loop in loops)


_STORAGE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)


def _is_of_dead_worker(error: BaseException) -> bool:
    """Whether a dataloader got no answer when it fetched what a worker has."""
    if str(error).startswith('DataLoader worker'):
        return True
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return isinstance(error,
                      (ConnectionError, EOFError, FileNotFoundError)) and any(
                          frame.f_code.co_name == '_try_get_data'
                          for frame in frames)


def _fault(error: BaseException) -> Optional[str]:
    """A sentence on what comes from outside, in the middle of a run too."""
    text = ' '.join(str(error).split())
    if isinstance(error, InputError):
        # Behind the traceback of another process, if it comes from one.
        return text.rsplit(f'{type(error).__name__}: ', 1)[-1]
    if isinstance(error, OSError) and error.errno in _STORAGE:
        return (f'a file cannot be written ({text}); when it can, start '
                'again, a training with --resume')
    if _is_of_dead_worker(error):
        return (f'a process that loads data has died ({text}), often because '
                'memory ran out: start again, a training with --resume, '
                'maybe with fewer num_workers')
    return None


def _is_left_alone(error: BaseException) -> bool:
    """Whether another process of the run is gone."""
    return type(error).__name__ in ('DistBackendError', 'DistNetworkError'
                                    ) or 'gloo/transport' in str(error)


def _wait_for_launcher() -> None:
    """Give another process time to say why, and the launcher to end us."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    time.sleep(10)


def _sentence(error: BaseException) -> str:
    text = str(error.args[0] if isinstance(error, KeyError) else error)
    text = ' '.join(text.split()) or 'no message'
    if isinstance(error, URLError):
        return (f'a download failed ({text}); weights on this machine are '
                'named by --cfg-options '
                'model.backbone.init_cfg.checkpoint=PATH')
    told = explain_build(error)
    if told is not None:
        return told
    if isinstance(error, (ValueError, FileNotFoundError)) or is_ours(error):
        return text
    return f'{type(error).__name__}: {text}{where(error)}'


def _refuse_arguments(parser: argparse.ArgumentParser,
                      message: str) -> NoReturn:
    """What parsers do with wrong arguments, without lines of usage."""
    text = ' '.join(message.split())
    parser.exit(2, f'error: {text} ({parser.prog} --help shows the options)\n')


def explain_errors(main: Callable[[], None]) -> Callable[[], None]:
    """Let a tool say in one line why it couldn't start.

    What goes wrong up to the first iteration, while configs are read and
    things are built, is nearly always a mistake in what was asked for: it
    becomes one line on stderr and exit status 1, as what comes from outside
    does at any time: a full disk, a process that has died, a broken image.
    Arguments that don't parse get one line and exit status 2.
    Ctrl-C ends with one line, too, and with exit status 130.
    Other errors keep their traceback once the first iteration is done, and
    everything does where the environment variable ``MMSTEPNET_DEBUG`` is set.

    Args:
        main (Callable): The tool.

    Returns:
        Callable: The same tool.
    """

    @functools.wraps(main)
    def wrapper() -> None:
        try:
            with patch.object(argparse.ArgumentParser, 'error',
                              _refuse_arguments):
                main()
        except (KeyboardInterrupt, *_USER_ERRORS) as error:
            if os.environ.get('MMSTEPNET_DEBUG'):
                raise
            if isinstance(error, KeyboardInterrupt):
                print(
                    'interrupted; a training goes on with --resume',
                    file=sys.stderr)
                sys.exit(128 + signal.SIGINT)
            sentence = _fault(error)
            if sentence is None and _raised_in_loop(error):
                if not _is_left_alone(error):
                    raise
                _wait_for_launcher()
                sentence = ('another process of the run has ended or does '
                            f'not answer ({" ".join(str(error).split())})')
            elif sentence is None:
                if int(os.environ.get('LOCAL_RANK', 0)) > 0:
                    # The first process is about to say the same.
                    _wait_for_launcher()
                sentence = _sentence(error)
            sys.exit(f'error: {sentence} (MMSTEPNET_DEBUG=1 shows the '
                     'traceback)')

    return wrapper
