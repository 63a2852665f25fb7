# Copyright (c) mmstepnet contributors. All rights reserved.
"""Pictures and a summary of what the quickstart trained."""
import json
import os
import platform
from collections import defaultdict
from contextlib import redirect_stderr, redirect_stdout
from importlib.metadata import version
from pathlib import Path
from typing import Dict, List, Mapping, NamedTuple, Optional, Tuple

import matplotlib
import numpy as np

# Before MMDetection, which looks for mmcv's operators when it is imported.
import mmstepnet  # noqa: F401

matplotlib.use('Agg')

from matplotlib import pyplot as plt  # noqa: E402

NUM_SCENES = 12
SCORE_THRESHOLD = 0.5
#: Figures that the detector should reach on the held-out scenes.
TARGETS = {'coco/bbox_mAP_50': 0.85, 'coco/bbox_mAP': 0.5}
NAMES = {
    'accuracy/top1': 'accuracy (%)',
    'coco/bbox_mAP': 'AP',
    'coco/bbox_mAP_50': 'AP50',
    'coco/bbox_mAP_75': 'AP75',
    'tns/total': 'TNS'
}


class Box(NamedTuple):
    """A digit in a scene; ``score`` is None for the truth."""
    corners: Tuple[float, float, float, float]
    label: int
    score: Optional[float] = None


def read_scalars(work_dir: Path) -> Dict[str, Dict[int, float]]:
    """Scalars of a training, however often it was resumed.

    Returns:
        dict: For each name, the value at each iteration, or at each epoch
        if it comes from the validation.
    """
    scalars: Dict[str, Dict[int, float]] = defaultdict(dict)
    for path in sorted(work_dir.glob('*/vis_data/scalars.json')):
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            step = entry.pop('step')
            for name, value in entry.items():
                scalars[name][step] = value
    return scalars


def last(values: Mapping[int, float]) -> float:
    """The value at the last step."""
    return values[max(values)]


def draw_curves(trainings: Dict[str, Path], path: Path) -> None:
    """Loss, accuracy and TNS over the trainings, a row for each."""
    figure, axes = plt.subplots(
        len(trainings), 3, figsize=(13, 3.6 * len(trainings)), squeeze=False)
    for row, (title, work_dir) in zip(axes, trainings.items()):
        scalars = read_scalars(work_dir)
        panels = [['loss'], [n for n in NAMES if n in scalars][:-1],
                  ['tns/total']]
        for axis, names in zip(row, panels):
            for name in names:
                steps, values = zip(*sorted(scalars[name].items()))
                errors = None
                if name == 'tns/total':
                    errors = [scalars['tns/stderr'][s] for s in steps]
                axis.errorbar(
                    steps,
                    values,
                    errors,
                    marker='.' if names == ['loss'] else 'o',
                    markersize=4,
                    capsize=3,
                    label=NAMES.get(name, name))
            axis.set_xlabel('iteration' if names == ['loss'] else 'epoch')
            axis.set_title(f'{title}: '
                           f'{", ".join(NAMES.get(n, n) for n in names)}')
            axis.margins(y=0.1)
            axis.set_ylim(bottom=0)
            axis.grid(alpha=0.3)
            if len(names) > 1:
                axis.legend(loc='lower right')
            if names != ['loss']:
                axis.xaxis.get_major_locator().set_params(integer=True)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_boxes(axis, image: np.ndarray, boxes: List[Box], title: str) -> None:
    """A scene with its boxes."""
    axis.imshow(image)
    axis.set_title(title, fontsize=9)
    axis.set_axis_off()
    for box in boxes:
        x1, y1, x2, y2 = box.corners
        colour = plt.get_cmap('tab10')(box.label)
        axis.add_patch(
            plt.Rectangle((x1 - 0.5, y1 - 0.5),
                          x2 - x1,
                          y2 - y1,
                          fill=False,
                          edgecolor=colour,
                          linewidth=1.6))
        text = str(box.label)
        if box.score is not None:
            text += f' {box.score:.2f}'
        axis.text(
            x1,
            max(y1 - 1.5, 7),
            text,
            fontsize=7,
            color='white',
            va='bottom',
            bbox=dict(facecolor=colour, edgecolor='none', pad=1))


def draw_scenes(scenes: List[tuple], path: Path, columns: int) -> None:
    """Scenes, each with its truth at the left of what was detected."""
    rows = -(-len(scenes) // columns)
    figure, axes = plt.subplots(
        rows, 2 * columns, figsize=(5.2 * columns, 2.85 * rows), squeeze=False)
    pairs = axes.reshape(-1, 2)
    for (left, right), (name, image, truth, found) in zip(pairs, scenes):
        draw_boxes(left, image, truth, f'{name}: truth')
        draw_boxes(right, image, found, 'detected')
    figure.tight_layout(pad=0.6)
    figure.savefig(path, dpi=110, bbox_inches='tight')
    plt.close(figure)


def detect(data: Path, config: Path, checkpoint: Path) -> List[tuple]:
    """The first held-out scenes, with their digits and what was detected.

    Returns:
        list[tuple]: For each scene its name, picture (RGB), true and
        detected boxes.
    """
    import mmcv
    from mmdet.apis import inference_detector, init_detector
    from mmengine.device import get_device
    coco = json.loads((data / 'annotations' / 'val.json').read_text())
    truth = defaultdict(list)
    for item in coco['annotations']:
        x, y, w, h = item['bbox']
        truth[item['image_id']].append(
            Box((x, y, x + w, y + h), item['category_id']))
    model = init_detector(str(config), str(checkpoint), device=get_device())
    scenes = []
    for item in coco['images'][:NUM_SCENES]:
        path = data / 'val' / item['file_name']
        found = inference_detector(model, str(path)).pred_instances
        found = found[found.scores >= SCORE_THRESHOLD].cpu().numpy()
        boxes = [
            Box(tuple(corners), int(label),
                float(score)) for corners, label, score in zip(
                    found.bboxes, found.labels, found.scores)
        ]
        image = mmcv.imread(str(path), channel_order='rgb')
        # The surest is drawn last, on top.
        boxes.sort(key=lambda box: box.score)
        scenes.append((item['file_name'], image, truth[item['id']], boxes))
    return scenes


def summarize(classifier: Path, detector: Path, taken: Dict[str, float],
              files: Dict[str, Path]) -> str:
    """The summary in Markdown."""
    first, second = read_scalars(classifier), read_scalars(detector)
    lines = [
        '# Quickstart', '', '| held-out | result | target |',
        '| --- | --- | --- |'
    ]
    lines.append('| classifier, accuracy | '
                 f'{last(first["accuracy/top1"]):.1f} % | |')
    for name in ('coco/bbox_mAP_50', 'coco/bbox_mAP', 'coco/bbox_mAP_75'):
        value, target = last(second[name]), ''
        if name in TARGETS:
            verdict = 'reached' if value >= TARGETS[name] else 'NOT REACHED'
            target = f'at least {TARGETS[name]}: {verdict}'
        lines.append(f'| detector, {NAMES[name]} | {value:.3f} | {target} |')
    for title, scalars in (('classifier', first), ('detector', second)):
        lines.append(f'| {title}, TNS | {last(scalars["tns/total"]):.4f} '
                     f'± {last(scalars["tns/stderr"]):.4f} | |')
    lines += ['', '| step | seconds |', '| --- | --- |']
    lines += [f'| {name} | {taken[name]:.0f} |' for name in taken]
    lines += [f'| all | {sum(taken.values()):.0f} |', '']
    lines += [f'* {name}: {path.resolve()}' for name, path in files.items()]
    releases = ', '.join(f'{name} {version(name)}'
                         for name in ('torch', 'torchvision'))
    lines += [
        '', f'Python {platform.python_version()}, {releases}, '
        f'{os.cpu_count()} CPU cores. Steps that were reused take no time.'
    ]
    return '\n'.join(lines) + '\n'


def write_report(work_dir: Path, data: Path, config: Path, checkpoint: Path,
                 taken: Dict[str, float]) -> str:
    """Draw the pictures and write the summary, which is returned.

    Args:
        work_dir (Path): Folder of the trainings ``classifier`` and
            ``detector``.
        data (Path): Folder of the scenes.
        config (Path): Config of the detector.
        checkpoint (Path): Checkpoint of the detector.
        taken (dict[str, float]): Seconds that each step took.

    Returns:
        str: The summary in Markdown.
    """
    classifier, detector = work_dir / 'classifier', work_dir / 'detector'
    files = {
        'detections on held-out scenes': work_dir / 'detections.png',
        'each scene by itself': work_dir / 'detections',
        'curves of loss, AP and TNS': work_dir / 'curves.png',
        'detector': checkpoint,
        'stiffness of each block': detector / 'tns.jsonl',
        'logs': detector / 'output.log',
        'data': data,
        'this summary': work_dir / 'summary.md'
    }
    draw_curves({
        'Pre-training': classifier,
        'Detection': detector
    }, files['curves of loss, AP and TNS'])
    # MMDetection's own messages would bury the summary.
    with files['logs'].open('a') as log, redirect_stdout(log), \
            redirect_stderr(log):
        scenes = detect(data, config, checkpoint)
    draw_scenes(scenes[:6], files['detections on held-out scenes'], columns=2)
    files['each scene by itself'].mkdir(exist_ok=True)
    for scene in scenes:
        draw_scenes([scene],
                    files['each scene by itself'] / scene[0],
                    columns=1)
    summary = summarize(classifier, detector, taken, files)
    files['this summary'].write_text(summary)
    return summary
