# Copyright (c) mmstepnet contributors. All rights reserved.
"""What quickstart.sh does after the install, from the repository's root.

Writes the digits, pre-trains the classifier, trains the detector on its
backbone, and draws the report. What an earlier run finished is reused, and a
training that was interrupted goes on from its last checkpoint.
"""
import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Iterator, List, NamedTuple, Optional, Sequence

import torch
from mmengine.config import Config
from report import write_report

REPO = Path(__file__).parents[2]
CONFIGS = Path('configs/quickstart')
DATA = Path('data/digits')
WORK_DIR = Path('work_dirs/quickstart')
#: What of a log line is shown, besides the epoch and iteration.
SHOWN = ('eta', 'loss', 'accuracy/top1', 'coco/bbox_mAP', 'coco/bbox_mAP_50',
         'tns/total')
#: The message of an exception, or that of a tool.
ERROR = re.compile(r'\berror: .+|\b\w*(Error|Exception): .+')


class Failed(Exception):
    """A step that failed, with the sentence that says why."""


class Steps:
    """Prints which step runs and how long it all took so far."""

    def __init__(self, began: float, total: int) -> None:
        self.began = began
        self.total = total
        # The install was the first one.
        self.taken = {'install': time.time() - began}

    def run(self, name: str, function, *args):
        """Run a step and note how long it took."""
        number = len(self.taken) + 1
        print(f'[{number}/{self.total}] {name} ({self.clock()} so far)')
        start = time.time()
        result = function(*args)
        self.taken[name] = time.time() - start
        return result

    def clock(self) -> str:
        """Time since the start, as minutes and seconds."""
        minutes, seconds = divmod(int(time.time() - self.began), 60)
        return f'{minutes}:{seconds:02d}'


def progress(line: str) -> Optional[str]:
    """What is shown of a line of MMEngine's log, if anything.

    Example:
        >>> progress('12/01 - INFO - Epoch(train) [1][ 20/100]  lr: 1e-3  '
        ...          'eta: 0:01:00  loss: 1.5  loss_cls: 0.7')
        'Epoch(train) [1][20/100]  eta 0:01:00  loss 1.5'
    """
    match = re.search(r'(Epoch\(\w+\)) (\[\d+\]\[.*?\])', line)
    if not match:
        return None
    values = dict(re.findall(r'(\S+): (\S+)', line[match.end():]))
    shown = [f'{key} {values[key]}' for key in SHOWN if key in values]
    return '  '.join([f'{match[1]} {match[2].replace(" ", "")}', *shown])


def run_logged(command: Sequence, log: Path) -> None:
    """Run a command with its output in a file and its progress shown."""
    with log.open('a') as file, subprocess.Popen(
        [str(part) for part in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={
                **os.environ, 'PYTHON': sys.executable
            },
            text=True,
            errors='replace') as process:
        last, error = 'no output', None
        try:
            for line in process.stdout:
                file.write(line)
                last = line.strip() or last
                error = ERROR.search(line) or error
                shown = progress(line)
                if shown:
                    print(f'    {shown}')
        except KeyboardInterrupt:
            process.terminate()
            raise
    if process.returncode:
        raise Failed(f'{command[1]} ended with status {process.returncode}: '
                     f'{error[0] if error else last} (see {log})')


def build_data() -> None:
    """Write the data sets."""
    script = REPO / 'tools' / 'dataset_converters' / 'digits_scenes.py'
    result = subprocess.run([sys.executable, script, '--out-dir', DATA],
                            capture_output=True,
                            text=True)
    output = (result.stdout + result.stderr).strip() or 'no output'
    if result.returncode:
        raise Failed(output.splitlines()[-1])
    print(f'    {output.splitlines()[-1]}')


class Training(NamedTuple):
    """A training of the quickstart, and where it leaves what."""
    config: Path
    work_dir: Path
    #: Files whose change makes what is there obsolete.
    inputs: List[Path]

    def load(self) -> Config:
        """Its config."""
        return Config.fromfile(self.config)

    @property
    def checkpoint(self) -> Path:
        """The last checkpoint."""
        epochs = self.load().train_cfg.max_epochs
        return self.work_dir / f'epoch_{epochs}.pth'

    def has_checkpoint(self) -> bool:
        """Whether there is one to go on from."""
        pointer = self.work_dir / 'last_checkpoint'
        return pointer.exists() and Path(pointer.read_text().strip()).exists()

    def fingerprint(self) -> str:
        """Changes where the config or an input does."""
        digest = hashlib.sha256(
            json.dumps(self.load().to_dict(), default=str,
                       sort_keys=True).encode())
        for path in self.inputs:
            digest.update(path.read_bytes())
        return digest.hexdigest()


def process_options(training: Training) -> Iterator[str]:
    """The number of processes, and options that keep the total batch.

    One for each of up to two GPUs, or two on the CPU.
    """
    gpus = min(torch.cuda.device_count(), 2)
    yield str(gpus or 2)
    if gpus == 1:
        size = training.load().train_dataloader.batch_size
        yield from ('--cfg-options', f'train_dataloader.batch_size={2 * size}')


def train(training: Training) -> bool:
    """Train, go on, or reuse; whether anything was left to do."""
    record = training.work_dir / 'fingerprint'
    fingerprint = training.fingerprint()
    if (record.exists() and record.read_text() == fingerprint
            and training.has_checkpoint()):
        if (training.work_dir / 'finished').exists():
            print(f'    {training.work_dir} is trained already')
            return False
    else:
        shutil.rmtree(training.work_dir, ignore_errors=True)
        training.work_dir.mkdir(parents=True)
        record.write_text(fingerprint)
    processes, *options = process_options(training)
    run_logged([
        'bash', REPO / 'tools' / 'dist_train.sh', training.config, processes,
        '--work-dir', training.work_dir, '--resume', *options
    ], training.work_dir / 'output.log')
    (training.work_dir / 'finished').touch()
    return True


def run(steps: Steps) -> None:
    """Run the steps after the install."""
    classifier = Training(CONFIGS / 'resnet34_stepnet_digits.py',
                          WORK_DIR / 'classifier', [DATA / 'settings.json'])
    detector = Training(CONFIGS / 'faster_rcnn_r34_stepnet_digits.py',
                        WORK_DIR / 'detector',
                        [DATA / 'settings.json', classifier.checkpoint])
    steps.run('write the digits', build_data)
    steps.run('pre-train the classifier', train, classifier)
    steps.run('train the detector', train, detector)
    summary = steps.run('draw the report', write_report, WORK_DIR, DATA,
                        detector.config, detector.checkpoint, steps.taken)
    print(f'done in {steps.clock()}\n\n{summary}')


def main() -> None:
    """Run it all; end with a sentence if a step fails."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument(
        '--began', type=float, default=time.time(), help='when, in seconds')
    sys.stdout.reconfigure(line_buffering=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    steps = Steps(parser.parse_args().began, total=5)
    os.chdir(REPO)
    try:
        run(steps)
    except Failed as error:
        sys.exit(f'error: step {len(steps.taken) + 1} of {steps.total} '
                 f'failed: {error}')
    except KeyboardInterrupt:
        sys.exit('\ninterrupted; the same command goes on from here')


if __name__ == '__main__':
    main()
