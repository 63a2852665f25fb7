# Copyright (c) mmstepnet contributors. All rights reserved.
"""The pages of the API reference, from the modules that there are."""
import inspect
import pkgutil
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Dict, Iterator, List

import mmstepnet

# A constant with a comment that Sphinx reads.
CONSTANT = re.compile(r'^#: .*\n(?:#: .*\n)*(\w+)\b.* = ', re.M)


def has_docstring(value: object) -> bool:
    """Whether it brings its text along, as a constant does not."""
    return inspect.isclass(value) or inspect.isroutine(value)


def public_names(module: ModuleType) -> List[str]:
    """The functions, classes and constants defined there.

    Of ``__all__`` only the functions and classes: the comment of a constant is
    in the module that defines it.
    """
    if hasattr(module, '__all__'):
        return [
            name for name in module.__all__
            if has_docstring(getattr(module, name))
        ]
    defined = [
        name for name, value in vars(module).items()
        if has_docstring(value) and value.__module__ == module.__name__
    ]
    names = defined + CONSTANT.findall(inspect.getsource(module))
    return sorted(name for name in names if not name.startswith('_'))


def submodules(package: ModuleType) -> Iterator[ModuleType]:
    """The modules directly below a package, or none below a module."""
    for info in pkgutil.iter_modules(getattr(package, '__path__', [])):
        yield import_module(f'{package.__name__}.{info.name}')


def directive(module: ModuleType, names: List[str]) -> List[str]:
    """Document these names of a module."""
    return [
        f'.. automodule:: {module.__name__}',
        f'   :members: {", ".join(names)}', ''
    ]


def page(package: ModuleType) -> str:
    """One package: what it exports, then what only its modules have."""
    title = package.__name__
    lines = [title, '=' * len(title), '']
    exported = public_names(package)
    lines += directive(package, exported)
    for module in submodules(package):
        # What the package exports has been said.
        names = [
            name for name in public_names(module) if name not in exported
            or getattr(package, name) is not getattr(module, name)
        ]
        if names:
            title = module.__name__
            lines += [title, '-' * len(title), '', *directive(module, names)]
    return '\n'.join(lines)


def pages() -> Dict[str, str]:
    """Text of each page, by the name of its package or module."""
    return {
        module.__name__: page(module)
        for module in submodules(mmstepnet)
        if hasattr(module, '__path__') or public_names(module)
    }


def write(folder: Path) -> None:
    """Write the pages and their index; leave alone what hasn't changed."""
    texts = pages()
    title = 'API reference'
    texts['index'] = '\n'.join([
        title, '=' * len(title), '', '.. toctree::', '',
        *(f'   {name}' for name in texts), ''
    ])
    folder.mkdir(exist_ok=True)
    for path in folder.glob('*.rst'):
        if path.stem not in texts:
            path.unlink()
    for name, text in texts.items():
        path = folder / f'{name}.rst'
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
