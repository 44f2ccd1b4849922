#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "cli/output.h"

namespace headway::cli {

/// A progress bar on standard error for work that takes over a second; nothing when that is no
/// terminal. It is wiped away when the work is done.
class Progress {
 public:
  Progress(const Terminal& error_terminal, std::string what)
      : terminal_(error_terminal), what_(std::move(what)) {}
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `share` of the work, 0..1, is done. Cheap when called often.
  void Update(double share);
  void Clear();

 private:
  Terminal terminal_;
  std::string what_;
  MonoNs begin_ = SystemClock::MonoNow();
  MonoNs drawn_{INT64_MIN / 2};
  bool visible_ = false;
};

}  // namespace headway::cli
