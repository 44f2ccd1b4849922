#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/utf8.h"
#include "net/answer.h"
#include "net/json_fields.h"
#include "net/url.h"

// Any bytes are the answer of a server: the first line is its Retry-After, all of it its body.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view line = text.substr(0, text.find('\n'));
  headway::net::Response response;
  response.status = 400;
  response.headers.emplace_back("retry-after", line);
  response.body = text;
  const std::string words = headway::net::WordsOf(response);
  HEADWAY_CHECK(words.size() <= 300 && headway::IsValidUtf8(words));
  HEADWAY_CHECK(!headway::net::StatusOf(response, "x").ok());
  const auto wait = headway::net::RetryAfterNs(response, {1'700'000'000'000'000'000});
  HEADWAY_CHECK(!wait || *wait >= 0);
  headway::net::ReadJsonFields(text).status().IgnoreError();
  const auto url = headway::net::MakeBaseUrl("x", line);
  HEADWAY_CHECK(!url.ok() || !headway::net::AuthorityOf(*url).empty());
  return 0;
}
