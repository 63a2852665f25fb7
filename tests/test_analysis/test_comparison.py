# Copyright (c) mmstepnet contributors. All rights reserved.
import json

import pytest

from mmstepnet.analysis.comparison import (comparison_table, plot_comparison,
                                           read_network)


@pytest.fixture
def network(tmp_path):
    """One whose stiffness was measured on a single image."""
    rows = [
        dict(group=group, level=level, accuracy=.5, stderr=.25, num_images=4)
        for group, level in (('clean', 0), ('pgd', 1), ('shot', 1))
    ]
    results = dict(
        robustness=rows,
        stiffness=dict(total=dict(mean=1.5, stderr=None, num_samples=1)),
        hessian=dict(
            max_eigenvalue=dict(mean=3., stderr=.5), batches=[{}, {}]))
    for name, result in results.items():
        (tmp_path / f'{name}.json').write_text(
            json.dumps(
                dict(name='a', settings=dict(weights=['w']), result=result)))
    return read_network(str(tmp_path), 'pgd', 1)


@pytest.mark.filterwarnings('error')
def test_a_single_image_has_no_standard_error(network, tmp_path):
    row = comparison_table([network]).splitlines()[-1]
    assert row == ('| a | 50 +- 25 (n=4) | 50 +- 25 (n=4) | 50 +- 25 (n=4) '
                   '| 1.5 (n=1) | 3 +- 0.5 (n=2) |')
    plot_comparison([network, network], str(tmp_path / 'a.png'))
    assert (tmp_path / 'a.png').stat().st_size
