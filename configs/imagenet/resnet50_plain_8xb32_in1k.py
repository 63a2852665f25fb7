# Copyright (c) mmstepnet contributors. All rights reserved.
# The paper's ImageNet recipe: batch 256, 120 epochs, a rate of 0.1 that falls
# tenfold at 30, 60 and 90, weight decay 1e-4.
_base_ = 'mmpretrain::resnet/resnet50_8xb32_in1k.py'

model = dict(backbone=dict(type='mmstepnet.ResNet'))

train_cfg = dict(max_epochs=120)
custom_hooks = [dict(type='mmstepnet.TNSHook')]

# 8 GPUs with 32 images each; `--auto-scale-lr` scales the rate to yours.
auto_scale_lr = dict(base_batch_size=256)
