#include "monitor/state.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>

#include "base/files.h"
#include "base/json_writer.h"
#include "base/time_format.h"

namespace headway::monitor {
namespace {

constexpr std::size_t kKept = 16;

void Time(JsonWriter* json, std::string_view key, const std::optional<WallNs>& time) {
  json->Key(key);
  time ? json->String(FormatTime(*time)) : json->Null();
}

}  // namespace

std::string ToJson(const State& state) {
  std::string text;
  JsonWriter json(&text, 1);
  json.BeginObject()
      .Field("project", state.project)
      .Field("run", state.run)
      .Field("pid", state.pid)
      .Field("beside", state.beside);
  Time(&json, "started", state.started);
  Time(&json, "ended", state.ended);
  json.Field("samples", state.samples).Field("problem", state.problem);
  json.Key("destinations").BeginArray();
  for (const DestinationState& one : state.destinations) {
    json.BeginObject()
        .Field("destination", one.destination)
        .Field("samples", one.samples)
        .Field("missed", one.missed);
    Time(&json, "delivered", one.delivered);
    json.Field("error", one.error);
    Time(&json, "failed", one.failed);
    json.Field("failures", one.failures).EndObject();
  }
  json.EndArray().EndObject();
  return text + "\n";
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
  path_ = JoinPath(directory_,
                   FormatCompactTime(state.started) + "-" + std::to_string(state.pid) + ".json");
  return OkStatus();
}

Status StateFile::Write(const State& state) {
  if (directory_.empty()) return OkStatus();
  if (path_.empty()) HEADWAY_RETURN_IF_ERROR(Begin(state));
  const std::string text = ToJson(state);
  const std::string fresh = path_ + ".new";
  const UniqueFd file = OpenFile(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
  if (!file.ok()) return ErrnoStatus(errno, "write", fresh);
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return ErrnoStatus(errno, "write", fresh);
  }
  if (::rename(fresh.c_str(), path_.c_str()) != 0) return ErrnoStatus(errno, "write", path_);
  return OkStatus();
}

}  // namespace headway::monitor
