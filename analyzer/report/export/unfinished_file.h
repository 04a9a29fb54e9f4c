// SPDX-License-Identifier: Apache-2.0
//
// A file under a temporary name. Nothing of it is left if a command is interrupted.
#ifndef RINGSIDE_ANALYZER_REPORT_EXPORT_UNFINISHED_FILE_H
#define RINGSIDE_ANALYZER_REPORT_EXPORT_UNFINISHED_FILE_H

#include <cstddef>
#include <string>

namespace ringside::report {

/// The file is removed at the end of this object's life, and where a signal ends the process before
/// that: SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, or SIGXFSZ (a limit on the size of files). A
/// signal that is ignored or handled by others stays so. Files are to be made after the object, and
/// on the main thread before there are others.
class UnfinishedFile {
 public:
  /// A directory is removed if nothing else is in it.
  enum class Kind : bool { kFile, kDirectory };

  explicit UnfinishedFile(std::string path, Kind kind = Kind::kFile);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

  const std::string& path() const { return path_; }
  /// The name is somebody else's from now on: nothing is removed.
  void forget();

 private:
  std::string path_;
  Kind kind_;
  bool is_ours_ = true;
  std::size_t place_ = 0;  // among those that the signals' handler sees
};

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_EXPORT_UNFINISHED_FILE_H
