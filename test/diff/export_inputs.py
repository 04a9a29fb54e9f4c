# SPDX-License-Identifier: Apache-2.0
"""Inputs of the cases of `ringside export` that need no file: what it says before it writes one."""

from match_inputs import odd_one, ranks


def cases():
    return {
        "help-export": ("export --help", {}),
        "usage-export-nowhere": ("export traces", ranks(4, odd_one)),
        "usage-export-not-writable": ("export --force --csv /dev/null/tables traces", ranks(4, odd_one)),
    }
