# Copyright (c) mmstepnet contributors. All rights reserved.
"""Which residual blocks of a network take which step and dilation."""
from typing import List, Optional, Sequence, Union

from mmstepnet.steps import StepConfig, step_class

StagedStepConfig = Union[StepConfig, Sequence[StepConfig]]
BlockIndices = Optional[Sequence[Optional[Sequence[int]]]]


def place_steps(
        step: StagedStepConfig,
        stage_blocks: Sequence[int],
        shape_changes: Sequence[bool],
        step_blocks: BlockIndices = None,
        step_at_shape_change: Optional[bool] = None) -> List[List[StepConfig]]:
    """The step of every block of every stage.

    Args:
        step (str | dict | list, optional): One step for all stages, or a
            list of one a stage; None is a plain residual block.
        stage_blocks (Sequence[int]): Number of blocks of each stage.
        shape_changes (Sequence[bool]): Whether the first block of each stage
            changes the shape.
        step_blocks (Sequence, optional): For each stage the indices of the
            blocks that take the step, or None for all of them. Defaults to
            None, all blocks of all stages.
        step_at_shape_change (bool, optional): Whether a block that changes
            the shape takes the step. Defaults to None, which leaves it to
            the step: StepNet doesn't, the others do.

    Returns:
        list[list[str | dict | None]]: Config of the step of every block.

    Raises:
        ValueError: If a list has not one entry a stage, or ``step_blocks``
            names a block that doesn't exist or can't take the step.

    Example:
        >>> place_steps('SE', (2, 2), (False, True), ((0, ), ()))
        [['SE', None], [None, None]]
    """
    num_stages = len(stage_blocks)
    if isinstance(step, Sequence) and not isinstance(step, str):
        steps = list(step)
    else:
        steps = [step] * num_stages
    if not isinstance(step_blocks, (list, tuple, type(None))):
        raise ValueError('step_blocks must be a list of one entry for each of '
                         f'the {num_stages} stages, got {step_blocks!r}')
    chosen = [None] * num_stages if step_blocks is None else list(step_blocks)
    for name, value in (('step', steps), ('step_blocks', chosen)):
        if len(value) != num_stages:
            raise ValueError(f'{name} must have one entry for each of the '
                             f'{num_stages} stages, got {len(value)}')
    return [
        _place_in_stage(i + 1, steps[i], stage_blocks[i], shape_changes[i],
                        chosen[i], step_at_shape_change)
        for i in range(num_stages)
    ]


def _place_in_stage(stage: int, step: StepConfig, num_blocks: int,
                    changes_shape: bool, chosen: Optional[Sequence[int]],
                    at_shape_change: Optional[bool]) -> List[StepConfig]:
    if chosen is not None:
        unknown = [i for i in chosen if i not in range(num_blocks)]
        if unknown:
            raise ValueError(f'step_blocks of stage {stage} must be from 0 to '
                             f'{num_blocks - 1}, got {unknown}')
    placed = [
        step if chosen is None or i in chosen else None
        for i in range(num_blocks)
    ]
    if changes_shape and placed[0] is not None:
        if at_shape_change is None:
            at_shape_change = step_class(step).at_shape_change
        if not at_shape_change:
            if chosen is not None:
                raise ValueError(
                    f'block 0 of stage {stage} changes the shape and takes '
                    f'no {step_class(step).__name__} by default: leave it '
                    'out of step_blocks or set step_at_shape_change=True')
            placed[0] = None
    return placed


def block_dilations(
        dilations: Sequence[int],
        stage_blocks: Sequence[int],
        contract_dilation: bool = False,
        multi_grid: Optional[Sequence[int]] = None) -> List[List[int]]:
    """The dilation of every block of every stage.

    Args:
        dilations (Sequence[int]): Dilation of each stage.
        stage_blocks (Sequence[int]): Number of blocks of each stage.
        contract_dilation (bool): Whether the first block of a stage takes
            half of its dilation. Defaults to False.
        multi_grid (Sequence[int], optional): Dilation of each block of the
            last stage, instead of the others. Defaults to None.

    Returns:
        list[list[int]]: One list a stage.

    Raises:
        ValueError: If ``multi_grid`` has not one entry a block.

    Example:
        >>> block_dilations((1, 4), (2, 3), contract_dilation=True)
        [[1, 1], [2, 4, 4]]
    """
    placed = [[dilation] * number
              for dilation, number in zip(dilations, stage_blocks)]
    if contract_dilation:
        for stage in placed:
            stage[0] = max(stage[0] // 2, 1)
    if multi_grid is not None:
        if len(multi_grid) != stage_blocks[-1]:
            raise ValueError(
                'multi_grid must have one entry for each of the '
                f'{stage_blocks[-1]} blocks of the last stage, got '
                f'{multi_grid!r}')
        placed[-1] = list(multi_grid)
    return placed
