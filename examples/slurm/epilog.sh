#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Slurm: Epilog (slurm.conf: Epilog=/etc/slurm/epilog.d/ringside.sh), as root, on each node of a job
# that has ended. Processes of the job that were killed have left their rings in /dev/shm: their traces
# are completed, as the job's user, and the memory is free again.
# Slurm gives an Epilog no PATH. The shell's own default is for the shell alone.
export PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/opt/ringside/bin
[ -n "${SLURM_JOB_ID:-}" ] && [ -n "${SLURM_JOB_USER:-}" ] || exit 0
command -v ringside > /dev/null || exit 0

# Status 3: there are no rings of this job. A node is not drained for a trace.
timeout 120 runuser -u "$SLURM_JOB_USER" -- \
  ringside recover --quiet --job "$SLURM_JOB_ID" "${RINGSIDE_RING_DIR:-/dev/shm}" > /dev/null 2>&1
exit 0
