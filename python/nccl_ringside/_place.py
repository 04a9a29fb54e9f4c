# SPDX-License-Identifier: Apache-2.0
"""Finds the plugin that is installed with this package."""

from __future__ import annotations

import os
import sys

PLUGIN_NAME = "libnccl-profiler-ringside.so"


def plugin_path() -> str:
    """The plugin's file, for NCCL_PROFILER_PLUGIN. FileNotFoundError if the package has none."""
    import nccl_ringside

    # An editable installation has its module in the sources, and what was built where packages are.
    built = [os.path.join(entry, "nccl_ringside") for entry in sys.path]
    for directory in [*nccl_ringside.__path__, *built]:
        path = os.path.join(os.path.realpath(directory), "lib", PLUGIN_NAME)
        if os.path.isfile(path):
            return path
    raise FileNotFoundError(
        f"{PLUGIN_NAME} is not in the package nccl_ringside; install it with pip, or build Ringside"
    )
