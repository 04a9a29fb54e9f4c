/* SPDX-License-Identifier: Apache-2.0
 * Slurm: `srun --ringside ...` and `sbatch --ringside=DIRECTORY job.sbatch` record a job, whatever
 * its script does. Where the option is not given, or a job has a profiler plugin already, nothing
 * is set.
 *
 *   gcc -shared -fPIC -o /usr/lib/slurm/spank_ringside.so spank_ringside.c     # needs libslurm-dev
 *
 * /etc/slurm/plugstack.conf, on all nodes:
 *   optional spank_ringside.so plugin=/opt/ringside/lib/libnccl-profiler-ringside.so
 *
 * Traces go to DIRECTORY, else to traces/JOB in the directory where the job was submitted.
 */
#include <limits.h>
#include <slurm/spank.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

SPANK_PLUGIN(ringside, 1)

static int wanted;
static char directory[PATH_MAX];

static int take_option(int value, const char* argument, int remote) {
  (void)value;
  (void)remote;
  wanted = 1;
  snprintf(directory, sizeof directory, "%s", argument ? argument : "");
  return ESPANK_SUCCESS;
}

int slurm_spank_init(spank_t spank, int count, char** arguments) {
  struct spank_option option = {"ringside",
                                "DIRECTORY",
                                "record NCCL with Ringside [traces/JOB]",
                                2 /* an argument may follow */,
                                0,
                                take_option};
  (void)count;
  (void)arguments;
  return spank_option_register(spank, &option);
}

/* As the job's user, in each task before its program starts. An error would end the job. */
int slurm_spank_task_init(spank_t spank, int count, char** arguments) {
  const char* plugin = "/opt/ringside/lib/libnccl-profiler-ringside.so";
  char submitted[PATH_MAX] = ".", place[2 * PATH_MAX];
  uint32_t job = 0;
  int i;

  for (i = 0; i < count; i++) {
    if (strncmp(arguments[i], "plugin=", 7) == 0) plugin = arguments[i] + 7;
  }
  if (!wanted || spank_setenv(spank, "NCCL_PROFILER_PLUGIN", plugin, 0) != ESPANK_SUCCESS) {
    return ESPANK_SUCCESS;
  }
  spank_get_item(spank, S_JOB_ID, &job);
  spank_getenv(spank, "SLURM_SUBMIT_DIR", submitted, sizeof submitted);
  snprintf(place, sizeof place, "%s/traces/%u", submitted, job);
  /* What `ringside env` sets; variables of the job's own stay. */
  spank_setenv(spank, "RINGSIDE_DIR", *directory ? directory : place, 0);
  spank_setenv(spank, "RINGSIDE_HANG_SECONDS", "120", 0);
  spank_setenv(spank, "NCCL_ALLGATHERV_ENABLE", "0", 0);
  return ESPANK_SUCCESS;
}
