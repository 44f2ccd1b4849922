#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "formats/config/reader.h"
#include "model/config.h"

// The reader of configurations against a parser that always checks the whole of JSON's grammar:
// what is taken is a JSON object (that one refuses numbers which do not fit its types), and each
// value of the list is JSON. Brought over itself, a configuration stays what it is.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  headway::Result<headway::ConfigValue> config = headway::config::ReadConfig(text);

  static simdjson::dom::parser theirs;
  simdjson::dom::element element;
  const simdjson::error_code error = theirs.parse(simdjson::padded_string(text)).get(element);
  const bool object = error == simdjson::SUCCESS && element.is_object();
  if (!config.ok()) {
    const std::string& why = config.status().message();
    if (why.find("levels") == std::string::npos && why.find("values") == std::string::npos) {
      HEADWAY_CHECK(!object);
    }
    return 0;
  }
  HEADWAY_CHECK(object || error == simdjson::NUMBER_ERROR);

  const headway::FlatConfig flat = headway::Flatten(*config);
  for (const headway::ConfigEntry& entry : flat.entries) {
    simdjson::dom::element value;
    const simdjson::error_code wrong =
        theirs.parse(simdjson::padded_string(entry.value)).get(value);
    HEADWAY_CHECK(wrong == simdjson::SUCCESS || wrong == simdjson::NUMBER_ERROR);
    HEADWAY_CHECK(!entry.masked || entry.value.find("\"***\"") != std::string::npos);
  }
  headway::ConfigValue twice = *config;
  headway::Update(&twice, *std::move(config));
  HEADWAY_CHECK(headway::Flatten(twice) == flat);
  return 0;
}
