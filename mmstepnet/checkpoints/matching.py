# Copyright (c) mmstepnet contributors. All rights reserved.
"""A checkpoint's names and shapes beside those of a model."""
import re
from typing import Dict, Iterator, List, Optional, Tuple

from torch import Tensor, nn

from mmstepnet.backbones import ResidualBlock
from mmstepnet.norms import IEBN
from mmstepnet.steps import require_input_weights
from .names import BACKBONE, our_names, step_configs


def few(names: List[str]) -> str:
    """The first names and how many more there are."""
    more = f' and {len(names) - 4} more' if len(names) > 4 else ''
    return ', '.join(names[:4]) + more


def residual_blocks(model: nn.Module) -> Iterator[Tuple[str, ResidualBlock]]:
    """The residual blocks of a model, with their names."""
    for name, module in model.named_modules():
        if isinstance(module, ResidualBlock):
            yield name, module


def _block(name: str) -> str:
    """The block that a parameter of a backbone is in, or nothing."""
    match = re.match(r'layer\d+\.\d+', name)
    return match[0] if match else ''


class Matching:
    """A checkpoint's weights beside a model's; changes neither."""

    def __init__(self, model: nn.Module, source: str,
                 weights: Dict[str, Tensor], prefix: Optional[str]) -> None:
        self.source = source
        self.weights = weights
        self.own = model.state_dict()
        self.theirs = our_names(weights, prefix)
        self.blocks = dict(residual_blocks(model))
        self.gated_norms = {
            name: module
            for name, module in model.named_modules()
            if isinstance(module, IEBN)
        }
        relative = {name.removeprefix(BACKBONE): name for name in self.own}
        self.places = {
            relative[name]: origin
            for name, origin in self.theirs.items() if name in relative
        }
        self._require_match(prefix)
        self._drop_other_heads()
        self._require_same_steps()
        self._require_complete()
        self._require_no_more_blocks()
        self._require_shapes()
        for block in self.without_step().values():
            require_input_weights(block.step)
            block.require_scalable()

    def _fail(self, what: str) -> None:
        raise ValueError(f'the checkpoint {self.source!r} {what}')

    def _require_match(self, prefix: Optional[str]) -> None:
        if not self.places:
            hint = f' under the prefix {prefix!r}' if prefix else ''
            self._fail(
                f'has no weight of this model{hint}: expected names like '
                f'{next(iter(self.own))!r}, got {list(self.weights)[:3]}.')

    def _in_trunk(self, name: str) -> bool:
        return name.startswith(BACKBONE) or not any(
            own.startswith(BACKBONE) for own in self.own)

    def _drop_other_heads(self) -> None:
        """Leave heads of other classes where they are."""
        self.places = {
            name: origin
            for name, origin in self.places.items() if self._in_trunk(name)
            or self.weights[origin].shape == self.own[name].shape
        }

    def has_step(self, block: str) -> bool:
        """Whether the checkpoint has parameters for a block's step."""
        return any(f'{block}.step.{name}' in self.places
                   for name, _ in self.blocks[block].step.named_parameters())

    def without_step(self) -> Dict[str, ResidualBlock]:
        """Blocks whose step the checkpoint doesn't know."""
        return {
            name: block
            for name, block in self.blocks.items() if not self.has_step(name)
        }

    def without_gate(self) -> Dict[str, IEBN]:
        """Norms whose gate the checkpoint doesn't know."""
        return {
            name: norm
            for name, norm in self.gated_norms.items()
            if f'{name}.excite.weight' not in self.places
        }

    def _step_hint(self) -> str:
        configs = step_configs({
            name: tuple(self.weights[origin].shape)
            for name, origin in self.theirs.items()
        })
        return f'; set step={configs} in the backbone'

    def _require_same_steps(self) -> None:
        homeless = [
            origin for name, origin in self.theirs.items()
            if '.step.' in name and origin not in self.places.values()
        ]
        if homeless:
            self._fail('was trained with steps that this model does not '
                       f'have, {few(homeless)}{self._step_hint()}.')

    def _require_complete(self) -> None:
        in_trunk = [
            name for name in self.fresh() if self._in_trunk(name)
            and not name.endswith('num_batches_tracked')
        ]
        if in_trunk:
            hint = ''
            if any('.step.' in name for name in in_trunk):
                hint = self._step_hint()
            self._fail(f'has only {len(self.places)} of the '
                       f'{len(self.places) + len(in_trunk)} weights of this '
                       f'backbone: expected {few(in_trunk)} too{hint}.')

    def _require_no_more_blocks(self) -> None:
        own = {_block(name.removeprefix(BACKBONE)) for name in self.own}
        stages = {block.split('.')[0] for block in own if block}
        more = {
            block
            for block in map(_block, self.theirs)
            if block and block not in own and block.split('.')[0] in stages
        }
        if more:
            self._fail('is of a deeper network: this backbone has no '
                       f'{few(sorted(more))}.')

    def fresh(self) -> List[str]:
        """The model's names without a counterpart, new gates aside."""
        untrained = (*(f'{name}.step.' for name in self.without_step()),
                     *(f'{name}.excite.' for name in self.without_gate()))
        return [
            name for name in self.own
            if name not in self.places and not name.startswith(untrained)
        ]

    def _require_shapes(self) -> None:
        for name, origin in self.places.items():
            expected, got = self.own[name].shape, self.weights[origin].shape
            if [n for n in expected if n > 1] != [n for n in got if n > 1]:
                hint = self._step_hint() if '.step.' in name else ''
                self._fail(f'has another shape of {name}: expected '
                           f'{tuple(expected)}, got {tuple(got)}{hint}.')

    def state_dict(self) -> Dict[str, Tensor]:
        """The checkpoint's weights under the model's names and shapes."""
        return {
            name: self.weights[origin].reshape(self.own[name].shape)
            for name, origin in self.places.items()
        }
