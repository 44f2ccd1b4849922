#include "formats/gcp/log_entries.h"

#include <charconv>
#include <cmath>

#include "base/json_writer.h"
#include "base/percent.h"
#include "base/time_format.h"
#include "base/uid.h"
#include "base/utf8.h"
#include "ledger/compat/keys.h"

namespace headway::gcp {
namespace {

using compat::EntryKind;
using compat::Key;
using compat::KeyName;

constexpr std::int64_t kTimeLimitUs = INT64_MAX / 1000;
constexpr int kPageSize = 1000;

std::string LogName(const JobLog& log) {
  return "projects/" + log.project_id + "/logs/" + PercentEncode(log.log_name);
}

// A string of the logging query language.
std::string Quoted(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : ToValidUtf8(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.append(1, '\\').append(1, c);
    } else if (byte < 0x20 || byte == 0x7f) {
      out.append("\\x").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
    } else {
      out.push_back(c);
    }
  }
  return out + "\"";
}

std::string EightDigits(std::uint32_t value) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (int shift = 28; shift >= 0; shift -= 4) out.push_back(kHex[value >> shift & 15]);
  return out;
}

// Counts are whole numbers, though they are kept as doubles.
void Count(Key key, double value, JsonWriter* json) {
  if (value == std::trunc(value) && std::abs(value) < 9e15) {
    json->Field(KeyName(key), static_cast<std::int64_t>(value));
  } else {
    json->Field(KeyName(key), value);
  }
}

void WriteCheckpoint(const compat::Checkpoint& checkpoint, const compat::Entry& entry,
                     JsonWriter* json) {
  const bool save = entry.kind == EntryKind::kSave;
  const std::size_t dash = checkpoint.key.rfind('-');
  const std::string_view step = std::string_view(checkpoint.key).substr(0, dash);
  const bool local = dash != std::string::npos && checkpoint.key.substr(dash) == "-local";
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), number);
  if (error == std::errc() && end == step.data() + step.size()) {
    json->Field(KeyName(Key::kCheckpointStep), number);
  } else {
    json->Field(KeyName(Key::kCheckpointStep), step);
  }
  json->Field(KeyName(Key::kEvent), save ? "save" : "restore");
  // Which directory it was is not kept, but whether it was in an object store.
  json->Field(KeyName(Key::kDirectory), local ? "/" : "gs://");
  json->Field(KeyName(save ? Key::kSaveStart : Key::kRestoreStart), entry.time);
  json->Field(KeyName(save ? Key::kSaveSeconds : Key::kRestoreSeconds), checkpoint.manager_s);
}

void WritePayload(const JobLog& target, const compat::EntryLog& log, const compat::Entry& entry,
                  JsonWriter* json) {
  json->BeginObject().Field(KeyName(Key::kJobName), target.job_name);
  switch (entry.kind) {
    case EntryKind::kStep: json->Field(KeyName(Key::kStepCount), entry.value); break;
    case EntryKind::kCustomStart:
    case EntryKind::kCustomEnd:
      json->Field(KeyName(Key::kCustomType), log.names().Text(entry.name));
      break;
    case EntryKind::kWaitStart:
    case EntryKind::kWaitEnd:
      json->Field(KeyName(Key::kWaitType), log.names().Text(entry.name));
      break;
    case EntryKind::kSlices: {
      const compat::Slices& slices = log.slices(entry);
      Count(Key::kActive, slices.active, json);
      Count(Key::kTotal, slices.total, json);
      Count(Key::kAvailable, slices.available, json);
      json->Field(KeyName(Key::kSlicesTime), entry.time);
      break;
    }
    case EntryKind::kSave:
    case EntryKind::kRestore: WriteCheckpoint(log.checkpoint(entry), entry, json); break;
    default: break;
  }
  for (std::size_t i = 0; i < compat::kTimeKeys; ++i) {
    const auto key = static_cast<Key>(i);
    if (compat::KindOf(key) == entry.kind) json->Field(KeyName(key), entry.time);
  }
  json->EndObject();
}

}  // namespace

std::string EntryWriter::Write(const compat::EntryLog& log, std::size_t* from) {
  const std::vector<compat::Entry>& entries = log.entries();
  std::string some;
  for (std::size_t count = 0; *from < entries.size() && count < kEntriesPerRequest; ++*from) {
    const std::size_t before = some.size();
    WriteEntry(log, entries[*from], &some);
    count += some.size() > before ? 1 : 0;
  }
  std::string body;
  if (some.empty()) return body;
  JsonWriter json(&body);
  json.BeginObject().Field("logName", LogName(target_)).Key("resource").BeginObject();
  json.Field("type", "global").Key("labels").BeginObject();
  json.Field("project_id", target_.project_id).EndObject().EndObject();
  // One bad entry must not keep the others out.
  json.Field("partialSuccess", true).Key("entries").Raw("[" + some + "]").EndObject();
  return body;
}

void EntryWriter::WriteEntry(const compat::EntryLog& log, const compat::Entry& entry,
                             std::string* body) {
  const double micros = std::nearbyint(entry.time * 1e6);
  if (!(std::abs(micros) < static_cast<double>(kTimeLimitUs))) {
    ++left_out_;
    return;
  }
  const auto time_us = static_cast<std::int64_t>(micros);
  same_ = time_us == time_us_ ? same_ + 1 : 0;
  time_us_ = time_us;
  std::string payload;
  JsonWriter inner(&payload);
  WritePayload(target_, log, entry, &inner);
  // The service orders entries of one time by it.
  const std::string insert_id =
      EightDigits(same_) + "-" + uid_internal::ToHex(uid_internal::Derive(payload));
  if (!body->empty()) *body += ',';
  JsonWriter json(body);
  json.BeginObject().Field("insertId", insert_id);
  json.Field("timestamp", FormatTime({time_us * 1000})).Field("severity", "INFO");
  json.Key("jsonPayload").Raw(payload).EndObject();
}

std::string EntryFilter(const JobLog& log, const EntryRange& range) {
  std::string filter;
  if (!log.project_id.empty()) filter = "logName=" + Quoted(LogName(log)) + " AND ";
  filter += "severity=INFO AND jsonPayload.job_name=" + Quoted(log.job_name);
  filter += " AND timestamp<=" + Quoted(FormatTime(range.end));
  if (range.after) {
    const std::string time = Quoted(FormatTime(range.after->first));
    return filter + " AND (timestamp > " + time + " OR (timestamp = " + time + " AND insertId > " +
           Quoted(range.after->second) + "))";
  }
  WallNs start = range.end - range.retention_ns;
  if (range.start) start = *range.start;
  return filter + " AND timestamp>" + Quoted(FormatTime(start));
}

std::string ListBody(const JobLog& log, std::string_view filter, std::string_view page_token) {
  std::string body;
  JsonWriter json(&body);
  json.BeginObject().Key("resourceNames").BeginArray().String("projects/" + log.project_id);
  json.EndArray().Field("filter", filter).Field("orderBy", "timestamp asc");
  json.Field("pageSize", kPageSize);
  if (!page_token.empty()) json.Field("pageToken", page_token);
  json.EndObject();
  return body;
}

}  // namespace headway::gcp
