# Copyright (c) mmstepnet contributors. All rights reserved.
"""Networks of torchvision and timm, and folders of images to show them."""
import os
import os.path as osp
from typing import Any, Callable, Iterator, List, Optional, Sequence, Tuple

import torch
from torch import Tensor, nn

from .accumulator import StiffnessAccumulator
from .analysis import NetworkStiffness
from .recorder import StiffnessRecorder

EXTENSIONS = ('.jpg', '.jpeg', '.png', '.bmp', '.webp', '.ppm', '.tif',
              '.tiff')
Batch = Tuple[Tensor, Optional[Tensor], List[str]]


def library_model(source: str, pretrained: bool) -> Tuple[nn.Module, Callable]:
    """A network of another library and what it expects done to an image.

    Args:
        source (str): ``'torchvision:NAME'`` or ``'timm:NAME'``.
        pretrained (bool): Whether to fetch the library's default weights.

    Returns:
        tuple[nn.Module, Callable]: The network, and the transform from a PIL
        image to a tensor.

    Raises:
        ValueError: If there is no such network.
        ImportError: If the library isn't installed.

    Example:
        >>> model, transform = library_model('torchvision:resnet18', False)
        >>> type(model).__name__
        'ResNet'
    """
    library, _, name = source.partition(':')
    if library == 'torchvision':
        from torchvision import models
        known = models.list_models(models)
        if name in known:
            weights = models.get_model_weights(name).DEFAULT
            model = models.get_model(
                name, weights=weights if pretrained else None)
            return model, weights.transforms()
    elif library == 'timm':
        try:
            import timm
        except ImportError as error:
            raise ImportError(
                f'{source} needs timm: pip install timm') from error
        known = timm.list_models()
        if timm.is_model(name):
            model = timm.create_model(name, pretrained=pretrained)
            config = timm.data.resolve_model_data_config(model)
            return model, timm.data.create_transform(**config)
    else:
        raise ValueError('a network is a config file, torchvision:NAME or '
                         f'timm:NAME, got {source!r}')
    import difflib
    raise ValueError(f'{library} has no network {name!r}; close to it are '
                     f'{difflib.get_close_matches(name, known) or known[:3]}')


class ImageFolder:
    """Batches of the images in a folder.

    If all images lie in subfolders these are the classes, in the order of
    their names.

    Args:
        root (str): The folder.
        transform (Callable): From a PIL image to a tensor.
        num_images (int, optional): Size of a subset at even distances.
            Defaults to None, all.

    Raises:
        FileNotFoundError: If there is no such folder.
        ValueError: If it holds no image.
    """

    def __init__(self,
                 root: str,
                 transform: Callable,
                 num_images: Optional[int] = None) -> None:
        if not osp.isdir(root):
            raise FileNotFoundError(f'there is no folder of images {root!r}')
        found = sorted(
            osp.relpath(osp.join(folder, name), root)
            for folder, _, names in os.walk(root) for name in names
            if name.lower().endswith(EXTENSIONS))
        if not found:
            raise ValueError(f'no image in {root!r}: expected files that end '
                             f'with one of {EXTENSIONS}')
        self.root = root
        self.transform = transform
        self.classes = sorted({path.split(os.sep)[0] for path in found}) \
            if all(os.sep in path for path in found) else []
        self.paths = [found[i] for i in even_places(len(found), num_images)]

    def batches(self, batch_size: int) -> Iterator[Batch]:
        """Images (N, C, H, W), classes (N,) or None, and paths."""
        from PIL import Image
        for start in range(0, len(self.paths), batch_size):
            paths = self.paths[start:start + batch_size]
            images = torch.stack([
                self.transform(
                    Image.open(osp.join(self.root, path)).convert('RGB'))
                for path in paths
            ])
            labels = torch.tensor(
                [self.classes.index(path.split(os.sep)[0])
                 for path in paths]) if self.classes else None
            yield images, labels, paths


def even_places(total: int, number: Optional[int]) -> List[int]:
    """``number`` places at even distances among ``total``.

    Args:
        total (int): How many there are.
        number (int, optional): How many to take. Defaults to None, all.

    Returns:
        list[int]: The places.

    Raises:
        ValueError: If ``number`` is less than one.

    Example:
        >>> even_places(10, 4)
        [0, 2, 5, 7]
    """
    if number is not None and number < 1:
        raise ValueError(f'the number of images must be at least 1, got '
                         f'{number}')
    number = total if number is None else min(number, total)
    return [i * total // number for i in range(number)]


@torch.no_grad()
def measure_network(model: nn.Module,
                    batches: Any,
                    *,
                    name: str = 'network',
                    blocks: Optional[Sequence[str]] = None,
                    num_classes: int = 0,
                    device: str = 'cpu') -> NetworkStiffness:
    """Measure a network on batches of images.

    Args:
        model (nn.Module): A network that takes a batch of images.
        batches (Iterable): Images (N, C, H, W), classes (N,) or None, and
            ids of every batch.
        name (str): Name of the network.
        blocks (Sequence[str], optional): Names of its residual blocks.
            Defaults to None, which finds them.
        num_classes (int): Classes of the images; the accuracy is computed if
            the network has as many outputs.
        device (str): Where to run. Defaults to ``'cpu'``.

    Returns:
        NetworkStiffness: What was measured.

    Raises:
        ValueError: If the network has no residual block to measure.

    Example:
        >>> from torchvision.models import resnet34
        >>> images = torch.rand(4, 3, 32, 32)
        >>> batches = [(images, None, list('abcd'))]
        >>> measure_network(resnet34(), batches).report().total.num_samples
        4
    """
    model = model.to(device).eval()
    recorder = StiffnessRecorder(model, blocks)
    if not any(recorder.stages.values()):
        raise ValueError(recorder.describe())
    accumulator = StiffnessAccumulator(recorder.stages)
    correct = seen = 0
    with recorder:
        for images, labels, ids in batches:
            scores = model(images.to(device))
            accumulator.update(ids, recorder.pop())
            if labels is not None and scores.shape[1:] == (num_classes, ):
                correct += int((scores.argmax(1).cpu() == labels).sum())
                seen += len(labels)
    metrics = {'accuracy/top1': 100 * correct / seen} if seen else {}
    return NetworkStiffness(name, recorder.describe(), accumulator, metrics)
