// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/report/document/json_writer.h"
#include "analyzer/report/export/export_sink.h"
#include "analyzer/report/export/unfinished_file.h"

namespace ringside::report {
namespace {

// Rows of several tables come by turns, so each table is written by itself until the end.
class JsonSink : public ExportSink {
 public:
  JsonSink(const std::string& path, bool replaces)
      : path_(path), temporary_(path + '.' + std::to_string(::getpid()) + ".tmp") {
    struct stat there {};
    const bool exists = ::stat(path.c_str(), &there) == 0;
    if (exists && !replaces) {
      error_ = path + " is there already; --force replaces it";
    } else if (exists && !S_ISREG(there.st_mode)) {
      error_ = path + " is not a file, so it is not replaced";
    } else if (file_ = std::fopen(temporary_.path().c_str(), "we"); file_ == nullptr) {
      fail();
    }
    for (std::size_t i = 0; i < kExportTableCount; ++i) {
      const ExportTable& table = export_tables()[i];
      tables_[i].begin_object(table.name);
      tables_[i].begin_row("columns");
      for (const ExportColumn& column : table.columns) {
        tables_[i].text({}, column.name);
      }
      tables_[i].end_row();
      tables_[i].begin_array("rows");
    }
  }

  ~JsonSink() override {
    if (file_ != nullptr) {
      std::fclose(file_);
    }
  }

  void add(ExportTableId table, std::span<const ExportValue> values) override {
    JsonWriter& json = tables_[static_cast<std::size_t>(table)];
    json.begin_row();
    for (const ExportValue& value : values) {
      if (const auto* integer = std::get_if<std::int64_t>(&value)) {
        json.integer({}, *integer);
      } else if (const auto* number = std::get_if<double>(&value)) {
        json.number({}, std::optional(*number), 3);
      } else if (const auto* text = std::get_if<std::string_view>(&value)) {
        json.text({}, *text);
      } else {
        json.null({});
      }
    }
    json.end_row();
  }

  bool finish() override {
    for (std::size_t i = 0; i < kExportTableCount && error_.empty(); ++i) {
      tables_[i].end_array();
      tables_[i].end_object();
      write((i == 0 ? "{\n" : ",\n") + tables_[i].finish());
    }
    write("}\n");
    if (error_.empty() && (std::fflush(file_) != 0 || ::fsync(::fileno(file_)) != 0 ||
                           std::rename(temporary_.path().c_str(), path_.c_str()) != 0)) {
      fail();
    }
    if (error_.empty()) {
      temporary_.forget();
    }
    return error_.empty();
  }

 private:
  void write(const std::string& text) {
    if (error_.empty() && std::fwrite(text.data(), 1, text.size(), file_) != text.size()) {
      fail();
    }
  }

  void fail() { error_ = "cannot write " + path_ + ": " + std::strerror(errno); }

  std::string path_;
  UnfinishedFile temporary_;
  std::FILE* file_ = nullptr;
  std::array<JsonWriter, kExportTableCount> tables_;
};

}  // namespace

std::unique_ptr<ExportSink> make_json_sink(const std::string& path, bool replaces) {
  return std::make_unique<JsonSink>(path, replaces);
}

}  // namespace ringside::report
