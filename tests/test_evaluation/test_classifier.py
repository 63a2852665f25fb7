# Copyright (c) mmstepnet contributors. All rights reserved.
import pytest
import torch
from classifiers import tiny_classifier
from torch import nn

from mmstepnet.evaluation import Ensemble, PixelClassifier


@pytest.mark.mmpretrain
def test_same_scores_as_mmpretrain():
    model = tiny_classifier()
    pixels = torch.randint(0, 256, (4, 3, 32, 32), dtype=torch.uint8)
    logits = PixelClassifier(model)(pixels.float() / 255)
    samples = model.test_step(dict(inputs=pixels))
    for row, sample in zip(logits.softmax(1), samples):
        torch.testing.assert_close(row, sample.pred_score)


@pytest.mark.mmpretrain
def test_gradient_reaches_the_pixels():
    images = torch.rand(2, 3, 32, 32, requires_grad=True)
    PixelClassifier(tiny_classifier())(images)[:, 0].sum().backward()
    assert images.grad.ne(0).any(dim=(1, 2, 3)).all()


def test_models_of_another_kind():
    with pytest.raises(ValueError, match='data_preprocessor, got Linear'):
        PixelClassifier(nn.Linear(2, 2))


def test_outputs_of_another_kind():

    class Detector(nn.Module):

        def data_preprocessor(self, data, training):
            return data

        def forward(self, inputs, mode):
            return (inputs, )

    with pytest.raises(ValueError, match='logits .N, K. .* got a tuple'):
        PixelClassifier(Detector())(torch.zeros(1, 3, 2, 2))


def test_ensemble_averages_probabilities():
    members = [nn.Linear(3, 4) for _ in range(3)]
    x = torch.randn(5, 3)
    expected = torch.stack([m(x).softmax(1) for m in members]).mean(0)
    torch.testing.assert_close(Ensemble(members)(x).exp(), expected)
    with pytest.raises(ValueError, match='at least one member'):
        Ensemble([])
