#pragma once

#include <string>
#include <string_view>

#include "base/files.h"
#include "base/status.h"
#include "cli/output.h"

namespace headway::cli {

/// Where an export goes: standard output, or a file that appears under its name once it is whole.
class ExportFile {
 public:
  /// `path` empty: `out`.
  static Result<ExportFile> Open(const std::string& path, Output* out);
  /// A file that is not there yet, under its name from the beginning: for formats whose readers
  /// take what there is so far. AlreadyExists when there is one.
  static Result<ExportFile> Create(const std::string& path);
  ExportFile(ExportFile&&) = default;
  ~ExportFile();

  Status Write(std::string_view data);
  /// Puts the file in its place. Without it nothing is left behind.
  Status Commit();

 private:
  ExportFile() = default;
  Output* out_ = nullptr;
  UniqueFd fd_;
  std::string path_;
  std::string temporary_;  // empty: written in place (a pipe, a device)
};

}  // namespace headway::cli
