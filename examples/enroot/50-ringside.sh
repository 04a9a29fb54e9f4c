#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# enroot, and so pyxis (srun --container-image): a hook for /etc/enroot/hooks.d. It puts the installed
# Ringside of the host (the archive of scripts/build_packages.sh in /opt/ringside) and the variables of
# the job into every container.
#
# The job has the variables from its script (`ringside env`), or from the TaskProlog of ../slurm.
# The directory of traces is mounted under its own name; /dev/shm is the host's in enroot, so the rings
# of processes that were killed are found on the host by `ringside recover`.
set -euo pipefail

[ -n "${NCCL_PROFILER_PLUGIN-}" ] && [ -e "$NCCL_PROFILER_PLUGIN" ] || exit 0

for name in NCCL_PROFILER_PLUGIN NCCL_ALLGATHERV_ENABLE $(compgen -e RINGSIDE_ || true); do
  # The container's own, and what its command line sets, come first.
  if [ -n "${!name-}" ] && ! grep -q "^$name=" "$ENROOT_ENVIRON"; then
    printf '%s=%s\n' "$name" "${!name}" >> "$ENROOT_ENVIRON"
  fi
done
# The archive whole, so that `ringside` is there, too; from /usr only the plugin.
place=${NCCL_PROFILER_PLUGIN%/lib/*}
if [ "$place" != /usr ] && [ -x "$place/bin/ringside" ]; then
  printf '%s x-create=dir,bind,ro,nosuid,nodev,private\n' "$place" >> "$ENROOT_MOUNTS"
else
  printf '%s x-create=file,bind,ro,nosuid,nodev,private\n' "$NCCL_PROFILER_PLUGIN" >> "$ENROOT_MOUNTS"
fi
if [ -n "${RINGSIDE_DIR-}" ]; then
  mkdir -p "$RINGSIDE_DIR"
  printf '%s x-create=dir,bind,rw,nosuid,nodev,private\n' "$RINGSIDE_DIR" >> "$ENROOT_MOUNTS"
fi
