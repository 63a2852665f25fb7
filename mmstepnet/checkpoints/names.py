# Copyright (c) mmstepnet contributors. All rights reserved.
"""What other projects call the parameters of a ResNet and its attention."""
import re
from typing import Callable, Dict, List, Optional, Tuple, Union

from torch import Tensor

Replacement = Union[str, Callable[[re.Match], str]]

# Names relative to the backbone -> our names. The first rule that matches
# is the one.
RULES: Tuple[Tuple[str, Replacement], ...] = (
    # squeeze-and-excitation: timm and legacy SENets, ports of the original,
    # MMPretrain
    (r'\.(se|se_module)\.fc([12])\.', r'.step.excite.fc\2.'),
    (r'\.se\.fc\.0\.', '.step.excite.fc1.'),
    (r'\.se\.fc\.2\.', '.step.excite.fc2.'),
    (r'\.se_layer\.conv([12])\.conv\.', r'.step.excite.fc\1.'),
    # efficient channel attention: the original, timm
    (r'\.(eca|se)\.conv\.weight$', '.step.excite.conv.weight'),
    # stems: legacy SENets, MMPretrain's V1d
    (r'^layer0\.(conv1|bn1)\.', r'\1.'),
    (r'^stem\.(\d)\.conv\.', lambda m: f'stem.{3 * int(m[1])}.'),
    (r'^stem\.(\d)\.bn\.', lambda m: f'stem.{3 * int(m[1]) + 1}.'),
    # shortcuts of CIFAR ResNets
    (r'\.shortcut\.', '.downsample.'),
)
# timm's deep stem is conv1.0, conv1.1, conv1.3, ..., bn1
DEEP_STEM_RULES = ((r'^conv1\.(\d)\.', r'stem.\1.'), (r'^bn1\.', 'stem.7.'))
HEAD = re.compile(r'^(head\.)?(fc|linear|last_linear|classifier)\.')
WRAPPERS = re.compile(r'^(module\.|_orig_mod\.)+')
BACKBONE = 'backbone.'


def _rename(name: str, rules: tuple) -> str:
    if HEAD.match(name):
        return HEAD.sub('head.fc.', name)
    for pattern, replacement in rules:
        name, count = re.subn(pattern, replacement, name)
        if count:
            break
    return name


def our_names(weights: Dict[str, Tensor],
              prefix: Optional[str] = None) -> Dict[str, str]:
    """What the parameters of a checkpoint are called here.

    Understands torchvision, timm, MMPretrain, MMDetection, common CIFAR
    ResNets, and SE and ECA networks of their authors.

    Args:
        weights (dict[str, Tensor]): Weights under their names in the file.
        prefix (str, optional): Keep only the names that start with it, and
            cut it off: ``'backbone.'`` takes the backbone of a detector.

    Returns:
        dict[str, str]: Our name, relative to the backbone or starting with
        ``'head.'``, to the name in the file.

    Example:
        >>> our_names({'module.layer1.0.eca.conv.weight': None})
        {'layer1.0.step.excite.conv.weight': 'module.layer1.0.eca.conv.weight'}
    """
    prefix = f'{prefix.rstrip(".")}.' if prefix else ''
    names = {}
    for name in weights:
        bare = WRAPPERS.sub('', name)
        if bare.startswith(prefix):
            names[bare[len(prefix):].removeprefix(BACKBONE)] = name
    rules = RULES
    if 'conv1.0.weight' in names:
        rules = DEEP_STEM_RULES + RULES
    return {_rename(bare, rules): name for bare, name in names.items()}


def step_configs(shapes: Dict[str, Tuple[int, ...]]) -> List[Optional[dict]]:
    """The step of every stage that a checkpoint was trained with.

    Args:
        shapes (dict[str, tuple[int]]): Shapes of the weights by our names.

    Returns:
        list[dict | None]: Configs for the ``step`` of a backbone, None for a
        stage without a step or with one that has no foreign form.

    Example:
        >>> step_configs({'layer1.0.step.excite.conv.weight': (1, 1, 3),
        ...               'layer2.0.conv1.weight': (128, 64, 3, 3)})
        [{'type': 'mmstepnet.ECA', 'kernel_size': 3}, None]
    """
    configs: Dict[int, Optional[dict]] = {}
    for name, shape in shapes.items():
        match = re.match(r'layer(\d+)\.\d+\.(.+)', name)
        if match is None:
            continue
        stage, rest = int(match[1]), match[2]
        configs.setdefault(stage, None)
        if rest == 'step.excite.fc1.weight':
            configs[stage] = dict(
                type='mmstepnet.SE',
                ratio=shape[1] // shape[0],
                bias=name.replace('.weight', '.bias') in shapes)
        elif rest == 'step.excite.conv.weight':
            configs[stage] = dict(type='mmstepnet.ECA', kernel_size=shape[-1])
    return [configs[stage] for stage in sorted(configs)]
