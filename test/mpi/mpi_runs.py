# SPDX-License-Identifier: Apache-2.0
"""Runs ringside-mpi under an mpiexec, each process with its own stdout and stderr."""

import os
import pathlib
import subprocess
import tempfile

# Open MPI: root may run it, more processes than cores may run, each on any core, all on this machine;
# a container may not read another process's memory.
ENVIRONMENT = {
    **os.environ, "LC_ALL": "C", "COLUMNS": "", "TMPDIR": "/tmp",
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_plm": "isolated", "OMPI_MCA_btl": "self,vader",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}

# What a starter says itself is not the program's.
OWN_FILES = 'r=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; o=$1; shift; exec "$@" > "$o/$r.out" 2> "$o/$r.err"'


class Mpi:
    def __init__(self, mpiexec, program):
        self.mpiexec = mpiexec
        self.program = str(pathlib.Path(program).resolve())

    def run(self, processes, directory, words, program=None, **environment):
        """Status, stdout and stderr of process 0, and what all others have printed."""
        return self.run_parts([(processes, directory, {}, words)], program, **environment)

    def run_parts(self, parts, program=None, **environment):
        """The same, with parts of the processes: how many, where, with which variables, which words."""
        with tempfile.TemporaryDirectory() as output:
            command = [self.mpiexec]
            for processes, directory, variables, words in parts:
                command += [":"] if len(command) > 1 else []
                command += ["-n", str(processes), "-wdir", str(directory), "env",
                            *(f"{name}={value}" for name, value in variables.items()),
                            "sh", "-c", OWN_FILES, "sh", output, program or self.program, *words]
            result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=120,
                                    check=False, env={**ENVIRONMENT, **environment})
            texts = {path.name: path.read_text(encoding="utf-8", errors="backslashreplace")
                     for path in pathlib.Path(output).iterdir()}
        first = texts.pop("0.out", ""), texts.pop("0.err", "")
        return result.returncode, *first, "".join(texts.values())
