# Copyright (c) mmstepnet contributors. All rights reserved.
# SGD for 300 epochs, a rate of 0.1 that falls tenfold at 150 and 225.
optim_wrapper = dict(
    optimizer=dict(type='SGD', lr=0.1, momentum=0.9, weight_decay=1e-4))
param_scheduler = dict(
    type='MultiStepLR', by_epoch=True, milestones=[150, 225], gamma=0.1)

train_cfg = dict(by_epoch=True, max_epochs=300, val_interval=1)
val_cfg = dict()
test_cfg = dict()

# One process with 128 images; `--auto-scale-lr` scales the rate to yours.
auto_scale_lr = dict(base_batch_size=128)
