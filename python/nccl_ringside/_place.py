# SPDX-License-Identifier: Apache-2.0
"""Finds the plugin and the tool that are installed with this package."""

from __future__ import annotations

import glob
import os
import shutil
import sys
import sysconfig

PLUGIN_NAME = "libnccl-profiler-ringside.so"


def _prefix() -> str:
    """The prefix of `cmake --install`: this file is in share/ringside/python there."""
    place = os.path.realpath(__file__)
    for _ in range(5):
        place = os.path.dirname(place)
    return place


def plugin_path() -> str:
    """The plugin's file, for NCCL_PROFILER_PLUGIN. FileNotFoundError if the package has none."""
    import nccl_ringside

    # An editable installation has its module in the sources, and what was built where packages are.
    built = [os.path.join(entry, "nccl_ringside") for entry in sys.path]
    for directory in [*nccl_ringside.__path__, *built]:
        path = os.path.join(os.path.realpath(directory), "lib", PLUGIN_NAME)
        if os.path.isfile(path):
            return path
    if os.path.isdir(os.path.join(_prefix(), "share", "ringside", "python", "nccl_ringside")):
        for pattern in ("lib*", os.path.join("lib", "*")):
            for path in sorted(glob.glob(os.path.join(_prefix(), pattern, PLUGIN_NAME))):
                return path
    raise FileNotFoundError(
        f"{PLUGIN_NAME} is not in the package nccl_ringside; install it with pip, or build Ringside"
    )


def tool_path() -> str:
    """The tool `ringside`. FileNotFoundError if there is none."""
    import nccl_ringside

    # After `pip install --target DIRECTORY` it is in DIRECTORY/bin.
    near_package = [os.path.join(os.path.dirname(place), "bin") for place in nccl_ringside.__path__]
    places = [sysconfig.get_path("scripts"), *near_package, os.path.join(_prefix(), "bin")]
    found = shutil.which("ringside", path=os.pathsep.join(places)) or shutil.which("ringside")
    if found is None:
        raise FileNotFoundError("the tool ringside is neither next to this Python nor in PATH")
    return found
