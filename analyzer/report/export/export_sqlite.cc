// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/report/export/export_sink.h"
#include "analyzer/report/export/sqlite_tables.h"
#include "analyzer/report/export/unfinished_file.h"

namespace ringside::report {
namespace {

class SqliteSink : public ExportSink {
 public:
  SqliteSink(const std::string& path, bool replaces)
      : path_(path), temporary_(path + '.' + std::to_string(::getpid()) + ".tmp") {
    if (!replaces && ::access(path.c_str(), F_OK) == 0) {
      error_ = path + " is there already; --force replaces it";
      return;
    }
    struct stat there {};
    if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
      error_ = path + " is not a file, so it is not replaced";
      return;
    }
    std::remove(temporary_.path().c_str());
    tables_.create(temporary_.path());
    note_failure();
  }

  void add(ExportTableId table, std::span<const ExportValue> values) override {
    tables_.add(table, values);
    note_failure();
  }

  bool finish() override {
    tables_.finish();
    note_failure();
    if (!error_.empty()) {
      return false;
    }
    tables_.close();
    const int file = ::open(temporary_.path().c_str(), O_RDONLY | O_CLOEXEC);
    const bool is_durable = file >= 0 && ::fsync(file) == 0;
    if (file >= 0) {
      ::close(file);
    }
    if (!is_durable || std::rename(temporary_.path().c_str(), path_.c_str()) != 0) {
      error_ = "cannot write " + path_ + ": " + std::strerror(errno);
      return false;
    }
    temporary_.forget();
    return true;
  }

 private:
  void note_failure() {
    if (error_.empty() && !tables_.error().empty()) {
      error_ = "cannot write " + path_ + ": " + tables_.error();
    }
  }

  std::string path_;
  UnfinishedFile temporary_;
  SqliteTables tables_;
};

}  // namespace

std::unique_ptr<ExportSink> make_sqlite_sink(const std::string& path, bool replaces) {
  return std::make_unique<SqliteSink>(path, replaces);
}

}  // namespace ringside::report
