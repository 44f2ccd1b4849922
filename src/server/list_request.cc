#include "server/list_request.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "base/crc32c.h"

namespace headway::server {
namespace {

Status Bad(const std::string& what) { return {Code::kInvalidArgument, what}; }

std::string ToHexText(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

// Nothing where it is no such text.
std::optional<std::string> FromHexText(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    std::uint8_t byte = 0;
    const char* const begin = text.data() + i;
    const char* const end = begin + std::min<std::size_t>(2, text.size() - i);
    const auto [stop, error] = std::from_chars(begin, end, byte, 16);
    if (error != std::errc() || stop != begin + 2) return std::nullopt;
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

std::string MarkOf(std::string_view place, const std::string& question) {
  return std::to_string(
      Crc32c(place.data(), place.size(), Crc32c(question.data(), question.size())));
}

Result<std::string> ParseToken(const std::string& token, const std::string& question) {
  if (token.empty()) return std::string();
  const std::size_t slash = token.find('/');
  std::optional<std::string> next = FromHexText(std::string_view(token).substr(0, slash));
  if (slash == std::string::npos || !next || next->empty() ||
      token.substr(slash + 1) != MarkOf(*next, question)) {
    return Bad("the page_token is none of an answer to this question");
  }
  return *std::move(next);
}

template <typename T>
Status In(const char* field, const Result<T>& parsed) {
  if (parsed.ok()) return OkStatus();
  return {parsed.status().code(), std::string(field) + ": " + parsed.status().message()};
}

}  // namespace

std::string ProjectOf(const std::string& project) { return project.empty() ? "default" : project; }

Result<std::size_t> PageSize(std::int32_t asked, int usual, int most) {
  if (asked < 0) return Bad("page_size is below 0");
  return static_cast<std::size_t>(asked == 0 ? usual : std::min(asked, most));
}

std::string WantedPage::Token(const std::string& next) const {
  return next.empty() ? next : ToHexText(next) + "/" + MarkOf(next, question);
}

Result<WantedPage> list_request_internal::Read(std::span<const FilterField> fields,
                                               const std::string& filter,
                                               const std::string& order_by,
                                               const std::string& page_token,
                                               std::string question) {
  WantedPage wanted;
  const Result<Filter> parsed = Filter::Parse(filter, fields);
  HEADWAY_RETURN_IF_ERROR(In("filter", parsed));
  wanted.filter = *parsed;
  if (!order_by.empty()) {
    const Result<RowOrder> order = RowOrder::Parse(order_by, fields);
    HEADWAY_RETURN_IF_ERROR(In("order_by", order));
    wanted.order = *order;
  }
  Result<std::string> after = ParseToken(page_token, question);
  HEADWAY_RETURN_IF_ERROR(after.status());
  wanted.after = *std::move(after);
  wanted.question = std::move(question);
  return wanted;
}

}  // namespace headway::server
