# Copyright (c) mmstepnet contributors. All rights reserved.
"""What the features, the loss and the weights of a network look like."""
from .damping import block_damping
from .features import (blocks_by_name, feature_variance, frequencies,
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
    'block_damping', 'blocks_by_name', 'feature_variance',
    'filter_normalized_direction', 'frequencies', 'lanczos', 'log_amplitude',
    'measure_attack_surface', 'measure_damping', 'measure_features',
    'measure_hessian', 'measure_stiffness', 'measure_weight_surface', 'moved',
    'polar_trajectory', 'reduce_blocks'
]
