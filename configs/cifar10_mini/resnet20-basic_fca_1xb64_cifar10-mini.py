# Copyright (c) mmstepnet contributors. All rights reserved.
_base_ = './resnet20-basic_plain_1xb64_cifar10-mini.py'

# Biases give the paper's parameter count; the authors' code has none. The
# sizes are the multiples of 7 next below the maps of the three stages.
model = dict(
    backbone=dict(step=[
        dict(type='mmstepnet.FCA', size=size, bias=True)
        for size in (28, 14, 7)
    ]))
