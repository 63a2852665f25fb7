# Copyright (c) mmstepnet contributors. All rights reserved.
import math
from dataclasses import dataclass, fields
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Sequence

import torch
from torch import Tensor

from .functional import stage_tns, tns
from .statistics import Estimate, Moments

#: What is kept of a sample in a block: NSI with the block's own step size,
#: NSI with the step size 1, mean step size.
QUANTITIES = ('own', 'unit', 'step_size')


def column_of(dt: str) -> int:
    """Column of the NSI with this step size.

    Args:
        dt (str): ``'own'`` or ``'unit'``.

    Returns:
        int: Index in :data:`QUANTITIES`.

    Raises:
        ValueError: If ``dt`` is neither.
    """
    if dt not in QUANTITIES[:2]:
        raise ValueError(f"dt must be 'own' or 'unit', got {dt!r}")
    return QUANTITIES.index(dt)


def plain(value: Any) -> Any:
    """Named tuples as dictionaries, and None for NaN, as JSON needs it."""
    if hasattr(value, '_asdict'):
        value = value._asdict()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    is_nan = isinstance(value, float) and math.isnan(value)
    return None if is_nan else value


class BlockStatistics(NamedTuple):
    """Mean and standard deviation over samples of one block's numbers."""
    nsi: float
    nsi_std: float
    step_size: float
    step_size_std: float


@dataclass(frozen=True)
class StiffnessReport:
    """Stiffness of a network over a set of samples.

    Attributes:
        dt (str): Whether NSI is with the block's ``'own'`` step size or with
            the ``'unit'`` step.
        total (Estimate): TNS of the network.
        stages (dict[str, Estimate]): TNS of every stage by itself.
        blocks (dict[str, BlockStatistics]): NSI and step size of every
            measured block.
        undefined (list[str]): Stages with fewer than two measured blocks,
            whose TNS is 0 by definition.
        non_finite (dict[str, str]): Samples left out for a NSI that isn't
            finite, and the first block where it isn't.
    """
    dt: str
    total: Estimate
    stages: Dict[str, Estimate]
    blocks: Dict[str, BlockStatistics]
    undefined: List[str]
    non_finite: Dict[str, str]

    @classmethod
    def from_chunks(cls, stages: Mapping[str, Sequence[str]],
                    chunks: Iterable[Tensor], *, dt: str,
                    non_finite: Mapping[str, str]) -> 'StiffnessReport':
        """Compute the report in one pass.

        Args:
            stages (Mapping[str, Sequence[str]]): Measured blocks by stage.
            chunks (Iterable[Tensor]): Parts (n, L, 3) of the samples.
            dt (str): ``'own'`` or ``'unit'``.
            non_finite (Mapping[str, str]): Samples that were left out.

        Returns:
            StiffnessReport: The report.
        """
        column = column_of(dt)
        sizes = [len(blocks) for blocks in stages.values()]
        tns_moments = Moments(1 + len(sizes))
        nsi_moments, step_moments = Moments(sum(sizes)), Moments(sum(sizes))
        for chunk in chunks:
            nsi = chunk[..., column].double()
            whole = tns(nsi, sizes)[:, None]
            tns_moments.add(torch.cat([whole, stage_tns(nsi, sizes)], dim=1))
            nsi_moments.add(nsi)
            step_moments.add(chunk[..., 2])
        total, *by_stage = tns_moments.estimates()
        names = [block for blocks in stages.values() for block in blocks]
        rows = zip(nsi_moments.mean.tolist(),
                   nsi_moments.std().tolist(), step_moments.mean.tolist(),
                   step_moments.std().tolist())
        return cls(
            dt=dt,
            total=total,
            stages=dict(zip(stages, by_stage)),
            blocks={
                name: BlockStatistics(*row)
                for name, row in zip(names, rows)
            },
            undefined=[
                stage for stage, size in zip(stages, sizes) if size < 2
            ],
            non_finite=dict(non_finite))

    @property
    def is_defined(self) -> bool:
        """Whether any stage has the two measured blocks that TNS needs."""
        return len(self.undefined) < len(self.stages)

    def scalars(self) -> Dict[str, float]:
        """The finite numbers under flat names, for loggers."""
        values = {
            'tns/total': self.total.mean,
            'tns/stderr': self.total.stderr
        }
        for stage, value in self.stages.items():
            values[f'tns/{stage}'] = value.mean
        for block, statistics in self.blocks.items():
            values[f'nsi/{block}'] = statistics.nsi
        return {k: v for k, v in values.items() if math.isfinite(v)}

    def to_dict(self) -> dict:
        """The report as JSON takes it, with None for NaN."""
        return plain({f.name: getattr(self, f.name) for f in fields(self)})

    def summary(self) -> str:
        """The report in a few sentences."""
        sentences = [self._total_sentence(), self._non_finite_sentence()]
        return ' '.join(sentence for sentence in sentences if sentence)

    def _total_sentence(self) -> str:
        if self.total.num_samples == 0:
            return 'TNS was not measured: no sample had a finite NSI.'
        if not self.is_defined:
            return ('TNS is 0 by definition: the first block of a stage is '
                    'left out, and no stage of this network has two others.')
        stages = ', '.join(
            f'{stage} {value.mean:.4g}' if stage not in self.undefined else
            f'{stage} 0 by definition (one measured block at most)'
            for stage, value in self.stages.items())
        if self.total.num_samples == 1:
            return (f'TNS {self.total.mean:.4g} of one sample, no standard '
                    f'error; by stage: {stages}.')
        return (f'TNS {self.total.mean:.4g} +- {self.total.stderr:.2g} over '
                f'{self.total.num_samples} samples; by stage: {stages}.')

    def _non_finite_sentence(self) -> str:
        if not self.non_finite:
            return ''
        shown = '; '.join(
            f'{sample} (from {block})'
            for sample, block in list(self.non_finite.items())[:5])
        more = '; ...' if len(self.non_finite) > 5 else ''
        return (f'{len(self.non_finite)} samples had a NSI that is not finite '
                '(NaN or inf in a feature, or a state of norm zero) and were '
                f'left out: {shown}{more}.')
