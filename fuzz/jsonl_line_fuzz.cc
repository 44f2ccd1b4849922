#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "formats/jsonl/line_parser.h"

// The line parser against a parser that always checks the whole of JSON's grammar: they agree on
// what a JSON object is. That one refuses numbers which do not fit its types, so a number is no
// difference; duplicate keys and deep nesting are our own rules.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string padded(reinterpret_cast<const char*>(data), size);
  if (padded.find('\n') != std::string::npos) return 0;
  padded.append(simdjson::SIMDJSON_PADDING, ' ');

  static headway::jsonl::LineParser ours;
  headway::jsonl::ParsedLine line;
  const std::size_t readable = size % 2 == 0 ? padded.size() : size;
  const bool taken = ours.Parse(std::string_view(padded).substr(0, size), readable, &line);

  static simdjson::dom::parser theirs;
  simdjson::dom::element element;
  const simdjson::error_code error =
      theirs.parse(padded.data(), size, /*realloc_if_needed=*/false).get(element);
  const bool object = error == simdjson::SUCCESS && element.is_object();

  if (taken) HEADWAY_CHECK(object || error == simdjson::NUMBER_ERROR);
  if (!taken && ours.not_json()) HEADWAY_CHECK(!object);
  return 0;
}
