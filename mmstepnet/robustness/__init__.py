# Copyright (c) mmstepnet contributors. All rights reserved.
"""Accuracy of classifiers on attacked and noisy images."""
from .attacks import fgsm, ifgsm, linf_ball, pgd
from .cases import (ATTACKS, RADII, Case, attack_case, clean_case, noise_case,
                    standard_cases)
from .evaluation import Robustness, evaluate_robustness, perturbed_results
from .noises import NOISES, STRENGTHS, add_noise
from .report import plot_robustness, robustness_table
from .seeds import image_generators

__all__ = [
    'ATTACKS', 'Case', 'NOISES', 'RADII', 'Robustness', 'STRENGTHS',
    'add_noise', 'attack_case', 'clean_case', 'evaluate_robustness', 'fgsm',
    'ifgsm', 'image_generators', 'linf_ball', 'noise_case',
    'perturbed_results', 'pgd', 'plot_robustness', 'robustness_table',
    'standard_cases'
]
