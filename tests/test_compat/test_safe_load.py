# Copyright (c) mmstepnet contributors. All rights reserved.
import pickle
import zipfile

import numpy as np
import pytest
import torch

from mmstepnet.compat import safe_load


def renamed(path, old, new):
    """The same file as another NumPy would have written it."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, 'w') as archive:
        for name, data in content.items():
            archive.writestr(name, data.replace(old, new))


@pytest.mark.smoke
@pytest.mark.parametrize('core', [b'core', b'_core'])
def test_files_of_either_numpy_are_read(core, tmp_path):
    path = str(tmp_path / 'a.pth')
    given = dict(array=np.arange(3.), number=np.float64(0.1), flag=np.bool_(1))
    torch.save(given, path)
    for other in (b'core', b'_core'):
        renamed(path, b'cnumpy.%s.multiarray\n' % other,
                b'cnumpy.%s.multiarray\n' % core)
    found = safe_load.load_safely(path, safe_load.numpy_globals())
    assert found['array'].tolist() == [0, 1, 2]
    assert found['number'] == 0.1 and found['flag']


def test_only_what_is_allowed_and_only_once(tmp_path):
    path = str(tmp_path / 'a.pth')
    torch.save(dict(path=tmp_path), path)
    before = set(torch.serialization.get_safe_globals())
    with pytest.raises(pickle.UnpicklingError) as caught:
        safe_load.load_safely(path, safe_load.numpy_globals())
    assert safe_load.refused_globals(caught.value)[0].startswith('pathlib.')
    assert set(torch.serialization.get_safe_globals()) == before


def test_a_function_in_place_of_another(tmp_path):
    path = str(tmp_path / 'a.pth')

    class Range:

        def __reduce__(self):
            return getattr, (range, 'start')

    torch.save(Range(), path)
    alias = safe_load.known_as('builtins.getattr', lambda *args: len(args))
    assert safe_load.load_safely(path, [alias, range]) == 2
