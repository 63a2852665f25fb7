# Copyright (c) mmstepnet contributors. All rights reserved.
"""What the features, the loss and the weights of a network look like."""
from .damping import block_damping
from .features import (feature_variance, find_blocks, frequencies,
                       log_amplitude, reduce_blocks)
from .hessian import HessianProduct, Ritz, lanczos
from .landscape import attack_surface, filter_normalized_direction, moved
from .measures import (measure_attack_surface, measure_damping,
                       measure_features, measure_hessian, measure_stiffness,
                       measure_weight_surface)
from .subject import Subject
from .trajectory import PolarPoint, polar_trajectory

__all__ = [
    'HessianProduct', 'PolarPoint', 'Ritz', 'Subject', 'attack_surface',
    'block_damping', 'feature_variance', 'filter_normalized_direction',
    'find_blocks', 'frequencies', 'lanczos', 'log_amplitude',
    'measure_attack_surface', 'measure_damping', 'measure_features',
    'measure_hessian', 'measure_stiffness', 'measure_weight_surface', 'moved',
    'polar_trajectory', 'reduce_blocks'
]
