#include "net/answer.h"

#include <time.h>

#include <algorithm>
#include <charconv>

#include "base/utf8.h"
#include "net/json_fields.h"

namespace headway::net {
namespace {

constexpr std::size_t kWordsBytes = 300;
constexpr std::size_t kSecretBytes = 8;
constexpr std::string_view kMasked = "[masked]";

// Whether `word`, characters of tokens only, looks like a secret.
bool IsSecret(std::string_view word) {
  return word.starts_with("ya29.") || (word.starts_with("eyJ") && word.size() > 20) ||
         (word.size() == 40 && word.find_first_of("/+=") != std::string_view::npos);
}

bool IsTokenByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-' || c == '~' || c == '+' || c == '/' || c == '=';
}

std::string_view Between(std::string_view text, std::string_view open, std::string_view close) {
  const std::size_t begin = text.find(open);
  if (begin == std::string_view::npos) return {};
  const std::size_t end = text.find(close, begin + open.size());
  if (end == std::string_view::npos) return {};
  return text.substr(begin + open.size(), end - begin - open.size());
}

// Two notations: APIs have an object "error", token servers a code and a description.
std::string WordsOfJson(std::string_view body) {
  const Result<JsonFields> fields = ReadJsonFields(body);
  if (!fields.ok()) return {};
  std::string words(FieldOf(*fields, "error.message"));
  if (words.empty()) words = FieldOf(*fields, "error_description");
  for (const char* const path : {"error.status", "error"}) {
    const std::string_view name = FieldOf(*fields, path);
    if (!name.empty())
      return words.empty() ? std::string(name) : words.append(" (").append(name) + ")";
  }
  return words;
}

}  // namespace

std::string MaskTokens(std::string_view text) {
  std::string out;
  bool credential = false;  // the word before says that one follows
  while (!text.empty()) {
    std::size_t length = 0;
    while (length < text.size() && IsTokenByte(text[length])) ++length;
    if (length == 0) {
      out.push_back(text.front());
      text.remove_prefix(1);
      continue;
    }
    const std::string_view word = text.substr(0, length);
    if (IsSecret(word) || (credential && word.size() > 8)) {
      out += kMasked;
    } else {
      out += word;
    }
    credential = word == "Bearer" || word == "bearer" || word.ends_with("access_token") ||
                 word.ends_with("access_token=");
    text.remove_prefix(length);
  }
  return out;
}

void MaskSecret(std::string_view secret, Response* response) {
  if (secret.size() < kSecretBytes) return;
  std::string& body = response->body;
  for (std::size_t at = body.find(secret); at != std::string::npos;
       at = body.find(secret, at + kMasked.size())) {
    body.replace(at, secret.size(), kMasked);
  }
}

namespace {

// A varint at the beginning of `bytes`, which then begin behind it; nothing: there is none.
std::optional<std::uint64_t> TakeVarint(std::string_view* bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes->empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes->front());
    bytes->remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

// The message (field 2) of a google.rpc.Status, whose code is a varint (field 1).
std::string_view MessageOf(std::string_view status) {
  constexpr std::uint64_t kCode = 1 << 3;
  constexpr std::uint64_t kMessage = 2 << 3 | 2;
  while (!status.empty()) {
    const std::optional<std::uint64_t> tag = TakeVarint(&status);
    const std::optional<std::uint64_t> number = TakeVarint(&status);
    if (!tag || !number) break;
    if (*tag == kMessage) return status.substr(0, *number);
    if (*tag != kCode) break;
  }
  return {};
}

}  // namespace

std::string CleanWords(std::string_view words) {
  std::string line;
  for (const char c : MaskTokens(words)) {
    const bool blank = static_cast<unsigned char>(c) <= 0x20 || c == 0x7f;
    if (!blank) {
      line.push_back(c);
    } else if (!line.empty() && line.back() != ' ') {
      line.push_back(' ');
    }
  }
  return std::string(TruncateUtf8(ToValidUtf8(line), kWordsBytes));
}

std::string WordsOf(const Response& response) {
  const std::string_view body = response.body;
  if (response.Header("content-type").find("protobuf") != std::string_view::npos) {
    return CleanWords(MessageOf(body));
  }
  std::string words = WordsOfJson(body);
  if (words.empty()) {
    words = Between(body, "<Message>", "</Message>");
    const std::string_view code = Between(body, "<Code>", "</Code>");
    if (!code.empty())
      words = words.empty() ? std::string(code) : words.append(" (").append(code) + ")";
  }
  return CleanWords(words.empty() ? body.substr(0, 4 * kWordsBytes) : words);
}

Status StatusOf(const Response& response, std::string_view what) {
  const int status = response.status;
  if (status >= 200 && status < 300) return OkStatus();
  Code code = Code::kFailedPrecondition;
  if (status == 408 || status == 429 || status >= 500) code = Code::kUnavailable;
  if (status == 401 || status == 403) code = Code::kPermissionDenied;
  if (status == 400) code = Code::kInvalidArgument;
  std::string message =
      std::string(what).append(": the server answers ").append(std::to_string(status));
  if (const std::string words = WordsOf(response); !words.empty()) message += ": " + words;
  return {code, message};
}

std::optional<std::int64_t> RetryAfterNs(const Response& response, WallNs now) {
  const std::string_view text = response.Header("retry-after");
  if (text.empty()) return std::nullopt;
  constexpr std::int64_t kYear = 366 * 86'400;
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size()) {
    tm date = {};
    if (::strptime(std::string(text).c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date) == nullptr) {
      return std::nullopt;
    }
    seconds = ::timegm(&date) - now.ns / kNanosPerSecond;
  }
  return std::clamp<std::int64_t>(seconds, 0, kYear) * kNanosPerSecond;
}

}  // namespace headway::net
