#include "client/event_parser.h"

#include <algorithm>
#include <utility>

namespace headway::client {

Status EventParser::Add(std::string_view bytes,
                        const std::function<bool(const ServerEvent&)>& take) {
  while (!bytes.empty() && !ended_) {
    if (std::exchange(after_cr_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    if (line_.size() + event_.data.size() + end > limit_) {
      ended_ = true;
      return {Code::kResourceExhausted,
              "the server sends an event of more than " + std::to_string(limit_) + " bytes"};
    }
    line_.append(bytes.substr(0, end));
    if (end == bytes.size()) return OkStatus();
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    ended_ = !TakeLine(take);
    line_.clear();
  }
  return OkStatus();
}

bool EventParser::TakeLine(const std::function<bool(const ServerEvent&)>& take) {
  if (line_.empty()) {
    const bool complete = std::exchange(has_data_, false);
    ServerEvent event = {.kind = std::exchange(event_.kind, {}),
                         .data = std::exchange(event_.data, {}),
                         .id = event_.id};
    if (!complete) return true;
    if (event.kind.empty()) event.kind = "message";
    return take(event);
  }
  const std::size_t colon = std::min(line_.find(':'), line_.size());
  const std::string_view field = std::string_view(line_).substr(0, colon);
  std::string_view value = std::string_view(line_).substr(std::min(colon + 1, line_.size()));
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (std::exchange(has_data_, true)) event_.data += '\n';
    event_.data += value;
  } else if (field == "event") {
    event_.kind = value;
  } else if (field == "id" && value.find('\0') == value.npos) {
    event_.id = value;
  }
  return true;
}

}  // namespace headway::client
