# Copyright (c) mmstepnet contributors. All rights reserved.
"""Processes that are started once and run functions with gloo between them."""
import multiprocessing
import os
import tempfile
import traceback


def _serve(rank, world_size, store, connection):
    os.environ['OMP_NUM_THREADS'] = '1'
    import torch
    import torch.distributed as dist
    from mmengine.registry import DefaultScope
    torch.set_num_threads(1)
    dist.init_process_group(
        'gloo',
        init_method=f'file://{store}',
        rank=rank,
        world_size=world_size)
    while True:
        function, args = connection.recv()
        # a runner that ran here before has left its scope
        DefaultScope._instance_dict.clear()
        try:
            connection.send((True, function(rank, world_size, *args)))
        except BaseException:
            connection.send((False, traceback.format_exc()))


class GlooPool:
    """``run(fn, *args)`` calls ``fn(rank, world_size, *args)`` in every one.

    ``fn`` must be at the top of a module; what it returns is pickled.
    """

    def __init__(self, world_size):
        context = multiprocessing.get_context('spawn')
        self._folder = tempfile.TemporaryDirectory()
        store = os.path.join(self._folder.name, 'store')
        self._connections, self._processes = [], []
        for rank in range(world_size):
            ours, theirs = context.Pipe()
            process = context.Process(
                target=_serve,
                args=(rank, world_size, store, theirs),
                daemon=True)
            process.start()
            self._connections.append(ours)
            self._processes.append(process)

    def run(self, function, *args, timeout=120):
        for connection in self._connections:
            connection.send((function, args))
        results = []
        for rank, connection in enumerate(self._connections):
            if not connection.poll(timeout):
                raise TimeoutError(f'process {rank} gave no answer in '
                                   f'{timeout} s')
            is_fine, result = connection.recv()
            if not is_fine:
                raise RuntimeError(f'process {rank} failed:\n{result}')
            results.append(result)
        return results

    def close(self):
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join()
        self._folder.cleanup()
