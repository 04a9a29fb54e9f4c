# SPDX-License-Identifier: Apache-2.0
"""python -m nccl_ringside: where the plugin is, and whether it is in this process."""

from __future__ import annotations

import argparse
import sys

from . import plugin_path


def main() -> int:
    """Prints the plugin's path; 1 if the package has none."""
    parser = argparse.ArgumentParser(prog="python -m nccl_ringside")
    parser.add_argument(
        "--plugin-path",
        action="store_true",
        required=True,
        help="print the plugin's file, for NCCL_PROFILER_PLUGIN",
    )
    parser.parse_args()
    try:
        print(plugin_path())
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
