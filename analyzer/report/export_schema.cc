// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/export_schema.h"

namespace ringside::report {
namespace {

constexpr ExportColumn kMeta[] = {{"key", "TEXT PRIMARY KEY"}, {"value", "TEXT NOT NULL"}};

constexpr ExportColumn kHosts[] = {{"id", "INTEGER PRIMARY KEY"},
                                   {"host", "TEXT NOT NULL"},
                                   {"files", "INTEGER NOT NULL"},
                                   {"is_reference", "INTEGER NOT NULL"},
                                   {"is_bounded", "INTEGER NOT NULL"},
                                   {"offset_ns", "INTEGER"},
                                   {"drift_ppb", "REAL"},
                                   {"uncertainty_ns", "INTEGER"},
                                   {"most_uncertainty_ns", "INTEGER"},
                                   {"set_by", "TEXT"}};

constexpr ExportColumn kProcesses[] = {{"id", "INTEGER PRIMARY KEY"},
                                       {"host_id", "INTEGER NOT NULL REFERENCES hosts(id)"},
                                       {"run", "INTEGER NOT NULL"},
                                       {"path", "TEXT NOT NULL"},
                                       {"run_id", "TEXT"},
                                       {"job", "TEXT"},
                                       {"pid", "INTEGER NOT NULL"},
                                       {"launcher_rank", "INTEGER"},
                                       {"nccl_version", "TEXT"},
                                       {"abi", "INTEGER NOT NULL"},
                                       {"start_ns", "INTEGER NOT NULL"},
                                       {"is_closed", "INTEGER NOT NULL"},
                                       {"is_dump", "INTEGER NOT NULL"},
                                       {"is_recovered", "INTEGER NOT NULL"},
                                       {"bad_lines", "INTEGER NOT NULL"}};

constexpr ExportColumn kCommunicators[] = {{"id", "INTEGER PRIMARY KEY"},
                                           {"run", "INTEGER NOT NULL"},
                                           {"name", "TEXT"},
                                           {"hash", "TEXT"},
                                           {"nranks", "INTEGER NOT NULL"},
                                           {"nranks_inferred", "INTEGER NOT NULL"},
                                           {"inside_id", "INTEGER REFERENCES communicators(id)"},
                                           {"calls_not_aligned", "INTEGER NOT NULL"}};

constexpr ExportColumn kMemberships[] = {
    {"id", "INTEGER PRIMARY KEY"},
    {"communicator_id", "INTEGER NOT NULL REFERENCES communicators(id)"},
    {"rank", "INTEGER"},
    {"process_id", "INTEGER NOT NULL REFERENCES processes(id)"},
    {"context", "INTEGER NOT NULL"},
    {"global_rank", "INTEGER"},
    {"is_complete", "INTEGER NOT NULL"}};

constexpr ExportColumn kOperations[] = {
    {"id", "INTEGER PRIMARY KEY"},
    {"communicator_id", "INTEGER NOT NULL REFERENCES communicators(id)"},
    {"function", "TEXT NOT NULL"},
    {"number", "INTEGER"},
    {"occurrence", "INTEGER NOT NULL"},
    {"way", "TEXT NOT NULL"},
    {"verdict", "TEXT NOT NULL"},
    {"differs_in", "TEXT"},
    {"bytes", "INTEGER"},
    {"datatype", "TEXT"},
    {"source", "INTEGER"},
    {"destination", "INTEGER"},
    {"ranks", "INTEGER NOT NULL"},
    {"ranks_seen", "INTEGER NOT NULL"},
    {"times_are_of", "TEXT"},
    {"first_start_ns", "INTEGER"},
    {"last_start_ns", "INTEGER"},
    {"last_end_ns", "INTEGER"},
    {"busy_ns", "INTEGER"},
    {"busy_least_ns", "INTEGER"},
    {"busy_most_ns", "INTEGER"},
    {"waited_ns", "INTEGER"},
    {"waited_least_ns", "INTEGER"},
    {"waited_most_ns", "INTEGER"},
    {"last_membership_id", "INTEGER REFERENCES memberships(id)"},
    {"last_is_decided", "INTEGER"},
    {"margin_least_ns", "INTEGER"},
    {"margin_most_ns", "INTEGER"}};

constexpr ExportColumn kCalls[] = {{"id", "INTEGER PRIMARY KEY"},
                                   {"operation_id", "INTEGER NOT NULL REFERENCES operations(id)"},
                                   {"membership_id", "INTEGER NOT NULL REFERENCES memberships(id)"},
                                   {"op", "INTEGER NOT NULL"},
                                   {"function", "TEXT NOT NULL"},
                                   {"seq", "INTEGER"},
                                   {"count", "INTEGER"},
                                   {"datatype", "TEXT"},
                                   {"bytes", "INTEGER"},
                                   {"root", "INTEGER"},
                                   {"peer", "INTEGER"},
                                   {"enqueue_start_ns", "INTEGER"},
                                   {"enqueue_end_ns", "INTEGER"},
                                   {"start_ns", "INTEGER"},
                                   {"end_ns", "INTEGER"},
                                   {"waited_ns", "INTEGER"},
                                   {"waited_least_ns", "INTEGER"},
                                   {"waited_most_ns", "INTEGER"},
                                   {"state", "TEXT NOT NULL"},
                                   {"in_flight", "INTEGER NOT NULL"},
                                   {"times_from", "TEXT NOT NULL"},
                                   {"algo", "TEXT"},
                                   {"proto", "TEXT"},
                                   {"channels", "INTEGER"},
                                   {"graph", "INTEGER NOT NULL"},
                                   {"window", "INTEGER NOT NULL"}};

constexpr ExportColumn kSteps[] = {{"id", "INTEGER PRIMARY KEY"},
                                   {"process_id", "INTEGER NOT NULL REFERENCES processes(id)"},
                                   {"call_id", "INTEGER REFERENCES calls(id)"},
                                   {"peer", "INTEGER"},
                                   {"channel", "INTEGER NOT NULL"},
                                   {"is_send", "INTEGER NOT NULL"},
                                   {"in_flight", "INTEGER NOT NULL"},
                                   {"start_ns", "INTEGER NOT NULL"},
                                   {"end_ns", "INTEGER"},
                                   {"bytes", "INTEGER NOT NULL"},
                                   {"gpu_wait_ns", "INTEGER NOT NULL"},
                                   {"peer_wait_ns", "INTEGER NOT NULL"},
                                   {"transfer_ns", "INTEGER NOT NULL"},
                                   {"flush_ns", "INTEGER NOT NULL"}};

constexpr ExportColumn kFindings[] = {{"id", "INTEGER PRIMARY KEY"},
                                      {"severity", "TEXT NOT NULL"},
                                      {"kind", "TEXT NOT NULL"},
                                      {"text", "TEXT NOT NULL"}};

constexpr const char* kMembershipIndices[] = {"communicator_id, rank", "process_id"};
constexpr const char* kOperationIndices[] = {"communicator_id, function, bytes", "verdict",
                                             "last_membership_id"};
constexpr const char* kCallIndices[] = {"operation_id", "membership_id"};
constexpr const char* kStepIndices[] = {"call_id", "process_id"};

}  // namespace

const std::array<ExportTable, kExportTableCount>& export_tables() {
  static const std::array<ExportTable, kExportTableCount> tables = {
      {{"meta", kMeta, {}},
       {"hosts", kHosts, {}},
       {"processes", kProcesses, {}},
       {"communicators", kCommunicators, {}},
       {"memberships", kMemberships, kMembershipIndices},
       {"operations", kOperations, kOperationIndices},
       {"calls", kCalls, kCallIndices},
       {"steps", kSteps, kStepIndices},
       {"findings", kFindings, {}}}};
  return tables;
}

}  // namespace ringside::report
