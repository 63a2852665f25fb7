# Copyright (c) mmstepnet contributors. All rights reserved.
import hashlib
from typing import (Any, Callable, Dict, Hashable, Iterator, List, Mapping,
                    Sequence, Tuple)

import torch
import torch.distributed as dist
from torch import Tensor

from .degrees import Grid, delta, proportion
from .functional import excess
from .report import QUANTITIES, StiffnessReport, column_of

_ROWS_PER_CHUNK = 256


class StiffnessAccumulator:
    """Collects the NSI of samples, batch by batch and process by process.

    Twelve bytes for each sample and block, in float32, are all that the exact
    TNS, its standard error and every surface need. Samples have an id, and
    one that comes twice (a distributed sampler evens out its processes so)
    counts once. Samples with a NSI that isn't finite are left out of every
    result, counted and named.

    Args:
        stages (Mapping[str, Sequence[str]]): Names of the measured blocks of
            each stage, in the order of the network.

    Example:
        >>> from mmstepnet.stiffness import StiffnessAccumulator
        >>> acc = StiffnessAccumulator({'layer1': ['layer1.1', 'layer1.2']})
        >>> rows = torch.tensor([[[1., 1., 1.], [3., 3., 1.]]])
        >>> acc.update(['a.jpg'], rows)
        >>> acc.update(['a.jpg', 'b.jpg'], torch.cat([rows, 2 * rows]))
        >>> total = acc.compute().total
        >>> total.mean, total.num_samples
        (2.25, 2)
    """

    def __init__(self, stages: Mapping[str, Sequence[str]]) -> None:
        self.stages: Dict[str, List[str]] = {
            stage: list(blocks)
            for stage, blocks in stages.items()
        }
        self.reset()

    @property
    def blocks(self) -> List[str]:
        """Names of the measured blocks."""
        return [block for names in self.stages.values() for block in names]

    @property
    def stage_sizes(self) -> List[int]:
        """Number of measured blocks of each stage."""
        return [len(blocks) for blocks in self.stages.values()]

    def reset(self) -> None:
        """Forget all samples."""
        self._chunks: List[Tuple[Tensor, Tensor]] = []
        self._recent: List[Tuple[Tensor, Tensor]] = []
        #: Samples that are not finite and their first such block, by key.
        self._non_finite: Dict[int, Tuple[str, str]] = {}

    def update(self, ids: Sequence[Hashable], values: Tensor) -> None:
        """Add a batch.

        Args:
            ids (Sequence): Id of every sample, a string, an integer or a
                tuple of them, the same in every process.
            values (Tensor): NSI with the own step size, NSI with step size 1
                and mean step size of every sample and block, (N, L, 3).

        Raises:
            ValueError: If the shapes or the number of ids don't fit.
        """
        expected = (len(ids), len(self.blocks), len(QUANTITIES))
        if tuple(values.shape) != expected:
            raise ValueError('values must be of shape (ids, blocks, '
                             f'{len(QUANTITIES)}) = {expected}, got '
                             f'{tuple(values.shape)}')
        values = values.detach().to('cpu', torch.float32)
        keys = torch.tensor([_key(i) for i in ids], dtype=torch.int64)
        for row in (~_is_finite(values)).nonzero().flatten().tolist():
            finite = values[row].isfinite().all(dim=1)
            self._non_finite[int(keys[row])] = (_name(
                ids[row]), self.blocks[int(finite.int().argmin())])
        self._append(keys, values)

    def _append(self, keys: Tensor, values: Tensor) -> None:
        self._recent.append((keys, values))
        if sum(len(keys) for keys, _ in self._recent) >= _ROWS_PER_CHUNK:
            self._chunks.append(self._join_recent())
            self._recent = []

    def _join_recent(self) -> Tuple[Tensor, Tensor]:
        keys, values = zip(*self._recent)
        return torch.cat(keys), torch.cat(values)

    def _all_chunks(self) -> List[Tuple[Tensor, Tensor]]:
        recent = [self._join_recent()] if self._recent else []
        return self._chunks + recent

    def chunks(self) -> Iterator[Tensor]:
        """Values (n, L, 3) of the finite samples, each once, part by part."""
        parts = self._all_chunks()
        if not parts:
            return
        rows = [_is_finite(values).nonzero()[:, 0] for _, values in parts]
        first = _first_occurrences(
            torch.cat([keys[row] for (keys, _), row in zip(parts, rows)]))
        masks = first.split([len(row) for row in rows])
        for (_, values), row, mask in zip(parts, rows, masks):
            yield values[row[mask]]

    def non_finite(self) -> Dict[str, str]:
        """Samples that were never finite and their first such block."""
        finite = set()
        if self._non_finite:
            for keys, values in self._all_chunks():
                finite.update(keys[_is_finite(values)].tolist())
        return dict(
            sorted(named for key, named in self._non_finite.items()
                   if key not in finite))

    def samples(self) -> Tensor:
        """All of :meth:`chunks` in one tensor, (N, L, 3) float32."""
        empty = torch.empty(0, len(self.blocks), len(QUANTITIES))
        return torch.cat([empty, *self.chunks()])

    def compute(self, dt: str = 'own') -> StiffnessReport:
        """TNS of the network and its stages, NSI of its blocks.

        Args:
            dt (str): NSI with the blocks' ``'own'`` step sizes or with the
                ``'unit'`` step. Defaults to ``'own'``.

        Returns:
            StiffnessReport: The numbers of the samples so far.
        """
        return StiffnessReport.from_chunks(
            self.stages, self.chunks(), dt=dt, non_finite=self.non_finite())

    def grid(self, dt: str = 'own', steps: int = 50) -> Tuple[Tensor, Tensor]:
        """Degrees M1 and M2, (steps,) each, from 0 to where nothing is stiff.

        Args:
            dt (str): ``'own'`` or ``'unit'``. Defaults to ``'own'``.
            steps (int): Number of degrees. Defaults to 50.
        """
        ends = [0., 0.]
        for chunk in self.chunks():
            nsi = chunk[..., column_of(dt)]
            for axis, values in enumerate((excess(nsi,
                                                  self.stage_sizes), nsi)):
                ends[axis] = max(ends[axis], float(values.max()))
        m1, m2 = (
            torch.linspace(0, end, steps, dtype=torch.float64) for end in ends)
        return m1, m2

    def delta(self, m1: Grid, m2: Grid, dt: str = 'own') -> Tensor:
        """Share of stiff samples on a grid, (A, B), see :func:`delta`."""
        return self._surface(delta, m1, m2, dt)

    def proportion(self,
                   m1: Grid,
                   m2: Grid = (0., ),
                   dt: str = 'own') -> Tensor:
        """Share of stiff blocks, (A, B), see :func:`proportion`."""
        return self._surface(proportion, m1, m2, dt)

    def _surface(self, function: Callable[..., Tensor], m1: Grid, m2: Grid,
                 dt: str) -> Tensor:
        column = column_of(dt)
        surface = torch.zeros(len(m1), len(m2), dtype=torch.float64)
        count = 0
        for chunk in self.chunks():
            part = function(chunk[..., column], m1, m2, self.stage_sizes)
            surface += len(chunk) * part
            count += len(chunk)
        return surface / max(count, 1)

    def merge(self, other: 'StiffnessAccumulator') -> None:
        """Add the samples of another accumulator of the same network.

        Args:
            other (StiffnessAccumulator): The other one, left as it is.

        Raises:
            ValueError: If it is of another network.
        """
        self._check_stages(other.stages)
        for keys, values in other._all_chunks():
            self._append(keys, values)
        self._non_finite.update(other._non_finite)

    def synchronize(self) -> None:
        """Give every process the samples of all, part by part.

        Every process of the default group has to call it, also one without
        any sample. Does nothing without a process group.
        """
        if not (dist.is_available() and dist.is_initialized()):
            return
        mine = self.state_dict()
        for source in range(dist.get_world_size()):
            is_mine = source == dist.get_rank()
            chunks = mine['chunks'] if is_mine else []
            head: List[Any] = [(len(chunks), mine['stages'],
                                mine['non_finite'])]
            dist.broadcast_object_list(head, source)
            num_chunks, stages, non_finite = head[0]
            self._check_stages(stages)
            self._non_finite.update(non_finite)
            for index in range(num_chunks):
                chunk: List[Any] = [chunks[index] if is_mine else None]
                dist.broadcast_object_list(chunk, source)
                if not is_mine:
                    self._append(*chunk[0])

    def state_dict(self) -> Dict[str, Any]:
        """State of tensors and plain Python for a checkpoint."""
        return dict(
            stages=self.stages,
            non_finite=dict(self._non_finite),
            chunks=self._all_chunks())

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take the state of :meth:`state_dict`.

        Args:
            state_dict (Mapping): The state.

        Raises:
            ValueError: If it is of another network.
        """
        self._check_stages(state_dict['stages'])
        self.reset()
        self._non_finite = dict(state_dict['non_finite'])
        self._chunks = [tuple(chunk) for chunk in state_dict['chunks']]

    def _check_stages(self, stages: Mapping[str, Sequence[str]]) -> None:
        if stages != self.stages:
            raise ValueError('stiffness of another network: expected the '
                             f'blocks {self.stages}, got {dict(stages)}')


def _key(sample_id: Hashable) -> int:
    """The id as 63 bits, the same in every process."""
    digest = hashlib.blake2b(repr(sample_id).encode(), digest_size=8).digest()
    return int.from_bytes(digest, 'big') >> 1


def _name(sample_id: Hashable) -> str:
    parts = sample_id if isinstance(sample_id, tuple) else (sample_id, )
    return ', '.join(map(str, parts))


def _is_finite(values: Tensor) -> Tensor:
    """Which samples (N,) are finite in all blocks."""
    return values.isfinite().flatten(1).all(dim=1)


def _first_occurrences(keys: Tensor) -> Tensor:
    """Mask of the elements that don't occur earlier."""
    ordered, order = keys.sort(stable=True)
    is_new = torch.ones_like(ordered, dtype=torch.bool)
    is_new[1:] = ordered[1:] != ordered[:-1]
    return torch.zeros_like(is_new).scatter(0, order, is_new)
