#include "monitor/state.h"

#include <fcntl.h>
#include <simdjson.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string_view>

#include "base/files.h"
#include "base/json_writer.h"
#include "base/time_format.h"

namespace headway::monitor {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kKept = 16;
constexpr std::string_view kSuffix = ".json";
constexpr std::size_t kFileBytesLimit = std::size_t{1} << 20;

void Time(JsonWriter* json, std::string_view key, const std::optional<WallNs>& time) {
  json->Key(key);
  time ? json->String(FormatTime(*time)) : json->Null();
}

void Words(JsonWriter* json, std::string_view key, const std::vector<std::string>& words) {
  json->Key(key).BeginArray();
  for (const std::string& word : words) json->String(word);
  json->EndArray();
}

std::string TextOf(const dom::object& object, std::string_view key) {
  std::string_view text;
  return object[key].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

template <typename Number>
Number NumberOf(const dom::object& object, std::string_view key) {
  Number number = 0;
  return object[key].get(number) == simdjson::SUCCESS ? number : 0;
}

std::optional<WallNs> TimeOf(const dom::object& object, std::string_view key) {
  const Result<WallNs> time = ParseRfc3339(TextOf(object, key));
  return time.ok() ? std::optional(*time) : std::nullopt;
}

std::vector<std::string> WordsOf(const dom::object& object, std::string_view key) {
  std::vector<std::string> words;
  dom::array array;
  if (object[key].get(array) != simdjson::SUCCESS) return words;
  for (const dom::element& element : array) {
    std::string_view word;
    if (element.get(word) == simdjson::SUCCESS) words.emplace_back(word);
  }
  return words;
}

DestinationKind KindOf(std::string_view name) {
  for (int number = 0; number <= static_cast<int>(DestinationKind::kCloudLogging); ++number) {
    const auto kind = static_cast<DestinationKind>(number);
    if (DestinationKindName(kind) == name) return kind;
  }
  return DestinationKind::kUnknown;
}

Code CodeOf(std::string_view name) {
  for (int number = 0; number <= static_cast<int>(Code::kUnauthenticated); ++number) {
    if (CodeName(static_cast<Code>(number)) == name) return static_cast<Code>(number);
  }
  return Code::kUnknown;
}

DestinationState ParseDestination(const dom::object& object) {
  DestinationState one;
  one.destination = TextOf(object, "destination");
  one.kind = KindOf(TextOf(object, "kind"));
  one.samples = NumberOf<std::int64_t>(object, "samples");
  one.missed = NumberOf<std::int64_t>(object, "missed");
  one.rejected_points = NumberOf<std::int64_t>(object, "rejected_points");
  one.delivered = TimeOf(object, "delivered");
  one.error = TextOf(object, "error");
  one.code = CodeOf(TextOf(object, "code"));
  one.failed = TimeOf(object, "failed");
  one.failures = NumberOf<std::int64_t>(object, "failures");
  return one;
}

Liveness LivenessOf(const State& state) {
  if (state.ended) return Liveness::kDead;
  journal::Header header;
  header.host = state.process.host;
  header.boot_id = state.process.boot_id;
  header.pid = state.process.pid;
  header.pid_start = state.process.pid_start;
  header.pid_namespace = state.process.pid_namespace;
  return journal::ProbeLiveness(-1, header);
}

Result<State> ReadState(const std::string& path) {
  const UniqueFd fd = OpenFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!fd.ok()) return ErrnoStatus(errno, "open a monitor's state", path);
  std::string text(kFileBytesLimit, '\0');
  const Result<std::size_t> size = ReadAt(fd.get(), text.data(), text.size(), 0, path);
  HEADWAY_RETURN_IF_ERROR(size.status());
  text.resize(*size);
  Result<State> state = ParseState(text);
  if (!state.ok()) return Status(state.status().code(), path + ": " + state.status().message());
  return state;
}

}  // namespace

std::string_view DestinationKindName(DestinationKind kind) {
  switch (kind) {
    case DestinationKind::kUnknown: break;
    case DestinationKind::kFile: return "file";
    case DestinationKind::kGoogleStorage: return "google_storage";
    case DestinationKind::kS3: return "s3";
    case DestinationKind::kPrometheus: return "prometheus";
    case DestinationKind::kOtlp: return "otlp";
    case DestinationKind::kCloudMonitoring: return "cloud_monitoring";
    case DestinationKind::kCloudLogging: return "cloud_logging";
  }
  return "unknown";
}

std::string ToJson(const State& state) {
  std::string text;
  JsonWriter json(&text, 1);
  json.BeginObject()
      .Field("project", state.project)
      .Field("run", state.run)
      .Field("host", state.process.host)
      .Field("boot_id", ToHex(state.process.boot_id))
      .Field("pid", state.process.pid)
      .Field("pid_start", state.process.pid_start)
      .Field("pid_namespace", state.process.pid_namespace)
      .Field("beside", state.beside);
  Words(&json, "tells", state.tells);
  Words(&json, "left_out", state.left_out);
  Time(&json, "started", state.started);
  Time(&json, "ended", state.ended);
  json.Field("samples", state.samples).Field("problem", state.problem);
  json.Key("destinations").BeginArray();
  for (const DestinationState& one : state.destinations) {
    json.BeginObject()
        .Field("destination", one.destination)
        .Field("kind", DestinationKindName(one.kind))
        .Field("samples", one.samples)
        .Field("missed", one.missed)
        .Field("rejected_points", one.rejected_points);
    Time(&json, "delivered", one.delivered);
    json.Field("error", one.error).Field("code", CodeName(one.code));
    Time(&json, "failed", one.failed);
    json.Field("failures", one.failures).EndObject();
  }
  json.EndArray().EndObject();
  return text + "\n";
}

Result<State> ParseState(std::string_view text) {
  dom::parser parser;
  dom::object object;
  const Status none(Code::kDataLoss, "no state of a monitor");
  if (parser.parse(simdjson::padded_string(text)).get(object) != simdjson::SUCCESS) return none;
  const std::optional<WallNs> started = TimeOf(object, "started");
  if (!started) return none;
  State state;
  state.started = *started;
  state.ended = TimeOf(object, "ended");
  state.project = TextOf(object, "project");
  state.run = TextOf(object, "run");
  state.process.host = TextOf(object, "host");
  const Result<BootId> boot_id = ParseUid<BootId>(TextOf(object, "boot_id"));
  if (boot_id.ok()) state.process.boot_id = *boot_id;
  state.process.pid = NumberOf<std::int64_t>(object, "pid");
  state.process.pid_start = NumberOf<std::uint64_t>(object, "pid_start");
  state.process.pid_namespace = NumberOf<std::uint64_t>(object, "pid_namespace");
  state.beside = NumberOf<std::int64_t>(object, "beside");
  state.tells = WordsOf(object, "tells");
  state.left_out = WordsOf(object, "left_out");
  state.samples = NumberOf<std::int64_t>(object, "samples");
  state.problem = TextOf(object, "problem");
  dom::array destinations;
  if (object["destinations"].get(destinations) == simdjson::SUCCESS) {
    for (const dom::element& element : destinations) {
      dom::object one;
      if (element.get(one) == simdjson::SUCCESS) {
        state.destinations.push_back(ParseDestination(one));
      }
    }
  }
  return state;
}

std::vector<FoundState> ReadStates(const std::string& directory, std::vector<Status>* problems) {
  std::vector<FoundState> found;
  const Result<std::vector<std::string>> names = ListDirectory(directory);
  if (!names.ok()) {
    if (names.status().code() != Code::kNotFound) problems->push_back(names.status());
    return found;
  }
  for (const std::string& name : *names) {
    if (!name.ends_with(kSuffix)) continue;
    Result<State> state = ReadState(JoinPath(directory, name));
    if (!state.ok()) {
      problems->push_back(state.status());
      continue;
    }
    const Liveness liveness = LivenessOf(*state);
    found.push_back({*std::move(state), liveness});
  }
  std::ranges::stable_sort(found, [](const FoundState& a, const FoundState& b) {
    return a.state.started > b.state.started;
  });
  return found;
}

std::string StateDirectory(std::string_view dir, std::string_view project, std::string_view run) {
  return JoinPath(JoinPath(JoinPath(dir, "monitors"), MakePathComponent(project)),
                  MakePathComponent(run));
}

Status StateFile::Begin(const State& state) {
  HEADWAY_RETURN_IF_ERROR(MakeDirectories(directory_));
  // Names sort by time.
  const Result<std::vector<std::string>> names = ListDirectory(directory_);
  if (names.ok() && names->size() >= kKept) {
    for (std::size_t i = 0; i + kKept <= names->size(); ++i) {
      ::unlink(JoinPath(directory_, (*names)[i]).c_str());
    }
  }
  path_ = JoinPath(directory_, FormatCompactTime(state.started) + "-" +
                                   std::to_string(state.process.pid) + std::string(kSuffix));
  return OkStatus();
}

Status StateFile::Write(const State& state) {
  if (directory_.empty()) return OkStatus();
  if (path_.empty()) HEADWAY_RETURN_IF_ERROR(Begin(state));
  Status status = WriteOnce(state);
  if (status.code() != Code::kNotFound) return status;
  HEADWAY_RETURN_IF_ERROR(Begin(state));
  return WriteOnce(state);
}

Status StateFile::WriteOnce(const State& state) const {
  const std::string text = ToJson(state);
  const std::string fresh = path_ + ".new";
  const UniqueFd file = OpenFile(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
  if (!file.ok()) return ErrnoStatus(errno, "write", fresh);
  HEADWAY_RETURN_IF_ERROR(WriteAll(file.get(), text, fresh));
  if (::rename(fresh.c_str(), path_.c_str()) != 0) return ErrnoStatus(errno, "write", path_);
  return OkStatus();
}

}  // namespace headway::monitor
