#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace headway::client {

/// One event of those that a server sends.
struct ServerEvent {
  std::string kind;  ///< "message" where it says none
  std::string data;
  std::string id;  ///< of the last event that had one
};

/// EventParser: the text/event-stream format of HTML, as bytes come. Pure.
class EventParser {
 public:
  /// No event may have more bytes than `limit`.
  explicit EventParser(std::size_t limit) : limit_(limit) {}

  /// Calls `take` for each event that is complete now, until it returns false: from then on nothing
  /// is taken. ResourceExhausted: an event is too large.
  Status Add(std::string_view bytes, const std::function<bool(const ServerEvent&)>& take);
  bool ended() const { return ended_; }

 private:
  bool TakeLine(const std::function<bool(const ServerEvent&)>& take);

  std::size_t limit_;
  std::string line_;
  bool after_cr_ = false;  // a line feed that follows belongs to it
  bool ended_ = false;
  bool has_data_ = false;
  ServerEvent event_;
};

}  // namespace headway::client
