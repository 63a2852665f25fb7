# Copyright (c) mmstepnet contributors. All rights reserved.
"""Broken inputs of every kind, and how they end; see docs/bad_input.md."""
