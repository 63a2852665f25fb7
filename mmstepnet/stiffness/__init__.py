# Copyright (c) mmstepnet contributors. All rights reserved.
"""Stiffness of residual networks, in pure PyTorch."""
from .accumulator import StiffnessAccumulator
from .blocks import find_blocks
from .degrees import (StepFunction, delta, delta_function, exceedance,
                      proportion, proportion_function)
from .functional import excess, nsi, stage_tns, staircase_area, tns
from .recorder import StiffnessRecorder
from .report import BlockStatistics, StiffnessReport
from .statistics import Estimate, estimate

__all__ = [
    'BlockStatistics', 'Estimate', 'StepFunction', 'StiffnessAccumulator',
    'StiffnessRecorder', 'StiffnessReport', 'delta', 'delta_function',
    'estimate', 'exceedance', 'excess', 'find_blocks', 'nsi', 'proportion',
    'proportion_function', 'stage_tns', 'staircase_area', 'tns'
]
