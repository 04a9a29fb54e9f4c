/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ringside's C API: start, stop, dump and ask the profiler of this process while a job runs.
 *
 * Every function may be called from any thread at any time: before NCCL has loaded the plugin,
 * while communicators are created, used and destroyed, and after NCCL let the plugin go. None of
 * them throws, aborts, prints, or waits for NCCL. In the child of a fork all of them return
 * RINGSIDE_ERROR_DISABLED.
 *
 * An application reaches the instance that NCCL loaded either by linking with
 * libnccl-profiler-ringside.so (the same file that NCCL_PROFILER_PLUGIN names) or, without linking,
 * with ringside_open() below, which looks the functions up in the file that NCCL_PROFILER_PLUGIN
 * names.
 *
 * Structs begin with struct_size. The caller sets it to sizeof of the struct that it was compiled
 * with; fields are only ever added at the end, and the library reads and writes no more than
 * struct_size bytes.
 */
#ifndef RINGSIDE_RINGSIDE_H
#define RINGSIDE_RINGSIDE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(RINGSIDE_BUILDING_PLUGIN)
#define RINGSIDE_API __attribute__((visibility("default")))
#else
#define RINGSIDE_API
#endif

/* What the functions return. 0 is success; errors are negative and keep their number for ever. */
enum {
  RINGSIDE_OK = 0,
  RINGSIDE_ERROR_ARGUMENT =
      -1, /* NULL where a value is needed, a struct_size that is too small, an unknown event */
  RINGSIDE_ERROR_EXISTS = -2, /* the file to dump to exists already; nothing was overwritten */
  RINGSIDE_ERROR_IO = -3,     /* a file could not be created or written; errno says why */
  RINGSIDE_ERROR_DISABLED =
      -4, /* this process records nothing: the child of a fork, or no memory at load */
  RINGSIDE_ERROR_TIMEOUT = -5, /* the dump was not whole within ten seconds: none is made */
  RINGSIDE_ERROR_NOT_FOUND =
      -6, /* ringside_open() only: no such library, it is not Ringside, or it lacks a function */
  RINGSIDE_ERROR_BUSY = -7 /* too much waits to be written; nothing was done, or the mark is lost */
};

/* How to start. A NULL pointer to it, or a NULL events, means the configured events
 * (RINGSIDE_EVENTS). */
typedef struct ringside_start_options {
  size_t struct_size;
  const char*
      events; /* comma-separated names as RINGSIDE_EVENTS takes them, e.g. "coll,p2p,kernel" */
} ringside_start_options;

/* What the profiler is doing. All counts are since the plugin was loaded. */
typedef struct ringside_status_info {
  size_t struct_size;
  int32_t started;       /* 1 between ringside_start and ringside_stop */
  int32_t abi_version;   /* of NCCL's profiler interface, 1 to 7; 0 before NCCL has called init */
  int32_t nccl_version;  /* as ncclGetVersion gives it, e.g. 22907; 0 if not known */
  int32_t wanted_mask;   /* event bits that Ringside asks NCCL for now; 0 when stopped */
  int32_t actual_mask;   /* what NCCL's mask holds: others may overwrite it, and what NCCL is not
                            asked for then is not recorded until ringside_start writes it again, or
                            it is as it was; -1 while NCCL has given none. Of several NCCLs in the
                            process it is that of one whose mask others have changed */
  int32_t communicators; /* initialised and not finalized */
  uint64_t windows;      /* how often recording was started */
  uint64_t callbacks;    /* NCCL's calls of start, state and stop that reached the recorder */
  uint64_t operations;   /* finished operations written to the trace */
  uint64_t dropped; /* callbacks lost, for whatever reason; the trace says by type and reason */
  uint64_t bytes_written;  /* to the trace, also to segments of it that are deleted */
  int32_t trouble;         /* 1 if files cannot be written (now or ever before); see RINGSIDE_LOG */
  char trace_path[1024];   /* the trace's first file, or an empty string while there is none */
  uint64_t bytes_kept;     /* in the trace's files, or in memory; see RINGSIDE_MAX_BYTES */
  uint64_t rotated;        /* callbacks that were in segments that are deleted */
  int32_t flight_recorder; /* 1 if the trace is in memory only; see RINGSIDE_FLIGHT_SECONDS */
} ringside_status_info;

/*
 * Begins a window of recording; operations whose first event comes from now on are recorded, whole.
 * While started already: RINGSIDE_OK; events, if given, apply to operations that begin from now on.
 * Before NCCL is up the wish is kept and holds as soon as it is. RINGSIDE_ERROR_BUSY: 4,096 starts
 * and stops wait to be written, and nothing was begun; a stop always has room.
 */
RINGSIDE_API int ringside_start(const ringside_start_options* options);

/* Ends the window. Operations that began in it are still recorded to their end. Idempotent. */
RINGSIDE_API int ringside_stop(void);

/*
 * Writes a complete trace of everything up to now to path, a new file (mode 0600): the trace so far
 * and the operations in flight, marked so. Returns when the file is complete; on an error there is
 * none, also later. While it is written its name has `.PID.part` behind it. NULL: a name beside the
 * trace.
 */
RINGSIDE_API int ringside_dump(const char* path);

/* Fills info, whose struct_size the caller has set. */
RINGSIDE_API int ringside_status(ringside_status_info* info);

/* Version of the library, "major.minor.patch"; never NULL, static. */
RINGSIDE_API const char* ringside_version(void);

/* Puts a marker with this text (UTF-8, cut at 1,000 bytes) into the trace, now, on the calling
 * thread. 65,536 markers, beginnings and ends of ranges may wait to be written. What is more is
 * lost, is counted in the trace and returns RINGSIDE_ERROR_BUSY; before NCCL is up, where all of
 * them wait, RINGSIDE_ERROR_DISABLED. */
RINGSIDE_API int ringside_mark(const char* text);

/*
 * Begins a range of the calling thread, and ends the innermost one that it has begun. Ranges nest,
 * are slices of the thread in the trace, and what is called in one can be looked at by its name
 * (`ringside summary --group-by range`, `--from mark:TEXT`). text as in ringside_mark. source, a
 * line of the program as in "train.py:17", is told beside it; NULL: none. 256 ranges of a thread
 * nest, 4,096 of the process are open together; what begins beyond that is lost, as a mark that has
 * no room is, and its end with it. The end of any other range always has room. ringside_pop without
 * a range does nothing.
 */
RINGSIDE_API int ringside_push(const char* text, const char* source);
RINGSIDE_API int ringside_pop(void);

/*
 * The same functions, looked up in the library that NCCL_PROFILER_PLUGIN names, for programs that
 * do not link with it. Needs <dlfcn.h>, and -ldl with C libraries older than glibc 2.34. Define
 * RINGSIDE_NO_OPEN before the include to leave this part out.
 */
typedef struct ringside_functions {
  int (*start)(const ringside_start_options* options);
  int (*stop)(void);
  int (*dump)(const char* path);
  int (*status)(ringside_status_info* info);
  const char* (*version)(void);
  int (*mark)(const char* text);
  int (*push)(const char* text, const char* source);
  int (*pop)(void);
} ringside_functions;

#ifdef __cplusplus
}
#endif

#if !defined(RINGSIDE_NO_OPEN) && !defined(RINGSIDE_BUILDING_PLUGIN)
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* dlopen of the same file gives the instance that NCCL has loaded, or will load. NCCL tries the
 * value as it is, and then, unless it looks like a file name, libnccl-profiler-<value>.so; so does
 * this. */
static inline void* ringside_open_library(const char* name) {
  char file[1024];
  void* library;
  if (name == NULL || name[0] == '\0') name = "libnccl-profiler.so";
  library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library != NULL || strchr(name, '/') != NULL) return library;
  if (snprintf(file, sizeof file, "libnccl-profiler-%s.so", name) >= (int)sizeof file) return NULL;
  return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

/* What stands for push and pop where the library is older than they are. */
static inline int ringside_no_push(const char* text, const char* source) {
  (void)text;
  (void)source;
  return RINGSIDE_ERROR_NOT_FOUND;
}
static inline int ringside_no_pop(void) {
  return RINGSIDE_ERROR_NOT_FOUND;
}

/*
 * Fills functions. RINGSIDE_ERROR_NOT_FOUND: the library cannot be loaded or has not Ringside's
 * functions; then all members are NULL. The library stays loaded. With one that is older than push
 * and pop, these two do nothing but return RINGSIDE_ERROR_NOT_FOUND.
 */
static inline int ringside_open(ringside_functions* functions) {
  static const char* const names[] = {"ringside_start",  "ringside_stop",    "ringside_dump",
                                      "ringside_status", "ringside_version", "ringside_mark",
                                      "ringside_push",   "ringside_pop"};
  enum { count = sizeof names / sizeof names[0], needed = 6 };
  void* found[count];
  void* library;
  size_t i;
  if (functions == NULL) return RINGSIDE_ERROR_ARGUMENT;
  memset(functions, 0, sizeof *functions);
  library = ringside_open_library(getenv("NCCL_PROFILER_PLUGIN"));
  if (library == NULL) return RINGSIDE_ERROR_NOT_FOUND;
  for (i = 0; i < count; i++) {
    found[i] = dlsym(library, names[i]);
    if (found[i] == NULL && i < needed) {
      dlclose(library);
      return RINGSIDE_ERROR_NOT_FOUND;
    }
  }
  memcpy(functions, found, sizeof *functions);
  if (functions->push == NULL || functions->pop == NULL) {
    functions->push = ringside_no_push;
    functions->pop = ringside_no_pop;
  }
  return RINGSIDE_OK;
}
#endif /* RINGSIDE_NO_OPEN */

#endif /* RINGSIDE_RINGSIDE_H */
