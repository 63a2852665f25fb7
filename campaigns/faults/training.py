# Copyright (c) mmstepnet contributors. All rights reserved.
"""Trainings in processes that can be watched and killed."""
import importlib
import os
import runpy
import signal
import sys
import time
from pathlib import Path
from typing import Callable, List, Optional, Sequence

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[1]


def preload(configs: Sequence[str]) -> None:
    """Import what trainings import, so that one starts in a second.

    Args:
        configs (Sequence[str]): Names of their configs.
    """
    os.environ['OMP_NUM_THREADS'] = '1'
    torch = importlib.import_module('torch')
    torch.set_num_threads(1)
    names = ['mmstepnet.engine']
    if 'classifier' in configs:
        names.append('mmpretrain.models')
    if 'detector' in configs:
        names += ['mmdet.engine', 'mmdet.evaluation', 'mmdet.models']
    for name in names:
        importlib.import_module(name)
    # It formats the config for every checkpoint, which takes longer than the
    # epoch before.
    yapf = importlib.import_module('yapf.yapflib.yapf_api')
    setattr(yapf, 'FormatCode', lambda text, **kwargs: (text, True))


class Training:
    """A run of ``tools/train.py``.

    The process is forked from this one and leads a session of its own.

    Args:
        root (Path): Folder that the training runs in, with the data.
        name (str): Name of its work dir.
        config (str): Name of a config of this folder.
        options (tuple[str]): Arguments of the tool.
        setup (Callable, optional): Called in the process before the tool.
    """

    def __init__(self,
                 root: Path,
                 name: str,
                 config: str,
                 *options: str,
                 setup: Optional[Callable] = None) -> None:
        self.work_dir = root / name
        outputs = root / 'outputs'
        outputs.mkdir(exist_ok=True)
        self.output = outputs / f'{len(list(outputs.iterdir()))}.txt'
        self.arguments = [
            str(HERE / f'{config}.py'), '--work-dir',
            str(self.work_dir), *options
        ]
        self.exit_code: Optional[int] = None
        sys.stdout.flush()
        self.pid = os.fork()
        if not self.pid:
            self._run(root, setup)

    def _run(self, root: Path, setup: Optional[Callable]) -> None:
        status = 1
        try:
            os.setsid()
            output = os.open(self.output,
                             os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.chdir(root)
            if setup is not None:
                setup()
            sys.argv = ['train.py', *self.arguments]
            runpy.run_path(str(REPO / 'tools' / 'train.py'), {}, '__main__')
            status = 0
        except SystemExit as end:
            if isinstance(end.code, str):
                print(end.code, file=sys.stderr)
            else:
                status = end.code or 0
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def log(self) -> str:
        """What the process has printed."""
        return self.output.read_text() if self.output.exists() else ''

    def is_running(self) -> bool:
        """Whether the process has not ended."""
        if self.exit_code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.exit_code = os.waitstatus_to_exitcode(status)
        return self.exit_code is None

    def wait(self, seconds: float = 900) -> int:
        """Wait for the end.

        Args:
            seconds (float): Time limit.

        Returns:
            int: The exit status, or minus the number of the signal.

        Raises:
            TimeoutError: If it has not ended; then it is killed.
        """
        self.until(lambda: False, seconds)
        if self.is_running():
            self.kill()
            raise TimeoutError(f'no end within {seconds} s: {self.log()}')
        return self.exit_code

    def until(self,
              condition: Callable[[], bool],
              seconds: float = 900,
              pause: float = 0.002) -> bool:
        """Wait until a condition holds; False if the process ends before."""
        end = time.monotonic() + seconds
        while self.is_running() and time.monotonic() < end:
            if condition():
                return True
            time.sleep(pause)
        return False

    def send(self, signum: int) -> None:
        """Send a signal to the process alone."""
        os.kill(self.pid, signum)

    def kill(self) -> bool:
        """End the process by SIGKILL; False if it has ended before."""
        if not self.is_running():
            return False
        self.send(signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        self.exit_code = os.waitstatus_to_exitcode(status)
        return self.exit_code == -signal.SIGKILL

    def processes(self) -> List[int]:
        """Processes of the session that are alive."""
        return session(self.pid)


def session(leader: int) -> List[int]:
    """Processes of a session that are alive.

    Args:
        leader (int): The process that began it.
    """
    alive = []
    for entry in Path('/proc').glob('[0-9]*'):
        try:
            fields = (entry / 'stat').read_text().rsplit(')', 1)[1].split()
        except OSError:
            continue  # it has just ended
        if int(fields[3]) == leader and fields[0] != 'Z':
            alive.append(int(entry.name))
    return alive


def wait_for_none(training: Training, seconds: float) -> float:
    """Wait until no process of a training is left.

    Args:
        training (Training): The training.
        seconds (float): Time limit.

    Returns:
        float: Seconds that it took.

    Raises:
        TimeoutError: If some are left.
    """
    start = time.monotonic()
    while training.processes():
        if time.monotonic() - start > seconds:
            raise TimeoutError(f'{training.processes()} are alive {seconds} s '
                               'after the end')
        time.sleep(0.05)
    return time.monotonic() - start
