# Copyright (c) mmstepnet contributors. All rights reserved.
"""Generated inputs: configs, annotation files and cut checkpoints."""
import io
import json
import tempfile
from collections import Counter
from typing import Any, Dict, List

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .images import BACKBONES
from .workspace import scenes

VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 5),
    st.sampled_from([
        64, 1.5,
        float('nan'), '', '3', 'SE', 'caffe', 'BN', [], {}, (1, ), (1, 2),
        [1, 2, 3], (1, 2, 2, 2), (0, 1, 2, 3), [0, -1, 2], [[0], [0], None],
        [[0], [0], None, None], ['SE'],
        dict(type='SE'),
        dict(type='BN'),
        dict(type='GN', num_groups=3),
        dict(ratio=1),
        dict(type='SE', ratio='x'),
        dict(type='SE', rato=2)
    ]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 99) | st.floats()
    | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(
        st.sampled_from(['id', 'bbox', 'name']), inner, max_size=2),
    max_leaves=6)


def one_sentence(error: Exception) -> None:
    text = str(error.args[0] if isinstance(error, KeyError) else error)
    assert text.strip() and len(text.splitlines()) == 1, text
    assert len(text) < 900, text


@st.composite
def backbone_configs(draw) -> dict:
    """The config of a backbone with one or two arguments changed."""
    from mmstepnet.arguments import accepted_arguments
    from mmstepnet.registry import MODELS
    name = draw(st.sampled_from(sorted(BACKBONES)))
    cfg = dict(BACKBONES[name], type=f'mmstepnet.{name}')
    names = [*accepted_arguments(MODELS.get(cfg['type'])), 'stepp', 'dcn']
    for _ in range(draw(st.integers(1, 2))):
        cfg[draw(st.sampled_from(names))] = draw(VALUES)
    return cfg


def check_config(cfg: dict) -> str:
    """It builds and runs, or says why not."""
    from mmstepnet.registry import MODELS
    try:
        model = MODELS.build(cfg)
        outs = model(torch.rand(2, cfg.get('in_channels', 3), 32, 32))
    except (KeyError, TypeError, ValueError) as error:
        one_sentence(error)
        return 'refused'
    assert len(outs) == len(cfg.get('out_indices', outs))
    return 'works'


@st.composite
def annotation_files(draw) -> Any:
    """A right file with one or two values changed, or removed."""
    content = scenes(2)
    for _ in range(draw(st.integers(1, 2))):
        kind = draw(st.sampled_from(sorted(content)))
        if draw(st.integers(0, 9)) == 0:
            content[kind] = draw(JSON)
            break
        entry = draw(st.sampled_from(content[kind]))
        key = draw(st.sampled_from(sorted(entry)))
        if draw(st.booleans()):
            entry[key] = draw(JSON)
        elif key in entry:
            del entry[key]
        if not entry:
            break
    return content


def check_annotations(content: Any) -> str:
    """What is left of it loads in the COCO API, or it says what is wrong."""
    from mmstepnet.datasets import sort_out
    content = json.loads(json.dumps(content))
    try:
        found = sort_out(content, evaluated=True)
    except ValueError as error:
        one_sentence(error)
        return 'refused'
    for problem in found.problems:
        one_sentence(ValueError(problem.text))
    again = sort_out(found.content, evaluated=True)
    assert not again.problems
    ids = {image['id'] for image in found.content['images']}
    for box in found.content['annotations']:
        assert box['image_id'] in ids and box['bbox'][2] > 0
    return 'skipped' if found.problems else 'works'


def saved(legacy: bool) -> bytes:
    file = io.BytesIO()
    weights = {f'{i}.weight': torch.rand(20, 10) for i in range(3)}
    torch.save(
        dict(meta=dict(epoch=1), state_dict=weights),
        file,
        _use_new_zipfile_serialization=not legacy)
    return file.getvalue()


SAVED = [saved(False), saved(True)]


@st.composite
def damaged_checkpoints(draw) -> bytes:
    """A checkpoint that is cut off, or in which a byte is wrong."""
    data = draw(st.sampled_from(SAVED))
    place = draw(st.integers(0, len(data) - 1))
    if draw(st.booleans()):
        return data[:place]
    wrong = draw(st.integers(1, 255))
    return data[:place] + bytes([data[place] ^ wrong]) + data[place + 1:]


def check_damaged(data: bytes) -> str:
    """It is refused, or no number of it has changed.

    The old format has no checksums, so that a wrong byte among its numbers
    does not show.
    """
    from mmstepnet.checkpoints import load_weights
    with tempfile.NamedTemporaryFile(suffix='.pth') as file:
        file.write(data)
        file.flush()
        try:
            weights = load_weights(file.name)
        except ValueError as error:
            one_sentence(error)
            assert file.name in str(error)
            return 'refused'
    if data[:2] == b'PK':
        right = torch.load(io.BytesIO(SAVED[0]), weights_only=True)
        for name, value in right['state_dict'].items():
            assert torch.equal(weights[name], value)
    return 'works'


PROPERTIES: Dict[str, tuple] = dict(
    configs=(backbone_configs(), check_config),
    coco=(annotation_files(), check_annotations),
    checkpoints=(damaged_checkpoints(), check_damaged))


def fuzz(area: str, examples: int) -> Counter:
    """Check generated inputs of an area, always the same ones.

    Returns:
        Counter: How they ended.
    """
    inputs, check = PROPERTIES[area]
    counts: Counter = Counter()

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck))
    @given(inputs)
    def run(value: Any) -> None:
        counts[check(value)] += 1

    run()
    return counts


def fuzz_all(examples: int) -> List[dict]:
    """Records of all generated inputs."""
    records = []
    for area in PROPERTIES:
        try:
            counts, wrong = fuzz(area, examples), []
        except Exception as error:
            counts, wrong = Counter(refused=1), [str(error)]
            print(f'FAILED {area}, generated: {error!r}')
        records += [
            dict(
                area=f'{area}, generated',
                name='generated',
                ends=ends,
                number=number,
                message='',
                wrong=wrong) for ends, number in counts.items()
        ]
    return records
