#pragma once

#include <google/protobuf/descriptor.h>

#include <atomic>
#include <cstddef>
#include <string_view>

#include "base/limits.h"
#include "base/status.h"

/// What a request may take once it is taken apart: two bytes may become an object of a hundred.

namespace headway::server {

/// InvalidArgument: a message of that type, as bytes, has more than `most` fields, those of the
/// messages in it counted, or can't be taken apart. Pure.
Status CheckParts(const google::protobuf::Descriptor& type, std::string_view message,
                  std::size_t most = limits::kMessageParts);
/// The same for what is between commas and brackets of a text of JSON, be it good JSON or not.
Status CheckJsonParts(std::string_view json);

/// How many large requests are worked on at once. Any thread.
class LargeRequests {
 public:
  /// Leave to work on one of that many bytes (when it is decompressed), while it lives.
  class Leave {
   public:
    Leave(LargeRequests* all, std::size_t bytes) : all_(bytes < kLarge ? nullptr : all) {
      if (all_ != nullptr) given_ = all_->under_way_.fetch_add(1) < limits::kServerLargeRequests;
    }
    ~Leave() {
      if (all_ != nullptr) --all_->under_way_;
    }
    Leave(const Leave&) = delete;
    Leave& operator=(const Leave&) = delete;

    /// OK, or ResourceExhausted: others are worked on.
    Status status() const {
      if (all_ == nullptr || given_) return OkStatus();
      return {Code::kResourceExhausted, "too many large requests are worked on; try again"};
    }

   private:
    LargeRequests* all_;
    bool given_ = false;
  };

 private:
  static constexpr std::size_t kLarge = limits::kServerLargeBytes;

  std::atomic<int> under_way_ = 0;
};

}  // namespace headway::server
