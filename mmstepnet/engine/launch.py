# Copyright (c) mmstepnet contributors. All rights reserved.
"""``torchrun`` as the ``dist_*.sh`` scripts start it.

Usage::

    python -m mmstepnet.engine.launch PROCESSES SCRIPT [ARGUMENTS]

``NNODES``, ``NODE_RANK``, ``MASTER_ADDR`` and ``PORT`` have the meaning that
they have in MMDetection, except that on one node without ``PORT`` a free port
is taken.
"""
import logging
import os
import signal
import sys
from typing import Any, Dict, List, Mapping, Sequence, Union

import torch
from torch.distributed.elastic.multiprocessing import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.run import parse_args, run


def rendezvous_options(env: Mapping[str, str]) -> List[str]:
    """Options of ``torchrun`` that say how the processes meet.

    Args:
        env (Mapping[str, str]): The environment.

    Returns:
        list[str]: The options.

    Example:
        >>> rendezvous_options({})
        ['--standalone', '--local-addr=127.0.0.1']
        >>> rendezvous_options({'PORT': '29501'})[2:]
        ['--master-addr=127.0.0.1', '--master-port=29501']
    """
    nodes = env.get('NNODES', '1')
    if nodes == '1' and 'PORT' not in env:
        return ['--standalone', '--local-addr=127.0.0.1']
    return [
        f'--nnodes={nodes}',
        f'--node-rank={env.get("NODE_RANK", "0")}',
        f'--master-addr={env.get("MASTER_ADDR", "127.0.0.1")}',
        f'--master-port={env.get("PORT", "29500")}',
    ]


def check_processes(processes: Union[int, str], devices: int) -> int:
    """Check the number of processes of this machine.

    Args:
        processes (int | str): As given on the command line.
        devices (int): CUDA devices of this machine.

    Returns:
        int: The number of processes.

    Raises:
        ValueError: If it is no positive number, or more than ``devices``
            where there are any.

    Example:
        >>> check_processes('2', devices=0)
        2
    """
    if not str(processes).isdigit() or int(processes) < 1:
        raise ValueError('expected a number of GPUs (or of processes, without '
                         f'a GPU) of at least 1, got {processes!r}')
    if 0 < devices < int(processes):
        visible = os.environ.get('CUDA_VISIBLE_DEVICES', 'not set')
        raise ValueError(
            f'{processes} GPUs asked for, but PyTorch sees {devices} '
            f'(CUDA_VISIBLE_DEVICES is {visible})')
    return int(processes)


def cpu_threads(processes: int) -> Dict[str, str]:
    """Share the cores of this machine among the processes.

    Args:
        processes (int): Number of processes.

    Returns:
        dict[str, str]: The variable of the environment to set.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(
        os, 'sched_getaffinity') else os.cpu_count() or 1
    return {'OMP_NUM_THREADS': str(max(1, cores // processes))}


def _pass_on(signum: int, frame: Any) -> None:
    raise SignalException('', signal.Signals(signum))


def exit_status(error: ChildFailedError) -> Union[int, str]:
    """What the launcher ends with after a process has failed.

    Args:
        error (ChildFailedError): What ``torchrun`` raises.

    Returns:
        int | str: The exit status of the process, which has said why, or a
        sentence if a signal has ended it.
    """
    failures = sorted(
        error.failures.items(),
        # those that torchrun has ended itself come last
        key=lambda item:
        (item[1].exitcode == -signal.SIGTERM, item[1].timestamp))
    rank, failure = failures[0]
    if failure.exitcode > 0:
        return failure.exitcode
    hint = (', often the system out of memory'
            if failure.exitcode == -signal.SIGKILL else '')
    return (f'error: process {rank} of the run was ended by '
            f'{failure.signal_name()}{hint}; the others have been ended, and '
            'a training goes on with --resume')


def main(argv: Sequence[str]) -> None:
    """Run a script in several processes and end with its exit status.

    A signal that ends the run is passed on to the processes. Those that have
    not ended 30 seconds later are killed.
    """
    devices = torch.cuda.device_count()
    try:
        processes = check_processes(argv[0], devices)
    except ValueError as error:
        sys.exit(f'error: {error}')
    if not devices:
        os.environ.update({**cpu_threads(processes), **os.environ})
    args = parse_args([
        *rendezvous_options(os.environ), f'--nproc-per-node={processes}',
        *argv[1:]
    ])
    if hasattr(signal, 'SIGUSR1'):
        signal.signal(signal.SIGUSR1, _pass_on)
    # Its reports on processes would bury what they have said.
    logging.getLogger('torch.distributed.elastic').setLevel(logging.CRITICAL)
    try:
        run(args)
    except ChildFailedError as error:
        sys.exit(exit_status(error))
    except SignalException as error:
        sys.exit(128 + error.sigval)


if __name__ == '__main__':
    main(sys.argv[1:])
