// SPDX-License-Identifier: Apache-2.0
//
// This file takes the place of export_sqlite.cc and query_sqlite.cc if the library is missing.
#include "analyzer/report/export/export_sink.h"
#include "analyzer/report/export/query.h"

namespace ringside::report {
namespace {

class NoSink : public ExportSink {
 public:
  NoSink() {
    error_ = "this ringside was built without SQLite; build it with libsqlite3-dev, or use --csv";
  }
  void add(ExportTableId /*table*/, std::span<const ExportValue> /*values*/) override {}
  bool finish() override { return false; }
};

}  // namespace

std::unique_ptr<ExportSink> make_sqlite_sink(const std::string& /*path*/, bool /*replaces*/) {
  return std::make_unique<NoSink>();
}

std::unique_ptr<QueryDatabase> make_query_database() {
  return nullptr;
}

}  // namespace ringside::report
