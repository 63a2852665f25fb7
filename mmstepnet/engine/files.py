# Copyright (c) mmstepnet contributors. All rights reserved.
"""Files that are there as a whole or not at all."""
import os
import os.path as osp
import tempfile
from pathlib import Path
from typing import Optional, Union

from mmengine.fileio import LocalBackend, register_backend

PARTIAL = '.partial'


def write_whole(data: bytes, path: Union[str, Path]) -> None:
    """Write a file so that a reader never sees a part of it.

    The bytes go to ``path + '.partial'`` and to the disk, then the name
    changes. If the process is killed, the old file is still there.

    Args:
        data (bytes): What to write.
        path (str | Path): Where to.

    Raises:
        OSError: If the file can't be written; nothing is left of it then.

    Example:
        >>> folder = tempfile.TemporaryDirectory()
        >>> write_whole(b'all', osp.join(folder.name, 'file'))
        >>> os.listdir(folder.name)
        ['file']
    """
    path = osp.abspath(path)
    os.makedirs(osp.dirname(path), exist_ok=True)
    partial = path + PARTIAL
    try:
        with open(partial, 'wb') as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        if osp.exists(partial):
            os.remove(partial)
        raise OSError(error.errno, error.strerror, path) from None
    _sync_folder(osp.dirname(path))


def _sync_folder(path: str) -> None:
    """Bring a changed name to the disk, where the system can."""
    if os.name == 'posix':
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        except OSError:
            pass  # Some network file systems know no such thing.
        finally:
            os.close(folder)


class WholeFileBackend(LocalBackend):
    """MMEngine's local files, written by :func:`write_whole`.

    Registered as ``backend_args=dict(backend='mmstepnet.whole')``.
    """

    def put(self, obj: bytes, filepath: Union[str, Path]) -> None:
        """Write bytes.

        Args:
            obj (bytes): What to write.
            filepath (str | Path): Where to.
        """
        write_whole(obj, filepath)


register_backend('mmstepnet.whole', WholeFileBackend, force=True)


def remove_partial(folder: str) -> None:
    """Remove what a killed process left in a folder half written.

    Args:
        folder (str): The folder.
    """
    for path in Path(folder).glob(f'*{PARTIAL}'):
        path.unlink(missing_ok=True)


def check_writable(folder: str) -> None:
    """Check that files can be written in the work dir.

    Args:
        folder (str): The folder, which is made if there is none.

    Raises:
        OSError: If not; says why.
    """
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(4096))
    except OSError as error:
        raise OSError(
            error.errno, f'the work dir {folder!r} takes no files: '
            f'{error.strerror}') from None


def check_out(path: Optional[str]) -> None:
    """Check that a file can be made, before the work and not behind it.

    Args:
        path (str, optional): The file.

    Raises:
        FileNotFoundError: If its folder doesn't exist.
        IsADirectoryError: If it is a folder itself.
    """
    if path is None:
        return
    folder = osp.dirname(osp.abspath(path))
    if not osp.isdir(folder):
        raise FileNotFoundError(f'{path!r} cannot be written: there is no '
                                f'folder {folder!r}')
    if osp.isdir(path):
        raise IsADirectoryError(f'{path!r} cannot be written: it is a folder')
