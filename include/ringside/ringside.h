/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ringside's C API: start, stop, dump and ask the profiler of this process while a job runs.
 *
 * Every function may be called from any thread at any time: before NCCL has loaded the plugin,
 * while communicators are created, used and destroyed, and after NCCL let the plugin go. None of
 * them throws, aborts, prints, or waits for NCCL. None may be called in a signal handler, which may
 * have interrupted the plugin within a record. In the child of a fork all of them return
 * RINGSIDE_ERROR_DISABLED if the parent had opened a communicator, or dumped, before.
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

/* The version of this header. ringside_version() has that of the library. */
#define RINGSIDE_VERSION_MAJOR 0
#define RINGSIDE_VERSION_MINOR 1
#define RINGSIDE_VERSION_PATCH 0

/* The names of events, for ringside_start and RINGSIDE_EVENTS. */
#define RINGSIDE_EVENT_NAMES \
  "coll, p2p, kernel, proxy, steps, ctrl, net, ce, phase, all, default, none"

#if defined(RINGSIDE_BUILDING_PLUGIN)
#define RINGSIDE_API __attribute__((visibility("default")))
#else
#define RINGSIDE_API
#endif

/* Results of the functions. 0 is success. Errors are negative, and their numbers never change. */
enum {
  RINGSIDE_OK = 0,
  RINGSIDE_ERROR_ARGUMENT =
      -1, /* NULL where a value is needed, a struct_size that is too small, an unknown event */
  RINGSIDE_ERROR_EXISTS = -2, /* the dump's file exists already; nothing was overwritten */
  RINGSIDE_ERROR_IO = -3,     /* a file could not be created or written; errno says why */
  RINGSIDE_ERROR_DISABLED =
      -4, /* this process records nothing: the child of a fork, or no memory at load */
  RINGSIDE_ERROR_TIMEOUT = -5, /* the dump was not complete within ten seconds; none is made */
  RINGSIDE_ERROR_NOT_FOUND =
      -6, /* ringside_open() only: no such library, or it lacks Ringside's functions */
  RINGSIDE_ERROR_BUSY = -7 /* too much waits to be written: nothing was done, or the mark is lost */
};

/* Options of ringside_start. If this pointer or its events is NULL, the configured events
 * (RINGSIDE_EVENTS) are recorded. */
typedef struct ringside_start_options {
  size_t struct_size;
  const char*
      events; /* comma-separated names as RINGSIDE_EVENTS takes them, e.g. "coll,p2p,kernel" */
} ringside_start_options;

/* The state of the profiler. All counts are since the plugin was loaded. */
typedef struct ringside_status_info {
  size_t struct_size;
  int32_t started;       /* 1 between ringside_start and ringside_stop */
  int32_t abi_version;   /* version of NCCL's profiler interface, 1 to 7; 0 before the first init */
  int32_t nccl_version;  /* as ncclGetVersion returns it, e.g. 22907; 0 if not known */
  int32_t wanted_mask;   /* event bits that Ringside asks NCCL for now; 0 when stopped */
  int32_t actual_mask;   /* value of NCCL's mask, -1 while there is none. Other code may overwrite
                            it. Events that it lacks then are not recorded until ringside_start
                            writes it again, or it is restored. With several NCCLs in the process,
                            a mask that other code has changed is shown */
  int32_t communicators; /* open: initialised and not finalized */
  uint64_t windows;      /* how often recording was started */
  uint64_t callbacks;    /* NCCL's calls of start, state and stop that reached the recorder, and the
                            application's of ringside_mark, push and pop */
  uint64_t operations;   /* finished operations written to the trace */
  uint64_t dropped;      /* lost callbacks; the trace has them by type and reason */
  uint64_t bytes_written;  /* to the trace, including segments that were deleted since */
  int32_t trouble;         /* 1 if a file could not be written at any time; see RINGSIDE_LOG */
  char trace_path[1024];   /* the trace's first file, or an empty string while there is none */
  uint64_t bytes_kept;     /* in the trace's files, or in memory; see RINGSIDE_MAX_BYTES */
  uint64_t rotated;        /* callbacks in segments that were deleted */
  int32_t flight_recorder; /* 1 if the trace is only in memory; see RINGSIDE_FLIGHT_BYTES */
} ringside_status_info;

/*
 * Begins a window of recording. Operations whose first event comes from now on are recorded to
 * their end. If a window is open already, this returns RINGSIDE_OK, and events, if set, apply to
 * operations that begin from now on. Before NCCL is up, the start takes effect as soon as it is.
 * RINGSIDE_ERROR_BUSY: 4,096 starts and stops wait to be written, and nothing was begun. There is
 * always room for a stop.
 */
RINGSIDE_API int ringside_start(const ringside_start_options* options);

/* Ends the window. Operations that began in it are still recorded to their end. Does nothing if no
 * window is open. */
RINGSIDE_API int ringside_stop(void);

/*
 * Writes a complete trace to path, a new file (mode 0600). It has the trace so far and the
 * operations in flight, which are marked. If path is NULL, the file gets a name beside the trace.
 * Returns when the file is complete. After an error there is no file, and none appears later. While
 * the file is written, its name ends in `.RUN.part`, where RUN is the number of the run.
 */
RINGSIDE_API int ringside_dump(const char* path);

/* Fills info, whose struct_size the caller has set. */
RINGSIDE_API int ringside_status(ringside_status_info* info);

/* Returns the library's version, "major.minor.patch", a static text. */
RINGSIDE_API const char* ringside_version(void);

/* Returns what a result means, without a full stop, a static text; "unknown error" for any other
 * number. */
RINGSIDE_API const char* ringside_error_text(int result);

/* Puts a mark with this text (UTF-8, cut at 1,000 bytes) into the trace, at this moment of the
 * calling thread. Marks before NCCL is up come into the trace when it is. If the thread's ring
 * (RINGSIDE_RING_BYTES) is full, or the thread can have none, the mark is lost and counted in the
 * trace, and the result is RINGSIDE_ERROR_BUSY. */
RINGSIDE_API int ringside_mark(const char* text);

/*
 * ringside_push begins a range of the calling thread, and ringside_pop ends the innermost open one.
 * Ranges nest, and are slices of the thread in the trace. Operations can be selected by the range
 * in which they were called (`ringside summary --group-by range`, `--from mark:TEXT`). text is as
 * in ringside_mark. source is a line of the program, such as "train.py:17", or NULL. A thread can
 * nest 256 ranges. A range beyond that is lost with its end, like a mark without room. So is one
 * beyond 4,096 that are open in the process, but the call returns RINGSIDE_OK. There is always room
 * for the end of any other range. ringside_pop without a range does nothing. The end of a thread
 * ends its ranges.
 */
RINGSIDE_API int ringside_push(const char* text, const char* source);
RINGSIDE_API int ringside_pop(void);

/* Returns 1 between ringside_start and ringside_stop, and 0 otherwise: a cheap question for callers
 * that would make texts for ringside_push only to have them thrown away. */
RINGSIDE_API int ringside_is_recording(void);

/*
 * The same functions for programs that do not link with the library. They are looked up in the
 * library that NCCL_PROFILER_PLUGIN names. This needs <dlfcn.h>, and -ldl with a glibc older than
 * 2.34. Define RINGSIDE_NO_OPEN before the include to omit this part.
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
  int (*is_recording)(void);
  const char* (*error_text)(int result);
} ringside_functions;

#ifdef __cplusplus
}
#endif

#if !defined(RINGSIDE_NO_OPEN) && !defined(RINGSIDE_BUILDING_PLUGIN)
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* dlopen of the same file returns the instance that NCCL has loaded, or will load. Like NCCL, this
 * tries the value as it is, and then, if it has no slash, libnccl-profiler-<value>.so. "none", in
 * any case, is no plugin. */
static inline void* ringside_open_library(const char* name) {
  char file[1024];
  void* library;
  if (name == NULL || name[0] == '\0') name = "libnccl-profiler.so";
  if (strcasecmp(name, "none") == 0) return NULL;
  library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library != NULL || strchr(name, '/') != NULL) return library;
  if (snprintf(file, sizeof file, "libnccl-profiler-%s.so", name) >= (int)sizeof file) return NULL;
  return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

/* Fills functions. The library stays loaded. RINGSIDE_ERROR_NOT_FOUND: the library cannot be loaded
 * or lacks one of Ringside's functions, and all members are NULL. */
static inline int ringside_open(ringside_functions* functions) {
  static const char* const names[] = {
      "ringside_start",        "ringside_stop",      "ringside_dump", "ringside_status",
      "ringside_version",      "ringside_mark",      "ringside_push", "ringside_pop",
      "ringside_is_recording", "ringside_error_text"};
  enum { kCount = sizeof names / sizeof names[0] };
  void* found[kCount];
  void* library;
  size_t i;
  if (functions == NULL) return RINGSIDE_ERROR_ARGUMENT;
  memset(functions, 0, sizeof *functions);
  library = ringside_open_library(getenv("NCCL_PROFILER_PLUGIN"));
  if (library == NULL) return RINGSIDE_ERROR_NOT_FOUND;
  for (i = 0; i < kCount; i++) {
    found[i] = dlsym(library, names[i]);
    if (found[i] == NULL) {
      dlclose(library);
      return RINGSIDE_ERROR_NOT_FOUND;
    }
  }
  memcpy(functions, found, sizeof *functions);
  return RINGSIDE_OK;
}
#endif /* RINGSIDE_NO_OPEN */

#endif /* RINGSIDE_RINGSIDE_H */
