# Copyright (c) mmstepnet contributors. All rights reserved.
"""Cases, how they are run, and the rules that they are judged by."""
import contextlib
import gc
import importlib.util
import io
import logging
import multiprocessing
import os
import subprocess
import sys
import traceback
from collections import OrderedDict
from functools import lru_cache
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Tuple, Union
from unittest import mock

import torch
from mmengine.config import Config
from mmengine.logging import MessageHub, MMLogger
from mmengine.registry import DefaultScope
from mmengine.visualization import Visualizer

REPO = Path(__file__).parents[2]
ERRORS = (FileNotFoundError, KeyError, TypeError, ValueError)
LONGEST = 900
LEFT_OVER = ('.pth', '.onnx', '.partial', '.tmp', '.pkl', '.csv')


class Outcome(NamedTuple):
    """How a case ended: exit status or None, its message, its log."""
    code: Union[int, None]
    message: str
    log: str = ''


class Case(NamedTuple):
    """A broken input.

    Attributes:
        area (str): What kind of input it is.
        name (str): What is broken.
        run (Callable[[Path], Outcome]): Feeds it in, in a workspace.
        words (tuple[str]): What the message, or the log, must say.
        ends (str): 'refused', 'skipped' (goes on and counts) or 'works'.
        fast (bool): Whether the test suite runs it.
    """
    area: str
    name: str
    run: Callable[[Path], Outcome]
    words: Tuple[str, ...] = ()
    ends: str = 'refused'
    fast: bool = True


@lru_cache(maxsize=None)
def load_tool(name: str) -> Any:
    """A tool as a module."""
    spec = importlib.util.spec_from_file_location(
        f'campaign_{name.replace("/", "_")}', REPO / 'tools' / f'{name}.py')
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


@contextlib.contextmanager
def listening():
    """What is written to the terminal and to the log meanwhile."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    logger = MMLogger.get_current_instance()
    make = MMLogger.__init__

    def init(self, *args, **kwargs):
        make(self, *args, **kwargs)
        self.addHandler(handler)

    others, logger.handlers = logger.handlers, [handler]
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text), \
            mock.patch.object(MMLogger, '__init__', init):
        try:
            yield text
        finally:
            logger.handlers = others


@contextlib.contextmanager
def quick():
    """Leave out of the logs what takes long and is no part of a case."""
    with mock.patch.object(Config, 'pretty_text', ''), \
            mock.patch('mmengine.runner.runner.collect_env', dict):
        yield


@contextlib.contextmanager
def fresh(root: Path, argv: List[str]):
    """The state of a new process, as far as tools look at it."""
    here = os.getcwd()
    os.chdir(root)
    threads = torch.get_num_threads()
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(mock.patch.object(sys, 'argv', argv))
            stack.enter_context(mock.patch.dict(os.environ, LOCAL_RANK='0'))
            os.environ.pop('MMSTEPNET_DEBUG', None)
            # Runs that begin in the same second would share them.
            for kind in (MessageHub, MMLogger, Visualizer):
                stack.enter_context(
                    mock.patch.object(kind, '_instance_dict', OrderedDict()))
            yield
    finally:
        os.chdir(here)
        DefaultScope._instance_dict.clear()
        torch.set_num_threads(threads)


def tool(name: str, *args: Any) -> Callable[[Path], Outcome]:
    """Run a tool in this process, in the workspace."""

    def run(root: Path) -> Outcome:
        argv = [f'{name}.py', *map(str, args)]
        with fresh(root, argv), quick(), listening() as text:
            try:
                load_tool(name).main()
            except SystemExit as error:
                if isinstance(error.code, str):
                    return Outcome(1, error.code, text.getvalue())
                last = text.getvalue().strip().splitlines()[-1:]
                return Outcome(error.code or 0, ''.join(last), text.getvalue())
            except BaseException:
                return Outcome(None, traceback.format_exc(), text.getvalue())
        return Outcome(0, '', text.getvalue())

    return run


def process(name: str, *args: Any) -> Callable[[Path], Outcome]:
    """Run a tool in a process of its own."""

    def run(root: Path) -> Outcome:
        result = subprocess.run([
            sys.executable,
            str(REPO / 'tools' / f'{name}.py'), *map(str, args)
        ],
                                cwd=root,
                                env=dict(os.environ, PYTHONPATH=str(REPO)),
                                capture_output=True,
                                text=True,
                                timeout=1800)
        errors = result.stderr.strip().splitlines()
        told = [line for line in errors if line.startswith('error: ')]
        message = result.stderr if 'Traceback' in result.stderr else ''.join(
            told or errors[-1:])
        return Outcome(result.returncode, message, result.stdout)

    return run


def call(function: Callable[..., Any], *args: Any,
         **kwargs: Any) -> Callable[[Path], Outcome]:
    """Call a function in the workspace."""

    def run(root: Path) -> Outcome:
        with fresh(root, ['']), listening() as text:
            try:
                function(*args, **kwargs)
            except ERRORS as error:
                told = error.args[0] if isinstance(error, KeyError) else error
                return Outcome(1, str(told), text.getvalue())
            except BaseException:
                return Outcome(None, traceback.format_exc(), text.getvalue())
        return Outcome(0, '', text.getvalue())

    return run


def snapshot(root: Path) -> Dict[str, Tuple[int, int]]:
    """Size and time of every file, and of the sentinel of foreign code."""
    return {
        str(path.relative_to(root)):
        (path.stat().st_size, path.stat().st_mtime_ns)
        for path in root.rglob('*') if path.is_file()
    }


def judge(case: Case, outcome: Outcome, before: dict,
          after: dict) -> List[str]:
    """The rules that a case breaks."""
    wrong = []
    refused = case.ends == 'refused'
    said = outcome.message if refused else outcome.log
    if outcome.code is None or 'Traceback' in outcome.message:
        return [f'ends in a traceback: {outcome.message[-600:]}']
    if bool(outcome.code) != refused:
        wrong.append(f'exit status {outcome.code}: {outcome.message}')
    if refused and len(outcome.message.strip().splitlines()) != 1:
        wrong.append('not one line')
    if refused and len(outcome.message) > LONGEST:
        wrong.append(f'{len(outcome.message)} letters long')
    wrong += [
        f'does not say {word!r}' for word in case.words if word not in said
    ]
    changed = [
        name for name in before
        if not name.startswith('runs/') and after.get(name) != before[name]
    ]
    if changed:
        wrong.append(f'changed or lost {changed}')
    left = [
        name for name in after
        if name not in before and name.endswith(LEFT_OVER)
    ]
    if refused and left:
        wrong.append(f'left behind {left}')
    if 'code_has_run' in after:
        wrong.append('ran code of the input')
    return wrong


def run_case(case: Case, root: Path) -> Tuple[Outcome, List[str]]:
    """Run a case, judge it, and remove the files that it made."""
    before, running = snapshot(root), set(multiprocessing.active_children())
    outcome = case.run(root)
    if set(multiprocessing.active_children()) - running:
        gc.collect()  # what the end of the process would end
    after = snapshot(root)
    for name in after.keys() - before.keys():
        (root / name).unlink()
    wrong = judge(case, outcome, before, after)
    if set(multiprocessing.active_children()) - running:
        wrong.append('left a process running')
    return outcome, wrong
