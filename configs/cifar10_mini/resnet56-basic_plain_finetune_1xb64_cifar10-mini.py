# Copyright (c) mmstepnet contributors. All rights reserved.
# A ResNet-56 that others have trained, trained on for two epochs. The file is
# that of github.com/akamaster/pytorch_resnet_cifar10.
_base_ = './resnet56-basic_plain_1xb64_cifar10-mini.py'

checkpoint = 'checkpoints/resnet56-4bfd9763.th'
max_epochs = 2

model = dict(init_cfg=dict(type='mmstepnet.WarmStart', checkpoint=checkpoint))
train_cfg = dict(max_epochs=max_epochs, val_interval=1)
param_scheduler = dict(eta_max=0.01, total_steps=max_epochs)
default_hooks = dict(checkpoint=dict(interval=max_epochs))
