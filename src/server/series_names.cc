#include "server/series_names.h"

#include <algorithm>
#include <string>

#include "base/limits.h"
#include "base/names.h"
#include "base/uid.h"
#include "base/utf8.h"

namespace headway::server {
namespace {

Status Bad(const std::string& what) { return {Code::kInvalidArgument, what}; }

// Most names are: what is wrong with others is looked for.
bool IsPlain(std::string_view text) {
  bool plain = text.size() <= limits::kNameBytes;
  for (const char c : text) plain &= c >= ' ' && c <= '~';
  return plain;
}

Status CheckName(std::string_view what, std::string_view name) {
  return IsPlain(name) ? OkStatus() : CheckNewName(what, name);
}

}  // namespace

Status CheckSeriesName(std::string_view name, std::string_view unit) {
  if (name.empty()) return Bad("a metric needs a name");
  HEADWAY_RETURN_IF_ERROR(CheckName("the metric's name", name));
  return CheckName("the metric's unit", unit);
}

Status CheckSeriesLabel(std::string_view key, std::string_view value) {
  HEADWAY_RETURN_IF_ERROR(CheckName("the key of a label", key));
  if (value.size() > limits::kRunLabelBytes) {
    return Bad("the value of label \"" + std::string(key) + "\" has more than " +
               std::to_string(limits::kRunLabelBytes) + " bytes");
  }
  if (!IsPlain(value) && !IsValidUtf8(value)) {
    return Bad("the value of label \"" + std::string(key) + "\" is no UTF-8");
  }
  return OkStatus();
}

Status CheckSeriesLabels(std::size_t count) {
  if (count <= limits::kRunLabels) return OkStatus();
  return Bad("a series has at most " + std::to_string(limits::kRunLabels) + " labels");
}

Status CheckSeriesSource(std::string_view source) {
  if (source.empty()) return Bad("points need a source");
  HEADWAY_RETURN_IF_ERROR(CheckName("the source", source));
  const std::string text(source);
  if (ParseUid<JournalUid>(text).ok()) return Bad("the source \"" + text + "\" could be a journal");
  if (source == kRemoteWriteSource || source == kOtlpSource) {
    return Bad("the source \"" + text + "\" is what came by that protocol; choose another name");
  }
  return OkStatus();
}

}  // namespace headway::server
