// SPDX-License-Identifier: Apache-2.0
//
// The part of NVML (libnvidia-ml.so.1) that NCCL and Ringside use. It presents the machine that
// EMUGPU_MACHINE describes (machine.h). NCCL is told of no NVLink and no fabric: those queries
// answer it "not supported", since the emulation cannot carry its data over them. The interface is
// declared here, so that no NVML header is needed. NCCL looks functions up by their plain names;
// both those and the versioned ones are exported.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <string_view>
#include <thread>
#include <unistd.h>

#include "device.h"
#include "machine.h"

using namespace emugpu;

namespace {

enum Result {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kUnknown = 999
};

// A handle is the ordinal plus one.
using Handle = void*;

Handle handle_of(int ordinal) {
  return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(ordinal) + 1);
}

int ordinal_of(Handle handle) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(handle)) - 1;
}

// The readings so far: each begins with the number of devices.
std::atomic<unsigned> g_readings{0};

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency;
  unsigned type;
  int result;
  unsigned long long value;
};

struct FabricInfo {
  unsigned version;
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;
  unsigned health;
};

bool is_nccl(const void* caller) {
  Dl_info info{};
  return dladdr(caller, &info) != 0 && info.dli_fname != nullptr &&
         std::strstr(info.dli_fname, "libnccl.so") != nullptr;
}

// The described GPU, if there is one, and not for NCCL.
const MachineGpu* gpu_for(const void* caller, Handle handle) {
  const Machine* const described = machine();
  const int ordinal = ordinal_of(handle);
  const bool is_there =
      described != nullptr && ordinal >= 0 && ordinal < static_cast<int>(described->gpus.size());
  return is_there && !is_nccl(caller) ? &described->gpus[static_cast<std::size_t>(ordinal)]
                                      : nullptr;
}

const MachineLink* link_for(const void* caller, Handle handle, unsigned link) {
  const MachineGpu* const gpu = gpu_for(caller, handle);
  return gpu != nullptr && link < gpu->links.size() ? &gpu->links[link] : nullptr;
}

void hang_at(std::string_view place) {
  const Machine* const described = machine();
  while (described != nullptr && described->hangs == place) pause();
}

bool is_slow() {
  return machine() != nullptr && machine()->hangs == "slow";
}

std::atomic<bool> g_has_ended{false};

// Whoever is in the library when it has taken itself apart ends the process.
void take_time(std::chrono::milliseconds time) {
  if (!is_slow()) return;
  std::this_thread::sleep_for(time);
  if (g_has_ended) _exit(70);
}

[[gnu::destructor]] void end() {
  if (!is_slow()) return;
  g_has_ended = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

bool fails_at(std::string_view place) {
  return machine() != nullptr && machine()->fails == place;
}

int number(const MachineGpu* gpu, unsigned MachineGpu::*member, unsigned* value) {
  if (gpu == nullptr) return kNotSupported;
  *value = gpu->*member;
  return kSuccess;
}

int copy(const std::string& text, char* to, unsigned length) {
  std::snprintf(to, length, "%s", text.c_str());
  return kSuccess;
}

void fill(const std::string& bus_id, PciInfo* info) {
  *info = {};
  std::snprintf(info->bus_id_legacy, sizeof info->bus_id_legacy, "%s", bus_id.c_str());
  std::snprintf(info->bus_id, sizeof info->bus_id, "0000%s", bus_id.c_str());
}

}  // namespace

#define CALLER __builtin_return_address(0)

extern "C" {

int nvmlInit_v2() {
  if (is_nccl(CALLER)) return kSuccess;
  hang_at("init");
  take_time(std::chrono::milliseconds(60));
  return fails_at("init") ? kUnknown : kSuccess;
}
int nvmlInit() {
  return kSuccess;
}
int nvmlShutdown() {
  return kSuccess;
}

const char* nvmlErrorString(int result) {
  return result == kSuccess ? "Success" : "error of the emulated NVML";
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(device_count());
  if (machine() == nullptr || is_nccl(CALLER)) return kSuccess;
  if (++g_readings > 1) hang_at("later");
  *count = static_cast<unsigned>(machine()->gpus.size());
  return fails_at("count") ? kUninitialized : kSuccess;
}

int nvmlDeviceGetCount(unsigned* count) {
  *count = static_cast<unsigned>(device_count());
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Handle* handle) {
  const int ordinal = static_cast<int>(index);
  const bool is_described = machine() != nullptr && index < machine()->gpus.size();
  if (!is_device(ordinal) && !is_described) return kInvalidArgument;
  *handle = handle_of(ordinal);
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex(unsigned index, Handle* handle) {
  return nvmlDeviceGetHandleByIndex_v2(index, handle);
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, Handle* handle) {
  // NVML's own ids have an eight-digit domain; the devices' have four digits.
  constexpr std::size_t kShortLength = sizeof "0000:00:00.0" - 1;
  const std::size_t length = std::strlen(bus_id);
  const int ordinal =
      device_at_pci_bus_id(length > kShortLength ? bus_id + length - kShortLength : bus_id);
  if (ordinal < 0) return kInvalidArgument;
  *handle = handle_of(ordinal);
  return kSuccess;
}

int nvmlDeviceGetHandleByPciBusId(const char* bus_id, Handle* handle) {
  return nvmlDeviceGetHandleByPciBusId_v2(bus_id, handle);
}

int nvmlDeviceGetIndex(Handle handle, unsigned* index) {
  *index = static_cast<unsigned>(ordinal_of(handle));
  return kSuccess;
}

int nvmlDeviceGetCudaComputeCapability(Handle handle, int* major, int* minor) {
  const MachineGpu* const gpu = gpu_for(CALLER, handle);
  *major = gpu != nullptr ? gpu->compute_major : kComputeCapabilityMajor;
  *minor = gpu != nullptr ? gpu->compute_minor : kComputeCapabilityMinor;
  return kSuccess;
}

int nvmlDeviceGetP2PStatus(Handle, Handle, int, int* status) {
  *status = 0;
  return kSuccess;
}

int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  return copy("580.0 emulated", version, length);
}

int nvmlDeviceGetPciInfo_v3(Handle handle, PciInfo* info) {
  fill(bus_id_of(ordinal_of(handle)), info);
  return kSuccess;
}

int nvmlDeviceGetUUID(Handle handle, char* uuid, unsigned length) {
  const int ordinal = ordinal_of(handle);
  if (!is_device(ordinal)) return kNotSupported;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "GPU-";
  for (const unsigned char byte : device(ordinal).uuid) {
    const std::size_t bare = text.size();
    text += bare == 12 || bare == 17 || bare == 22 || bare == 27 ? "-" : "";
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return copy(text, uuid, length);
}

int nvmlDeviceGetName(Handle handle, char* name, unsigned length) {
  const MachineGpu* const gpu = gpu_for(CALLER, handle);
  return copy(gpu != nullptr ? gpu->name : "Emulated GPU", name, length);
}

int nvmlDeviceGetCurrPcieLinkGeneration(Handle handle, unsigned* generation) {
  return number(gpu_for(CALLER, handle), &MachineGpu::pcie_generation, generation);
}
int nvmlDeviceGetCurrPcieLinkWidth(Handle handle, unsigned* width) {
  return number(gpu_for(CALLER, handle), &MachineGpu::pcie_width, width);
}
int nvmlDeviceGetMaxPcieLinkGeneration(Handle handle, unsigned* generation) {
  return number(gpu_for(CALLER, handle), &MachineGpu::most_pcie_generation, generation);
}
int nvmlDeviceGetMaxPcieLinkWidth(Handle handle, unsigned* width) {
  return number(gpu_for(CALLER, handle), &MachineGpu::most_pcie_width, width);
}

int nvmlDeviceGetNvLinkState(Handle handle, unsigned number, int* state) {
  const MachineLink* const link = link_for(CALLER, handle, number);
  hang_at("links");
  take_time(std::chrono::milliseconds(5));
  if (link == nullptr) return kNotSupported;
  *state = link->is_up ? 1 : 0;
  return kSuccess;
}

int nvmlDeviceGetNvLinkVersion(Handle handle, unsigned number, unsigned* version) {
  if (link_for(CALLER, handle, number) == nullptr) return kNotSupported;
  *version = gpu_for(CALLER, handle)->link_version;
  return kSuccess;
}

// A link that is down does not know its other end.
int nvmlDeviceGetNvLinkRemoteDeviceType(Handle handle, unsigned number, int* type) {
  const MachineLink* const link = link_for(CALLER, handle, number);
  if (link == nullptr || !link->is_up) return kNotSupported;
  *type = link->end == LinkEnd::kGpu ? 0 : 2;
  return kSuccess;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(Handle handle, unsigned number, PciInfo* info) {
  const MachineLink* const link = link_for(CALLER, handle, number);
  if (link == nullptr || !link->is_up) return kNotSupported;
  fill(link->remote_bus_id, info);
  return kSuccess;
}
int nvmlDeviceGetNvLinkRemotePciInfo(Handle, unsigned, void*) {
  return kNotSupported;
}

int nvmlDeviceGetNvLinkErrorCounter(Handle handle, unsigned number, int counter,
                                    unsigned long long* value) {
  const MachineLink* const link = link_for(CALLER, handle, number);
  if (link == nullptr || counter < 0 || counter > 3) return kNotSupported;
  const auto& errors = g_readings > 1 ? link->errors_later : link->errors_first;
  *value = errors[static_cast<std::size_t>(counter)];
  return kSuccess;
}

int nvmlDeviceGetNvLinkCapability(Handle, unsigned, int, unsigned*) {
  return kNotSupported;
}

int nvmlDeviceGetFieldValues(Handle handle, int count, FieldValue* values) {
  constexpr unsigned kSpeedOfAll = 90, kLinkCount = 91, kSpeedOfOne = 164;
  const MachineGpu* const gpu = gpu_for(CALLER, handle);
  if (gpu == nullptr) return kNotSupported;
  for (int i = 0; i < count; ++i) {
    FieldValue& value = values[i];
    value.result = kSuccess;
    if (value.field == kLinkCount) {
      value.value = gpu->links.size();
    } else if (value.field == kSpeedOfAll && !gpu->links.empty()) {
      value.value = gpu->link_speed_mbytes_s;
    } else if (value.field == kSpeedOfOne && value.scope < gpu->links.size()) {
      value.value = gpu->links[value.scope].is_up ? gpu->link_speed_mbytes_s : 0;
    } else {
      value.result = kNotSupported;
    }
  }
  return kSuccess;
}

int nvmlDeviceGetGpuFabricInfoV(Handle handle, FabricInfo* info) {
  constexpr unsigned char kCompleted = 3;
  const MachineGpu* const gpu = gpu_for(CALLER, handle);
  if (gpu == nullptr) return kNotSupported;
  if (info->version != (sizeof(FabricInfo) | 2U << 24U)) return kInvalidArgument;
  info->state = gpu->fabric_cluster.empty() ? 0 : kCompleted;
  info->status = kSuccess;
  info->clique = gpu->fabric_clique;
  for (std::size_t i = 0; i < sizeof info->cluster && 2 * i < gpu->fabric_cluster.size(); ++i) {
    info->cluster[i] =
        static_cast<unsigned char>(std::stoul(gpu->fabric_cluster.substr(2 * i, 2), nullptr, 16));
  }
  return kSuccess;
}

int nvmlDeviceGetPlatformInfo(Handle, void*) {
  return kNotSupported;
}

}  // extern "C"
