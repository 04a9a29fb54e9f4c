// SPDX-License-Identifier: Apache-2.0
//
// CUDA runtime API: stream capture and graphs.
#include <cstddef>
#include <memory>

#include "event.h"
#include "graph.h"
#include "runtime_error.h"
#include "stream.h"

using namespace emugpu;

namespace {

thread_local cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;

}  // namespace

extern "C" {

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  const cudaStreamCaptureMode previous = capture_mode;
  capture_mode = *mode;
  *mode = previous;
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  Stream::from_handle(stream).capture(Graph::begin_capture());
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const std::shared_ptr<Graph> captured = Stream::from_handle(stream).captured();
  if (captured == nullptr) return failure(cudaErrorIllegalState, "cudaStreamEndCapture");
  captured->end_capture();
  *graph = reinterpret_cast<cudaGraph_t>(new std::shared_ptr<Graph>(captured));
  return cudaSuccess;
}

// A graph while it is captured is named by its object. Nothing is before the next node that has to
// be named (graph.h).
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                        unsigned long long* id, cudaGraph_t* graph,
                                        const cudaGraphNode_t** dependencies, std::size_t* count) {
  const std::shared_ptr<Graph> captured = Stream::from_handle(stream).captured();
  *status = captured != nullptr ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  if (id != nullptr) *id = captured != nullptr ? captured->id() : 0;
  if (graph != nullptr) *graph = reinterpret_cast<cudaGraph_t>(captured.get());
  if (dependencies != nullptr) *dependencies = nullptr;
  if (count != nullptr) *count = 0;
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return cudaStreamGetCaptureInfo_v2(stream, status, nullptr, nullptr, nullptr, nullptr);
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                        const cudaGraphNode_t*, std::size_t, cudaEvent_t event) {
  *node = nullptr;
  reinterpret_cast<Event*>(event)->record_in(*reinterpret_cast<Graph*>(graph));
  return cudaSuccess;
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* pointer, cudaHostFn_t destroy,
                                 unsigned, unsigned) {
  *object = reinterpret_cast<cudaUserObject_t>(new std::shared_ptr<void>(pointer, destroy));
  return cudaSuccess;
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned) {
  delete reinterpret_cast<std::shared_ptr<void>*>(object);
  return cudaSuccess;
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned,
                                      unsigned flags) {
  reinterpret_cast<Graph*>(graph)->keep(*reinterpret_cast<std::shared_ptr<void>*>(object));
  return flags == cudaGraphUserObjectMove ? cudaUserObjectRelease(object, 1) : cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long) {
  *executable = reinterpret_cast<cudaGraphExec_t>(
      new std::shared_ptr<Graph>(*reinterpret_cast<std::shared_ptr<Graph>*>(graph)));
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long flags) {
  return cudaGraphInstantiateWithFlags(executable, graph, flags);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  Graph::replay(*reinterpret_cast<std::shared_ptr<Graph>*>(executable),
                Stream::from_handle(stream));
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete reinterpret_cast<std::shared_ptr<Graph>*>(executable);
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<std::shared_ptr<Graph>*>(graph);
  return cudaSuccess;
}

}  // extern "C"
