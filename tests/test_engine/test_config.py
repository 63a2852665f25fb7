# Copyright (c) mmstepnet contributors. All rights reserved.
import sys

import pytest

from mmstepnet.engine import read_config


@pytest.fixture
def config(tmp_path):
    path = tmp_path / 'config.py'
    path.write_text("custom_imports = dict(imports=['mmstepnet'])")
    return path


def test_modules_of_options_are_imported(config, tmp_path, monkeypatch):
    (tmp_path / 'of_an_option.py').touch()
    monkeypatch.syspath_prepend(tmp_path)
    read_config(str(config), {'custom_imports.imports': ['of_an_option']})
    assert sys.modules.pop('of_an_option')


@pytest.mark.parametrize('of_option', [True, False])
def test_missing_modules_get_a_sentence(config, of_option):
    options = {'custom_imports.imports': ['nowhere_to_be_found']}
    if not of_option:
        config.write_text(
            "custom_imports = dict(imports='nowhere_to_be_found')")
        options = {}
    with pytest.raises(ValueError) as error:
        read_config(str(config), options)
    sentence = str(error.value)
    assert "config.py' cannot import {'imports': " in sentence
    assert "No module named 'nowhere_to_be_found'; " in sentence
    assert sentence.endswith("a module's folder has to be in PYTHONPATH")


def test_modules_that_fail_to_import(config, tmp_path, monkeypatch):
    (tmp_path / 'fails.py').write_text('1 / 0')
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match='ZeroDivisionError, division'):
        read_config(str(config), {'custom_imports.imports': ['fails']})


def test_custom_imports_that_are_no_dict(config):
    with pytest.raises(ValueError, match="as 'imports', got 'mmstepnet'"):
        read_config(str(config), dict(custom_imports='mmstepnet'))
