# Copyright (c) mmstepnet contributors. All rights reserved.
import math
import os.path as osp
from dataclasses import asdict, dataclass
from typing import Any, Dict, List, Optional, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mmstepnet.evaluation import PixelBatch, PixelBatches, map_pieces
from .cases import Case


@dataclass(frozen=True)
class Robustness:
    """Accuracy under one perturbation.

    Attributes:
        group (str): Name of the attack or noise, or ``'clean'``.
        level (float): Radius in units of 1/255, or severity.
        accuracy (float): Share of the images that are classified correctly.
        stderr (float): Its standard error over images.
        loss (float): Mean cross-entropy.
        max_norm (float): Largest change of a pixel, in units of 1/255.
        num_images (int): Number of images.
    """
    group: str
    level: float
    accuracy: float
    stderr: float
    loss: float
    max_norm: float
    num_images: int

    def to_dict(self) -> Dict[str, Any]:
        """The numbers as JSON takes them."""
        return asdict(self)


def perturbed_results(classifier: nn.Module, batch: PixelBatch,
                      cases: Sequence[Case],
                      seed: int) -> Dict[str, List[float]]:
    """Correct answers, summed loss and largest change in one batch.

    Args:
        classifier (nn.Module): Pixels in [0, 1] to logits.
        batch (PixelBatch): The batch, on the classifier's device.
        cases (Sequence[Case]): The perturbations.
        seed (int): Seed of random ones.

    Returns:
        dict[str, list[float]]: The three numbers by the name of the case.
    """

    def loss(images: Tensor) -> Tensor:
        return F.cross_entropy(
            classifier(images), batch.labels, reduction='none')

    results = {}
    for case in cases:
        images = case(loss, batch, seed)
        with torch.no_grad():
            logits = classifier(images)
        change = (images.double() - batch.images.double()).abs().max()
        results[case.name] = [
            (logits.argmax(1) == batch.labels).sum().item(),
            F.cross_entropy(logits, batch.labels, reduction='sum').item(),
            change.item()
        ]
    return results


def evaluate_robustness(classifier: nn.Module,
                        batches: PixelBatches,
                        cases: Sequence[Case],
                        work_dir: str,
                        *,
                        seed: int = 0,
                        device: torch.device = torch.device('cpu'),
                        settings: Optional[dict] = None) -> List[Robustness]:
    """Accuracy of a classifier under every perturbation.

    Shared by the processes of the default group, logged as it goes on, and
    resumed from ``work_dir`` if it was stopped.

    Args:
        classifier (nn.Module): Pixels in [0, 1] to logits, in eval mode.
        batches (PixelBatches): The images.
        cases (Sequence[Case]): The perturbations.
        work_dir (str): Folder of the partial results.
        seed (int): Seed of random perturbations. Defaults to 0.
        device (torch.device): Device of the classifier.
        settings (dict, optional): What else tells this evaluation from
            others, such as the checkpoint.

    Returns:
        list[Robustness]: One a case, in every process.

    Raises:
        ValueError: If ``work_dir`` holds partial results of another
            evaluation.
    """
    parts = map_pieces(
        lambda batch: perturbed_results(classifier, batch.to(device), cases,
                                        seed),
        len(batches),
        osp.join(work_dir, 'robustness'),
        settings=dict(
            settings or {},
            seed=seed,
            cases=[repr(case) for case in cases],
            **batches.settings),
        read=batches.read)
    return [summarize(case, parts, batches.num_images) for case in cases]


def summarize(case: Case, parts: Sequence[Dict[str, List[float]]],
              num_images: int) -> Robustness:
    """Add up the results of all batches for one case."""
    correct, loss, change = zip(*(part[case.name] for part in parts))
    accuracy = sum(correct) / num_images
    return Robustness(
        group=case.group,
        level=case.level,
        accuracy=accuracy,
        stderr=math.sqrt(accuracy * (1 - accuracy) / num_images),
        loss=sum(loss) / num_images,
        max_norm=max(change) * 255,
        num_images=num_images)
