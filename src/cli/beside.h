#pragma once

#include <string>

#include "base/files.h"
#include "base/status.h"
#include "cli/command.h"
#include "monitor/company.h"

namespace headway::cli {

/// Beside: a command that runs beside the process that started it, and ends with it
/// (python/headway/_beside.py).
class Beside {
 public:
  void Describe(Description* description);

  /// Gets out of that process's way, and catches what asks to end. Call it while this process has
  /// one thread. InvalidArgument: it is no process.
  Status Begin();
  /// The directory that it was started in may go.
  void LeaveDirectory() const;

  /// It was started by a program, and has nobody to talk to but that.
  bool controlled() const { return control_; }
  /// Whether it watches a process that lives.
  bool lives() const;
  const monitor::Company& company() const { return company_; }
  /// Tells that program that all is well.
  void TellReady() const;
  /// Tells that program what went wrong.
  void Tell(const std::string& trouble) const;

 private:
  std::string pid_;
  bool control_ = false;
  UniqueFd signals_;
  UniqueFd process_;
  monitor::Company company_;
};

}  // namespace headway::cli
