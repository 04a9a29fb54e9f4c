// SPDX-License-Identifier: Apache-2.0
//
// CSV as RFC 4180 has it: CRLF, quotes where a field needs them.
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/report/document/numbers.h"
#include "analyzer/report/document/text_table.h"
#include "analyzer/report/export/export_sink.h"
#include "analyzer/report/export/unfinished_file.h"

namespace ringside::report {
namespace {

void append(std::string& line, const ExportValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    line += std::to_string(*integer);
  } else if (const auto* number = std::get_if<double>(&value)) {
    line += fixed(*number, kAllDecimals);
  } else if (const auto* text = std::get_if<std::string_view>(&value)) {
    append_csv(line, *text);
  }
}

class CsvSink : public ExportSink {
 public:
  CsvSink(const std::string& directory, bool replaces) : directory_(directory) {
    for (std::size_t i = 0; i < kExportTableCount && !replaces; ++i) {
      if (::access(path_of(i).c_str(), F_OK) == 0) {
        error_ = path_of(i) + " is there already; --force replaces it";
        return;
      }
    }
    // Known before it is there: a signal may come between.
    if (::access(directory.c_str(), F_OK) != 0) {
      made_.emplace(directory, UnfinishedFile::Kind::kDirectory);
    }
    if (::mkdir(directory.c_str(), 0777) != 0) {
      const int error = errno;
      if (made_) {
        made_->forget();
      }
      if (error != EEXIST) {
        errno = error;
        fail(directory);
        return;
      }
    }
    std::string line;
    for (std::size_t i = 0; i < kExportTableCount && error_.empty(); ++i) {
      temporary_[i].emplace(path_of(i) + '.' + std::to_string(::getpid()) + ".tmp");
      files_[i] = std::fopen(temporary_[i]->path().c_str(), "we");
      if (files_[i] == nullptr) {
        fail(path_of(i));
        return;
      }
      line.clear();
      for (const ExportColumn& column : export_tables()[i].columns) {
        line += line.empty() ? "" : ",";
        line += column.name;
      }
      write(i, line);
    }
  }

  ~CsvSink() override {
    for (std::size_t i = 0; i < kExportTableCount; ++i) {
      if (files_[i] != nullptr) {
        std::fclose(files_[i]);
      }
    }
  }

  void add(ExportTableId table, std::span<const ExportValue> values) override {
    if (!error_.empty()) {
      return;
    }
    line_.clear();
    for (std::size_t i = 0; i < values.size(); ++i) {
      line_ += i == 0 ? "" : ",";
      append(line_, values[i]);
    }
    write(static_cast<std::size_t>(table), line_);
  }

  bool finish() override {
    for (std::size_t i = 0; i < kExportTableCount && error_.empty(); ++i) {
      if (std::fflush(files_[i]) != 0 || ::fsync(::fileno(files_[i])) != 0 ||
          std::rename(temporary_[i]->path().c_str(), path_of(i).c_str()) != 0) {
        fail(path_of(i));
        break;
      }
      std::fclose(files_[i]);
      files_[i] = nullptr;
      temporary_[i]->forget();
    }
    if (made_ && error_.empty()) {
      made_->forget();
    }
    return error_.empty();
  }

 private:
  std::string path_of(std::size_t table) const {
    return directory_ + '/' + export_tables()[table].name + ".csv";
  }

  void write(std::size_t table, std::string& line) {
    line += "\r\n";
    if (std::fwrite(line.data(), 1, line.size(), files_[table]) != line.size()) {
      fail(path_of(table));
    }
  }

  void fail(const std::string& path) {
    error_ = "cannot write " + path + ": " + std::strerror(errno);
  }

  std::string directory_;
  std::optional<UnfinishedFile> made_;  // before the files in it, so that it goes after them
  std::array<std::optional<UnfinishedFile>, kExportTableCount> temporary_;
  std::array<std::FILE*, kExportTableCount> files_{};  // nullptr once it has its name
  std::string line_;
};

}  // namespace

std::unique_ptr<ExportSink> make_csv_sink(const std::string& directory, bool replaces) {
  return std::make_unique<CsvSink>(directory, replaces);
}

}  // namespace ringside::report
