# Copyright (c) mmstepnet contributors. All rights reserved.
"""Long work in pieces that several processes share and a stop doesn't lose."""
import json
import os
import os.path as osp
import time
from typing import Any, Callable, Dict, Iterable, List, Sequence

from mmengine.dist import (all_gather_object, broadcast_object_list, get_rank,
                           get_world_size, is_main_process)
from mmengine.logging import print_log

#: Seconds between two lines of progress.
LOG_INTERVAL = 10.


def map_pieces(function: Callable[[Any], Any],
               num_pieces: int,
               folder: str,
               *,
               settings: Dict[str, Any],
               read: Callable[[Sequence[int]], Iterable[Any]] = iter,
               logger: Any = 'current') -> List[Any]:
    """Apply a function to numbered pieces of work, and keep what is done.

    The processes of the default group share the pieces. Each result is a line
    of JSON in ``folder`` as soon as it is there, so a run that was stopped, at
    any moment and with any number of processes, goes on where it was.

    Args:
        function (Callable): Work on one piece; its result has to survive
            JSON.
        num_pieces (int): Number of pieces.
        folder (str): Where the results are kept. Processes on several
            machines need a common one to be resumed.
        settings (dict): What the results depend on, as JSON takes it. A
            folder that was begun with other settings is refused.
        read (Callable): Gives the inputs of ``function`` for the numbers of
            some pieces, in their order. Defaults to the numbers themselves.
        logger (Logger | str): Where progress goes, see MMEngine's
            ``print_log``. Defaults to ``'current'``.

    Returns:
        list: The results of all pieces in their order, in every process.

    Raises:
        ValueError: If ``folder`` was begun with other settings.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     map_pieces(lambda i: i * i, 4, folder, settings={})
        [0, 1, 4, 9]
    """
    done = [None]
    if is_main_process():
        done = [_begin(folder, dict(settings, num_pieces=num_pieces))]
    broadcast_object_list(done)
    results = _checked(done[0])
    todo = [i for i in range(num_pieces) if i not in results]
    if results:
        print_log(
            f'{folder}: {len(results)} of {num_pieces} pieces are done '
            'already',
            logger=logger)
    mine = todo[get_rank()::get_world_size()]
    try:
        results.update(_work(function, mine, read, folder, logger))
    except KeyboardInterrupt:
        print_log(
            f'stopped; the same run goes on from what is in {folder}',
            logger=logger)
        raise
    for others in all_gather_object(results):
        results.update(others)
    return [results[i] for i in range(num_pieces)]


def _checked(done: Any) -> Dict[int, Any]:
    """The results, or the error that the first process found."""
    if isinstance(done, Exception):
        raise done
    return done


def _begin(folder: str, settings: Dict[str, Any]) -> Any:
    settings = json.loads(json.dumps(settings))
    os.makedirs(folder, exist_ok=True)
    path = osp.join(folder, 'settings.json')
    if not osp.exists(path):
        with open(path + '.tmp', 'w', encoding='utf-8') as file:
            json.dump(settings, file, indent=1)
        os.replace(path + '.tmp', path)
        return {}
    with open(path, encoding='utf-8') as file:
        earlier = json.load(file)
    changed = [
        f'{key}={earlier.get(key)!r} (now {settings.get(key)!r})'
        for key in sorted({*earlier, *settings})
        if earlier.get(key) != settings.get(key)
    ]
    if changed:
        return ValueError(
            f'{folder!r} holds results of other settings: '
            f'{", ".join(changed)}; delete it or choose another --work-dir')
    return _read_results(folder)


def _read_results(folder: str) -> Dict[int, Any]:
    results = {}
    for name in sorted(os.listdir(folder)):
        if not name.endswith('.jsonl'):
            continue
        with open(osp.join(folder, name), encoding='utf-8') as file:
            for line in file:
                # A process that was killed while it wrote leaves half a line.
                if line.endswith('\n'):
                    piece, result = json.loads(line)
                    results[piece] = result
    return results


def _work(function: Callable[[Any], Any], mine: Sequence[int],
          read: Callable[[Sequence[int]], Iterable[Any]], folder: str,
          logger: Any) -> Dict[int, Any]:
    if not mine:
        return {}
    results = {}
    start = last = time.monotonic()
    path = osp.join(folder, f'rank{get_rank()}.jsonl')
    _drop_half_line(path)
    with open(path, 'a', encoding='utf-8') as file:
        for piece, item in zip(mine, read(mine)):
            # through JSON, so that a resumed run gives the very same
            line = json.dumps([piece, function(item)])
            results[piece] = json.loads(line)[1]
            file.write(line + '\n')
            file.flush()
            now = time.monotonic()
            if now - last > LOG_INTERVAL or len(results) == len(mine):
                last = now
                left = (now - start) / len(results) * (
                    len(mine) - len(results))
                print_log(
                    f'{osp.basename(folder)}: {len(results)}/{len(mine)} '
                    f'pieces of this process, about {left:.0f} s left',
                    logger=logger)
    return results


def _drop_half_line(path: str) -> None:
    if not osp.exists(path):
        return
    with open(path, 'rb+') as file:
        content = file.read()
        file.truncate(content.rfind(b'\n') + 1)
