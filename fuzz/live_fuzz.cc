#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/percent.h"
#include "base/status.h"
#include "client/event_parser.h"
#include "server/query_string.h"

// A stream of events is taken the same way however it comes, and never more of one than its bound;
// what a query string gives, written as one again, gives the same. The first byte says how the
// stream is cut.

namespace headway {
namespace {

constexpr std::size_t kLimit = 4096;

std::vector<std::string> EventsOf(std::string_view text, std::size_t piece, bool* bad) {
  client::EventParser parser(kLimit);
  std::vector<std::string> events;
  *bad = false;
  for (std::size_t at = 0; at < text.size() && !*bad; at += piece) {
    *bad = !parser
                .Add(text.substr(at, piece),
                     [&](const client::ServerEvent& event) {
                       HEADWAY_CHECK(event.data.size() <= kLimit);
                       events.push_back(event.kind + '\0' + event.id + '\0' + event.data);
                       return true;
                     })
                .ok();
  }
  return events;
}

void CheckEvents(std::string_view text, std::size_t piece) {
  bool bad_whole = false;
  bool bad_pieces = false;
  const auto whole = EventsOf(text, text.size() + 1, &bad_whole);
  const auto pieces = EventsOf(text, piece, &bad_pieces);
  HEADWAY_CHECK(bad_whole == bad_pieces && whole == pieces);
}

void CheckQuery(std::string_view text) {
  const auto values = server::ParseQueryString(text);
  if (!values.ok()) return;
  std::string again;
  for (const auto& [name, value] : *values) {
    again += "&" + PercentEncode(name) + "=" + PercentEncode(value);
  }
  const auto same = server::ParseQueryString(again);
  HEADWAY_CHECK(same.ok() && *same == *values);
}

}  // namespace
}  // namespace headway

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  headway::CheckEvents(text, std::size_t{1} + data[0]);
  headway::CheckQuery(text);
  return 0;
}
