# Copyright (c) mmstepnet contributors. All rights reserved.
from abc import abstractmethod
from typing import Any, Optional, Sequence, Tuple

import torch
import torch.nn.functional as F
from mmengine.model import BaseModule, Sequential
from mmengine.model.weight_init import trunc_normal_
from torch import Tensor, nn

from mmstepnet.arguments import CheckedArguments, Positive
from mmstepnet.registry import MODELS
from mmstepnet.steps import StepConfig, build_step
from .placement import place_steps


class TokenBlock(BaseModule):
    """A residual branch on normalized tokens and a step.

    States are maps (N, C, H, W) of tokens, so that every step works on them.

    Args:
        embed_dims (int): Channels C of a token.
        step (str | dict, optional): The step. Defaults to None, a plain
            residual block.
        init_cfg (dict, optional): Initialization config.
    """

    def __init__(self,
                 embed_dims: int,
                 *,
                 step: StepConfig = None,
                 init_cfg: Optional[dict] = None) -> None:
        super().__init__(init_cfg)
        self.norm = nn.LayerNorm(embed_dims)
        self.step = build_step(step, embed_dims)

    @abstractmethod
    def branch(self, tokens: Tensor) -> Tensor:
        """The branch on normalized tokens, (N, L, C) -> (N, L, C)."""

    def residual(self, x: Tensor) -> Tensor:
        """The residual branch f, (N, C, H, W) -> (N, C, H, W)."""
        tokens = self.norm(x.flatten(2).transpose(1, 2))
        return self.branch(tokens).transpose(1, 2).reshape(x.shape)

    def forward(self, x: Tensor) -> Tensor:
        """(N, C, H, W) -> (N, C, H, W)."""
        return self.step(self.residual(x), x)


class AttentionBlock(TokenBlock):
    """Multi-head self-attention.

    Args:
        embed_dims (int): Channels C of a token.
        num_heads (int): Number of heads.
        **kwargs: Arguments of :class:`TokenBlock`.
    """

    def __init__(self, embed_dims: int, num_heads: int, **kwargs: Any) -> None:
        super().__init__(embed_dims, **kwargs)
        self.attention = nn.MultiheadAttention(
            embed_dims, num_heads, batch_first=True)

    def branch(self, tokens: Tensor) -> Tensor:
        return self.attention(tokens, tokens, tokens, need_weights=False)[0]


class ValueBlock(TokenBlock):
    """What is left of self-attention without the attention.

    The values and the output projection, applied to each token alone.

    Args:
        embed_dims (int): Channels C of a token.
        **kwargs: Arguments of :class:`TokenBlock`.
    """

    def __init__(self, embed_dims: int, **kwargs: Any) -> None:
        super().__init__(embed_dims, **kwargs)
        self.value = nn.Linear(embed_dims, embed_dims)
        self.project = nn.Linear(embed_dims, embed_dims)

    def branch(self, tokens: Tensor) -> Tensor:
        return self.project(self.value(tokens))


class FeedForwardBlock(TokenBlock):
    """Two linear layers with a GELU between them, on each token alone.

    Args:
        embed_dims (int): Channels C of a token.
        hidden_dims (int): Width between the two layers.
        **kwargs: Arguments of :class:`TokenBlock`.
    """

    def __init__(self, embed_dims: int, hidden_dims: int,
                 **kwargs: Any) -> None:
        super().__init__(embed_dims, **kwargs)
        self.fc1 = nn.Linear(embed_dims, hidden_dims)
        self.fc2 = nn.Linear(hidden_dims, embed_dims)

    def branch(self, tokens: Tensor) -> Tensor:
        return self.fc2(F.gelu(self.fc1(tokens)))


@MODELS.register_module()
class VisionTransformer(CheckedArguments, BaseModule):
    r"""Small vision transformer whose token-mixing blocks take a step.

    Self-attention weighs the values of tokens by their similarity,
    :math:`x_{t+1} = x_t + A(x_t) V(x_t) W`. StepNet in its place,
    ``attention=False, step=dict(type='mmstepnet.StepNet')``, leaves the
    values and the projection, :math:`f(x_t) = V(x_t) W`, and weighs them by a
    step size a channel from the states :math:`x_t` and :math:`x_t + f(x_t)`
    averaged over the tokens,

    .. math:: x_{t+1} = x_t + f(x_t) \, \Delta t(x_t, x_t + f(x_t)) .

    Tokens then meet only in those averages. With ``attention=True`` the step
    comes on top of the attention. Feed-forward blocks stay plain. All blocks
    are one stage ``layer1``, in which they alternate.

    StepNet's paper puts its adaptor in place of the attention of a ViT for
    small images and leaves the size, the pooling and the rest of the block
    open. Ours: the size of ViT-Lite-7/4 (7 layers of width 256 with 4 heads
    and a hidden width of 512, patches of 4x4: 3.7 million parameters),
    learned positions, and no class token, so that the tokens are a map to
    every step and its mean is what is classified.

    Args:
        step (str | dict, optional): The step of the token-mixing blocks.
            Defaults to None, a plain transformer.
        attention (bool): Whether token-mixing blocks have self-attention.
            Defaults to True.
        step_blocks (Sequence[int], optional): Layers, from 0, whose
            token-mixing block takes the step. Defaults to None, all.
        img_size (int): Height and width of the images for which the
            positions are made; they are interpolated for others. Defaults to
            32.
        patch_size (int): Height and width of a patch. Defaults to 4.
        in_channels (int): Channels of the image. Defaults to 3.
        embed_dims (int): Channels of a token. Defaults to 256.
        num_layers (int): Number of layers of two blocks. Defaults to 7.
        num_heads (int): Heads of the attention. Defaults to 4.
        mlp_ratio (float): Hidden width of the feed-forward blocks over
            ``embed_dims``. Defaults to 2.
        init_cfg (dict | list[dict], optional): Initialization config.

    Raises:
        ValueError: If ``num_heads`` or ``patch_size`` doesn't divide, or a
            step or its place is not possible.

    Source:
        Dosovitskiy et al., "An Image is Worth 16x16 Words", ICLR 2021; the
        size is from Hassani et al., "Escaping the Big Data Paradigm with
        Compact Transformers", arXiv 2104.05704; StepNet's paper, appendix G.

    Example:
        >>> import torch
        >>> model = VisionTransformer('StepNet', attention=False)
        >>> model(torch.rand(3, 3, 32, 32))[0].shape
        torch.Size([3, 256, 8, 8])
    """

    def __init__(self,
                 step: StepConfig = None,
                 attention: bool = True,
                 step_blocks: Optional[Sequence[int]] = None,
                 img_size: Positive = 32,
                 patch_size: Positive = 4,
                 in_channels: Positive = 3,
                 embed_dims: Positive = 256,
                 num_layers: Positive = 7,
                 num_heads: Positive = 4,
                 mlp_ratio: float = 2.,
                 init_cfg: Optional[dict] = None) -> None:
        super().__init__(
            init_cfg or dict(type='TruncNormal', layer='Linear', std=0.02))
        for name, value, whole in (('num_heads', num_heads, embed_dims),
                                   ('patch_size', patch_size, img_size)):
            if whole % value:
                raise ValueError(f'{name} must divide {whole}, got {value!r}')
        if not embed_dims * mlp_ratio >= 1:
            raise ValueError('mlp_ratio must leave at least one of '
                             f'embed_dims={embed_dims}, got {mlp_ratio!r}')
        grid = img_size // patch_size
        self.patch_embed = nn.Conv2d(
            in_channels, embed_dims, patch_size, stride=patch_size)
        self.pos_embed = nn.Parameter(torch.empty(1, embed_dims, grid, grid))
        self.layer1 = Sequential()
        steps, = place_steps(step, (num_layers, ), (False, ),
                             None if step_blocks is None else (step_blocks, ))
        for place in steps:
            self.layer1.append(
                AttentionBlock(embed_dims, num_heads, step=place)
                if attention else ValueBlock(embed_dims, step=place))
            self.layer1.append(
                FeedForwardBlock(embed_dims, int(embed_dims * mlp_ratio)))
        self.norm = nn.LayerNorm(embed_dims)
        self.feat_dim = embed_dims
        trunc_normal_(self.pos_embed, std=0.02)

    def forward(self, x: Tensor) -> Tuple[Tensor]:
        """Map of the last tokens.

        Args:
            x (Tensor): Images, (N, ``in_channels``, H, W).

        Returns:
            tuple[Tensor]: The map, (N, ``embed_dims``, H', W').

        Raises:
            ValueError: If the images are smaller than a patch.
        """
        patch = self.patch_embed.kernel_size
        try:
            x = self.patch_embed(x)
        except RuntimeError as error:
            if x.ndim == 4 and min(x.shape[2:]) < patch[0]:
                raise ValueError(
                    f'expected images of at least {patch[0]} x {patch[1]} '
                    f'pixels, a patch, got {x.shape[2]} x {x.shape[3]}'
                ) from error
            raise
        positions: Tensor = self.pos_embed
        if positions.shape[2:] != x.shape[2:]:
            positions = F.interpolate(
                positions, x.shape[2:], mode='bicubic', align_corners=False)
        x = self.layer1(x + positions)
        return (self.norm(x.movedim(1, -1)).movedim(-1, 1), )
