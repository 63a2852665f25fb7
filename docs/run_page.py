# Copyright (c) mmstepnet contributors. All rights reserved.
"""Run the code of a page and compare what it prints with what it shows.

``bash`` and ``python`` blocks run in their order, in a temporary folder that
looks like a checkout; the Python blocks of a page share their variables. A
``text`` block shows lines that the block before it printed, in order. In it
``...`` stands for anything, and numbers are compared: exactly, or as
``text tolerance=0.1`` says, relative to the one shown. ``--write`` puts the
printed numbers into the page.
"""
import argparse
import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, List

REPO = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r'^```(bash|python|text)(.*)\n([\s\S]*?)^```$', re.M)
NUMBER = re.compile(r'(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)')


def run(language: str, code: str, variables: Dict[str, Any]) -> str:
    """Run a block and return what it printed."""
    if language == 'python':
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(code, 'block', 'exec'), variables)
        return out.getvalue()
    result = subprocess.run(['bash', '-e', '-c', code],
                            stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT,
                            text=True)
    if result.returncode:
        raise RuntimeError(f'{code}failed:\n{result.stdout}')
    return result.stdout


def pattern(line: str) -> 're.Pattern[str]':
    """What matches a shown line, with a group for each of its numbers."""
    number = f'({NUMBER.pattern})'
    return re.compile('.*?'.join(
        number.join(map(re.escape, re.split(NUMBER, part)))
        for part in line.split('...')))


def compare(shown: str, printed: str, tolerance: float) -> List[str]:
    """Compare the lines of a block with what was printed.

    Args:
        shown (str): Text of the block.
        printed (str): What the block before it printed.
        tolerance (float): Largest relative difference of a number.

    Returns:
        list[str]: The lines as they were printed, but for the ``...``.

    Raises:
        ValueError: If a line is missing, or a number is another one.
    """
    rest = iter(printed.splitlines())
    lines = []
    for line in shown.splitlines():
        found = next(filter(None, map(pattern(line).search, rest)), None)
        if found is None:
            raise ValueError(f'the page shows {line!r}, got\n{printed}')
        numbers = iter(found.groups())
        for was, now in zip(NUMBER.findall(line), found.groups()):
            if abs(float(now) - float(was)) > tolerance * abs(float(was)):
                raise ValueError(f'the page shows {line!r}, got {found[0]!r}')
        lines.append(NUMBER.sub(lambda _: next(numbers), line))
    return lines


def run_page(path: Path, write: bool = False) -> None:
    """Run a page in the current folder, see the top of this file."""
    text = path.read_text()
    variables: Dict[str, Any] = {'__name__': '__main__'}
    printed = ''
    changes = []
    for block in BLOCK.finditer(text):
        language, options, code = block.groups()
        if language != 'text':
            printed = run(language, code, variables)
            continue
        tolerance = float(options.partition('tolerance=')[2] or 0)
        lines = compare(code, printed, float('inf') if write else tolerance)
        changes.append((*block.span(3), '\n'.join(lines) + '\n'))
    if write:
        # from behind, so that the places stay right
        for start, end, new in reversed(changes):
            text = text[:start] + new + text[end:]
        path.write_text(text)


def lay_out(folder: Path) -> None:
    """Put into a folder what the code of the pages finds in a checkout."""
    for name in ('tools', 'mmstepnet'):
        (folder / name).symlink_to(REPO / name)
    shutil.copytree(REPO / 'configs', folder / 'configs')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('page', type=Path)
    parser.add_argument(
        '--write',
        action='store_true',
        help='put the printed numbers into the page')
    args = parser.parse_args()
    path = args.page.resolve()
    os.environ['PATH'] = os.pathsep.join(
        [str(Path(sys.executable).parent), os.environ['PATH']])
    with tempfile.TemporaryDirectory() as folder:
        lay_out(Path(folder))
        os.chdir(folder)
        # What the code makes is imported from the folder that it runs in.
        sys.path[0] = folder
        run_page(path, args.write)


if __name__ == '__main__':
    main()
