#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/status.h"
#include "model/mask.h"

namespace headway::cli {

/// MaskWork: MaskedTail in a process of its own. A caller's patterns may take any time and memory,
/// and a match that has begun can't be ended in any other way. The process ends with us, and with
/// this.
class MaskWork {
 public:
  /// Forks. Call it while this process has one thread.
  static Result<MaskWork> Start(const Masker& masker, std::string_view raw, bool cut,
                                std::size_t limit);
  MaskWork(MaskWork&& other) noexcept;
  MaskWork& operator=(MaskWork&&) = delete;
  ~MaskWork();

  /// Can be read from when there is something for Read.
  int fd() const { return pipe_.get(); }
  /// Takes in what has come. True: no more will.
  bool Read();
  /// After that: puts the masked text into `*text`. False when masking has failed.
  bool Take(std::string* text) const;

 private:
  MaskWork(UniqueFd pipe, pid_t pid) : pipe_(std::move(pipe)), pid_(pid) {}

  UniqueFd pipe_;
  pid_t pid_ = -1;
  std::string heard_;  // the text's size, the text
};

}  // namespace headway::cli
