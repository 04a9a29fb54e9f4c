// SPDX-License-Identifier: Apache-2.0
//
// What redirect_wheel.py has NVIDIA's own build of NCCL call.
#include <cstdlib>
#include <driver_types.h>
#include <sched.h>
#include <sys/socket.h>

#include "cuda/log.h"
#include "fifo.h"
#include "function_table.h"

#define EXPORTED __attribute__((visibility("default")))

extern "C" {

// Before NCCL's own first code: its release, 23203 for 2.32.3, and its table of device functions.
EXPORTED void emugpu_nccl_loaded(int release, const int* function_table) {
  emugpu::nccl::differences = {.wide_fifo = true, .padded_collectives = release < 23200};
  emugpu::nccl::set_function_table(function_table);
}

// In place of each function of the CUDA runtime that is not emulated.
EXPORTED cudaError_t emugpu_refuse(const char* function) {
  emugpu::trace("%s is not emulated", function);
  return cudaErrorNotSupported;
}

// These go to yield.cc.

EXPORTED int emugpu_sched_yield() {
  return sched_yield();
}
EXPORTED ssize_t emugpu_recv(int socket, void* to, size_t bytes, int flags) {
  return recv(socket, to, bytes, flags);
}
EXPORTED ssize_t emugpu_send(int socket, const void* from, size_t bytes, int flags) {
  return send(socket, from, bytes, flags);
}
EXPORTED int emugpu_accept(int socket, sockaddr* address, socklen_t* bytes) {
  return accept(socket, address, bytes);
}

}  // extern "C"
