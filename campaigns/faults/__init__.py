# Copyright (c) mmstepnet contributors. All rights reserved.
