// SPDX-License-Identifier: Apache-2.0
//
// A tool that takes NVTX, for tests: NVTX loads it where NVTX_INJECTION64_PATH names it. It writes
// what arrives in the domain Ringside, and marks in none, one JSON object a line, to
// nvtx.<pid>.jsonl in the directory NVTX_LISTENER_DIR. Without that variable it only hands out
// numbers, and does neither call the system, nor allocate, nor lock. With
// NVTX_LISTENER_SCHEMAS=0 it is a tool that knows nothing of payload schemas.
#include <atomic>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace {

// Numbers of its own, so that nothing works by chance.
constexpr std::uint64_t kSchema = 0x1'0000'0007;

struct Field {
  std::uint64_t type;
  std::string name;
  std::size_t offset;
  std::size_t length;
};

std::mutex g_mutex;  // guards what follows, but for the counter
FILE* g_out = nullptr;
std::vector<Field> g_fields;
std::size_t g_payload_bytes = 0;
std::atomic<std::uint64_t> g_ranges{0};
// Their addresses are handles: of ours, and of all others (NCCL has a domain, too).
int g_ours = 0;
int g_others = 0;

std::string quoted(const char* text, std::size_t most = static_cast<std::size_t>(-1)) {
  std::string out = "\"";
  for (std::size_t i = 0; i < most && text[i] != '\0'; ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\u%04x", c);
    const bool plain = c >= 0x20 && c != '"' && c != '\\';
    out += plain ? std::string(1, text[i]) : std::string(escape);
  }
  return out + '"';
}

template <typename T>
std::string number_at(const char* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return std::to_string(value);
}

std::string value_of(const Field& field, const char* payload) {
  const char* const data = payload + field.offset;
  switch (field.type) {
    case NVTX_PAYLOAD_ENTRY_TYPE_INT32:
      return number_at<std::int32_t>(data);
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT32:
      return number_at<std::uint32_t>(data);
    case NVTX_PAYLOAD_ENTRY_TYPE_INT64:
      return number_at<std::int64_t>(data);
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT64:
      return number_at<std::uint64_t>(data);
    case NVTX_PAYLOAD_ENTRY_TYPE_CSTRING:
      return quoted(data, field.length);
    default:
      return "null";
  }
}

std::string payload_of(const nvtxEventAttributes_t& event) {
  if (event.payloadType == NVTX_PAYLOAD_TYPE_INT64) {
    return std::to_string(event.payload.llValue);
  }
  if (event.payloadType != NVTX_PAYLOAD_TYPE_EXT || event.reserved0 != 1) {
    return "null";
  }
  const auto* const data = reinterpret_cast<const nvtxPayloadData_t*>(event.payload.ullValue);
  if (data->schemaId != kSchema || data->size != g_payload_bytes) {
    return "null";
  }
  std::string out = "{";
  for (const Field& field : g_fields) {
    out += (out.size() > 1 ? "," : "") + quoted(field.name.c_str()) + ":" +
           value_of(field, static_cast<const char*>(data->payload));
  }
  return out + "}";
}

// Under the mutex. A line is there when the call returns: the process may be killed.
void write_line(const std::string& line) {
  std::fprintf(g_out, "%s\n", line.c_str());
  std::fflush(g_out);
}

std::string thread_member() {
  return ",\"tid\":" + std::to_string(syscall(SYS_gettid));
}

nvtxDomainHandle_t handle_of(int& domain) {
  return reinterpret_cast<nvtxDomainHandle_t>(&domain);
}

bool is_written(nvtxDomainHandle_t domain) {
  return g_out != nullptr && domain == handle_of(g_ours);
}

nvtxDomainHandle_t NVTX_API create_domain(const char* name) {
  const nvtxDomainHandle_t domain =
      handle_of(std::strcmp(name, "Ringside") == 0 ? g_ours : g_others);
  if (is_written(domain)) {
    const std::lock_guard lock(g_mutex);
    write_line("{\"what\":\"domain\",\"name\":" + quoted(name) + "}");
  }
  return domain;
}

void NVTX_API name_category(nvtxDomainHandle_t domain, std::uint32_t category, const char* name) {
  if (is_written(domain)) {
    const std::lock_guard lock(g_mutex);
    write_line("{\"what\":\"category\",\"category\":" + std::to_string(category) +
               ",\"name\":" + quoted(name) + "}");
  }
}

void NVTX_API mark(const char* message) {
  if (g_out != nullptr) {
    const std::lock_guard lock(g_mutex);
    write_line("{\"what\":\"mark\"" + thread_member() + ",\"message\":" + quoted(message) + "}");
  }
}

nvtxRangeId_t NVTX_API start_range(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  const std::uint64_t range = g_ranges.fetch_add(1, std::memory_order_relaxed) + 1;
  if (is_written(domain)) {
    const std::lock_guard lock(g_mutex);
    const bool has_text = event->messageType == NVTX_MESSAGE_TYPE_ASCII;
    write_line("{\"what\":\"start\",\"range\":" + std::to_string(range) + thread_member() +
               ",\"category\":" + std::to_string(event->category) +
               ",\"message\":" + (has_text ? quoted(event->message.ascii) : "null") +
               ",\"payload\":" + payload_of(*event) + "}");
  }
  return range;
}

void NVTX_API end_range(nvtxDomainHandle_t domain, nvtxRangeId_t range) {
  if (is_written(domain)) {
    const std::lock_guard lock(g_mutex);
    write_line("{\"what\":\"end\",\"range\":" + std::to_string(range) + thread_member() + "}");
  }
}

std::uint64_t NVTX_API register_schema(nvtxDomainHandle_t domain,
                                       const nvtxPayloadSchemaAttr_t* schema) {
  if (domain != handle_of(g_ours)) {
    return kSchema + 1;
  }
  const std::lock_guard lock(g_mutex);
  std::string names;
  for (std::size_t i = 0; i < schema->numEntries; ++i) {
    const nvtxPayloadSchemaEntry_t& entry = schema->entries[i];
    g_fields.push_back({entry.type, entry.name, entry.offset, entry.arrayOrUnionDetail});
    names += (i != 0 ? "," : "") + quoted(entry.name);
  }
  g_payload_bytes = schema->payloadStaticSize;
  if (g_out != nullptr) {
    write_line("{\"what\":\"schema\",\"name\":" + quoted(schema->name) + ",\"fields\":[" + names +
               "]}");
  }
  return kSchema;
}

template <typename Function>
void replace(NvtxFunctionTable table, unsigned size, unsigned which, Function function) {
  if (which < size) {
    *table[which] = reinterpret_cast<NvtxFunctionPointer>(function);
  }
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(  // NOLINT
    NvtxGetExportTableFunc_t get_table) {
  // Each library with NVTX in it calls.
  if (const char* directory = std::getenv("NVTX_LISTENER_DIR");
      directory != nullptr && g_out == nullptr) {
    const std::string path =
        std::string(directory) + "/nvtx." + std::to_string(getpid()) + ".jsonl";
    g_out = std::fopen(path.c_str(), "ae");
    if (g_out == nullptr) {
      return 0;
    }
  }
  const auto* const callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) {
    return 0;
  }
  replace(table, size, NVTX_CBID_CORE2_DomainCreateA, create_domain);
  replace(table, size, NVTX_CBID_CORE2_DomainNameCategoryA, name_category);
  replace(table, size, NVTX_CBID_CORE2_DomainRangeStartEx, start_range);
  replace(table, size, NVTX_CBID_CORE2_DomainRangeEnd, end_range);
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) != 0) {
    replace(table, size, NVTX_CBID_CORE_MarkA, mark);
  }
  return 1;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(  // NOLINT
    nvtxExtModuleInfo_t* module) {
  const char* const wanted = std::getenv("NVTX_LISTENER_SCHEMAS");
  if (wanted != nullptr && std::strcmp(wanted, "0") == 0) {
    return 0;
  }
  if (module->moduleId == NVTX_EXT_PAYLOAD_MODULEID) {
    module->segments[0].functionSlots[NVTX3EXT_CBID_nvtxPayloadSchemaRegister] =
        reinterpret_cast<std::intptr_t>(register_schema);
  }
  return 1;
}
}
