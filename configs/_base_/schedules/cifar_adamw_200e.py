# Copyright (c) mmstepnet contributors. All rights reserved.
# AdamW for 200 epochs, of which 10 warm up, the rate along a cosine.
optim_wrapper = dict(
    optimizer=dict(type='AdamW', lr=5e-4, weight_decay=0.05),
    paramwise_cfg=dict(
        norm_decay_mult=0.,
        bias_decay_mult=0.,
        custom_keys={
            'pos_embed': dict(decay_mult=0.),
            '.step.': dict(decay_mult=0.)
        }))
param_scheduler = [
    dict(
        type='LinearLR',
        start_factor=1e-3,
        end=10,
        by_epoch=True,
        convert_to_iter_based=True),
    dict(type='CosineAnnealingLR', begin=10, eta_min=1e-5, by_epoch=True)
]

train_cfg = dict(by_epoch=True, max_epochs=200, val_interval=1)
val_cfg = dict()
test_cfg = dict()

# One process with 128 images; `--auto-scale-lr` scales the rate to yours.
auto_scale_lr = dict(base_batch_size=128)
