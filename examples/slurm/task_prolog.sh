#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Slurm: TaskProlog (slurm.conf: TaskProlog=/etc/slurm/task_prolog.sh, or srun --task-prolog=FILE).
# All jobs are recorded, or those of one user, without a change of their scripts. Slurm puts what this
# prints as `export NAME=value` into the task's environment, without quotes.
#
# RINGSIDE=off in a job's environment leaves it alone. Nothing that goes wrong here ends a job.
export PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/opt/ringside/bin
[ "${RINGSIDE:-on}" != off ] && [ -z "${NCCL_PROFILER_PLUGIN:-}" ] || exit 0

directory=${RINGSIDE_DIR:-${SLURM_SUBMIT_DIR:-$PWD}/traces/${SLURM_JOB_ID:-job}}
variables=$(ringside env --dir "$directory" 2> /dev/null) || exit 0
# In a shell of its own: the values are quoted for a shell.
(
  eval "$variables"
  for name in NCCL_PROFILER_PLUGIN NCCL_ALLGATHERV_ENABLE $(compgen -e RINGSIDE_); do
    value=${!name-}
    # A value of several lines cannot be passed on in this way.
    [ -z "$value" ] || [[ $value = *$'\n'* ]] || echo "export $name=$value"
  done
)
exit 0
