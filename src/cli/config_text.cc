#include "cli/config_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "base/json_writer.h"
#include "cli/palette.h"
#include "model/text.h"

namespace headway::cli {
namespace {

constexpr std::size_t kPathMax = 48;  // columns; longer paths push their value
constexpr std::size_t kVariantsShown = 8;
constexpr std::size_t kHostsShown = 3;
constexpr std::size_t kRangesShown = 6;
constexpr std::size_t kValueMin = 16;

std::string Counted(std::size_t count, std::string_view one, std::string_view many) {
  return ShowCount(static_cast<std::int64_t>(count)) + " " + std::string(count == 1 ? one : many);
}

std::size_t HostsOf(const AttemptConfig& attempt) {
  std::vector<std::string_view> hosts;
  for (const ConfigProcess& process : attempt.processes) hosts.push_back(process.host);
  std::ranges::sort(hosts);
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts.size();
}

// What a cell may hold: on a terminal one line's rest, elsewhere all of it.
std::string Cell(std::string_view text, std::size_t column, const Terminal& terminal) {
  std::string line = PrintableLine(text);
  if (!terminal.interactive) return line;
  const auto width = static_cast<std::size_t>(terminal.width);
  return Shorten(line, std::max(width > column ? width - column : 0, kValueMin));
}

std::string ShowVariant(const ConfigVariant& variant) {
  if (variant.missing) return "not set";
  return variant.value;
}

std::string ShowSide(const std::vector<ConfigVariant>& variants) {
  if (variants.empty()) return "";
  std::string text = ShowVariant(variants.front());
  for (std::size_t i = 1; i < variants.size() && i < 3; ++i) {
    text += " | " + ShowVariant(variants[i]);
  }
  if (variants.size() > 3) text += " | and " + std::to_string(variants.size() - 3) + " more";
  return text;
}

std::string NameOf(const ComparedConfig& side) {
  const std::int64_t attempt = side.attempt->attempt;
  return PrintableLine(side.run->run) +
         (attempt < 0 ? std::string() : ", attempt " + std::to_string(attempt));
}

void WriteAttempt(JsonWriter* json, std::int64_t attempt) {
  json->Key("attempt");
  attempt < 0 ? json->Null() : json->Int(attempt);
}

void WriteVariants(JsonWriter* json, const std::vector<ConfigVariant>& variants) {
  json->BeginArray();
  for (const ConfigVariant& variant : variants) {
    json->BeginObject().Key("value");
    variant.missing ? json->Null() : json->Raw(variant.value);
    json->Field("masked", variant.masked).Field("missing", variant.missing);
    json->Key("processes").BeginArray();
    for (const std::size_t process : variant.processes) json->Uint(process);
    json->EndArray().EndObject();
  }
  json->EndArray();
}

void WriteProcesses(JsonWriter* json, const AttemptConfig& attempt) {
  json->Key("processes").BeginArray();
  for (const ConfigProcess& process : attempt.processes) {
    json->BeginObject().Key("rank");
    process.rank < 0 ? json->Null() : json->Int(process.rank);
    json->Field("host", process.host)
        .Field("pid", process.pid)
        .Field("writer", process.name)
        .Field("journal", process.uid)
        .Field("supervisor", process.supervisor)
        .EndObject();
  }
  json->EndArray();
}

void WriteSide(JsonWriter* json, std::string_view key, const ComparedConfig& side) {
  json->Key(key).BeginObject().Field("run", side.run->run).Field("project", side.run->project);
  WriteAttempt(json, side.attempt->attempt);
  WriteProcesses(json, *side.attempt);
  json->EndObject();
}

// "0-3, 7" of numbers that rise.
std::string Ranges(const std::vector<std::int64_t>& numbers) {
  std::string text;
  std::size_t ranges = 0;
  for (std::size_t i = 0; i < numbers.size(); ++ranges) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] <= numbers[last] + 1) ++last;
    if (ranges == kRangesShown)
      return text + " and " + std::to_string(numbers.size() - i) + " more";
    if (ranges > 0) text += ", ";
    text += std::to_string(numbers[i]);
    if (numbers[last] > numbers[i]) text += "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

std::string RenderRows(const ClassConfig& one, const AttemptConfig& shown,
                       const Terminal& terminal) {
  std::string out;
  std::size_t width = 0;
  for (const ConfigRow& row : one.rows) {
    width = std::max(width, std::min(DisplayWidth(PrintableLine(row.path)), kPathMax));
  }
  const std::size_t column = width + 4;
  for (const ConfigRow& row : one.rows) {
    out += "  " + PadRight(PrintableLine(row.path), width) + "  ";
    if (!row.differs()) {
      const ConfigVariant& only = row.variants.front();
      const std::string cell = Cell(ShowVariant(only), column, terminal);
      out += (only.masked ? Paint(Tone::kFaint, cell, terminal) : cell) + "\n";
      continue;
    }
    out += Paint(Tone::kWarning, "differs:", terminal) + "\n";
    std::size_t count = 0;
    for (const ConfigVariant& variant : row.variants) {
      if (count++ == kVariantsShown) {
        out += std::string(column + 2, ' ') + "and " +
               Counted(row.variants.size() - kVariantsShown, "more value", "more values") +
               ": --json\n";
        break;
      }
      const std::string who = ShowProcesses(shown, variant.processes, one.processes);
      out += std::string(column + 2, ' ') +
             Cell(ShowVariant(variant), column + 6 + DisplayWidth(who), terminal) + "  " +
             Paint(Tone::kFaint, who, terminal) + "\n";
    }
  }
  if (one.left_out > 0) {
    out += "  and " + ShowCount(static_cast<std::int64_t>(one.left_out)) +
           " values more, which are too many to show\n";
  }
  return out;
}

void WriteClasses(JsonWriter* json, const AttemptConfig& attempt) {
  json->BeginArray();
  for (const ClassConfig& one : attempt.classes) {
    json->BeginObject().Field("class", one.name).Field("left_out", one.left_out);
    json->Key("values").BeginArray();
    for (const ConfigRow& row : one.rows) {
      const ConfigVariant& first = row.variants.front();
      json->BeginObject().Field("path", row.path).Key("value").Raw(first.value);
      json->Field("masked", first.masked).Field("differs", row.differs());
      if (row.differs()) {
        json->Key("variants");
        WriteVariants(json, row.variants);
      }
      json->EndObject();
    }
    json->EndArray().EndObject();
  }
  json->EndArray();
}

}  // namespace

std::string ShowProcesses(const AttemptConfig& attempt, const std::vector<std::size_t>& some,
                          const std::vector<std::size_t>& among) {
  std::map<std::string_view, std::size_t> all, mine;
  for (const std::size_t process : among) ++all[attempt.processes[process].host];
  for (const std::size_t process : some) ++mine[attempt.processes[process].host];
  const bool whole = all.size() > 1 && std::ranges::all_of(mine, [&all](const auto& host) {
                       return host.second == all[host.first];
                     });
  std::string text;
  std::size_t shown = 0;
  if (whole) {
    for (const auto& [host, count] : mine) {
      if (shown++ == kHostsShown) {
        return text + " and " + Counted(mine.size() - kHostsShown, "more host", "more hosts");
      }
      text += (text.empty() ? "" : ", ") + PrintableLine(host.empty() ? "a host" : host);
    }
    return text;
  }
  std::vector<std::int64_t> ranks;
  std::size_t others = 0;
  std::string first;
  for (const std::size_t process : some) {
    const ConfigProcess& one = attempt.processes[process];
    if (one.rank >= 0 && !one.supervisor) {
      ranks.push_back(one.rank);
    } else if (others++ == 0) {
      first = (one.supervisor ? "supervisor " : "process ") + std::to_string(one.pid) +
              (one.host.empty() ? "" : " on " + PrintableLine(one.host));
    }
  }
  if (!ranks.empty()) text = (ranks.size() == 1 ? "rank " : "ranks ") + Ranges(ranks);
  if (others > 0) text += (text.empty() ? "" : ", ") + first;
  if (others > 1) text += " and " + Counted(others - 1, "more process", "more processes");
  return text;
}

std::string RenderConfig(const RunConfig& run, const AttemptConfig& shown,
                         const Terminal& terminal) {
  std::string out = Paint(Tone::kStrong, PrintableLine(run.run), terminal);
  if (shown.attempt >= 0) out += "  attempt " + std::to_string(shown.attempt);
  if (run.attempts.size() > 1) {
    out += " (of " + Counted(run.attempts.size(), "attempt", "attempts") + ": --attempt N)";
  }
  const std::size_t hosts = HostsOf(shown);
  out += ", " + Counted(shown.processes.size(), "process", "processes");
  if (hosts > 1) out += " on " + Counted(hosts, "host", "hosts");
  out += "\n";
  for (const ClassConfig& one : shown.classes) {
    if (one.rows.empty()) continue;
    out += "\n" + Paint(Tone::kStrong, PrintableLine(one.name), terminal);
    if (one.processes.size() < shown.processes.size()) {
      out += "  said by " + ShowProcesses(shown, one.processes, one.processes);
    }
    out += "\n" + RenderRows(one, shown, terminal);
  }
  return out;
}

std::string RenderRegistered(const AttemptConfig& registered, const Terminal& terminal) {
  std::string out;
  for (const ClassConfig& one : registered.classes) {
    if (one.rows.empty()) continue;
    out += "\n" + Paint(Tone::kStrong, PrintableLine(one.name), terminal) +
           "  set on the server, not recorded\n" + RenderRows(one, registered, terminal);
  }
  return out;
}

std::string ConfigToJson(const RunConfig& run, const AttemptConfig* shown,
                         const AttemptConfig& registered) {
  std::string out;
  JsonWriter json(&out, 1);
  json.BeginObject().Field("run", run.run).Field("project", run.project);
  json.Key("attempts").BeginArray();
  for (const AttemptConfig& attempt : run.attempts) {
    attempt.attempt < 0 ? json.Null() : json.Int(attempt.attempt);
  }
  json.EndArray();
  static const AttemptConfig kNothing;
  if (shown == nullptr) shown = &kNothing;
  WriteAttempt(&json, shown->attempt);
  WriteProcesses(&json, *shown);
  json.Key("classes");
  WriteClasses(&json, *shown);
  if (!registered.classes.empty()) {
    json.Key("registered");
    WriteClasses(&json, registered);
  }
  json.EndObject();
  return out + "\n";
}

std::string RenderComparison(const ComparedConfig& left, const ComparedConfig& right,
                             const std::vector<ConfigDifference>& differences, bool all,
                             const Terminal& terminal) {
  std::string out = "  left   " + Paint(Tone::kStrong, NameOf(left), terminal) + "\n  right  " +
                    Paint(Tone::kStrong, NameOf(right), terminal) + "\n";
  std::array<std::size_t, 4> counts{};
  std::size_t path_width = 0;
  std::size_t left_width = 0;
  for (const ConfigDifference& one : differences) {
    ++counts[static_cast<std::size_t>(one.change)];
    if (!all && one.change == ConfigChange::kSame) continue;
    path_width = std::max(path_width, std::min(DisplayWidth(PrintableLine(one.path)), kPathMax));
    if (one.change != ConfigChange::kChanged) continue;
    left_width = std::max(left_width, DisplayWidth(PrintableLine(ShowSide(one.left))));
  }
  const std::size_t column = path_width + 6;
  // On a terminal what was takes at most half of the rest of a line.
  const auto width = static_cast<std::size_t>(terminal.width);
  const std::size_t room = width > column + 5 ? width - column - 5 : 0;
  left_width =
      std::min(left_width, terminal.interactive ? std::max(room / 2, kValueMin) : kPathMax);
  const std::string* heading = nullptr;
  for (const ConfigDifference& one : differences) {
    if (!all && one.change == ConfigChange::kSame) continue;
    if (heading == nullptr || *heading != one.config_class) {
      out += "\n" + Paint(Tone::kStrong, PrintableLine(one.config_class), terminal) + "\n";
      heading = &one.config_class;
    }
    const std::string path = PadRight(PrintableLine(one.path), path_width) + "  ";
    switch (one.change) {
      case ConfigChange::kSame:
        out += "    " + path + Cell(ShowSide(one.left), column, terminal);
        break;
      case ConfigChange::kAdded:
        out += "  " + Paint(Tone::kGood, "+ " + path, terminal) +
               Cell(ShowSide(one.right), column, terminal);
        break;
      case ConfigChange::kRemoved:
        out += "  " + Paint(Tone::kBad, "- " + path, terminal) +
               Cell(ShowSide(one.left), column, terminal);
        break;
      case ConfigChange::kChanged: {
        const std::string was = PrintableLine(ShowSide(one.left));
        out += "  " + Paint(Tone::kWarning, "~ " + path, terminal) +
               PadRight(terminal.interactive ? Shorten(was, left_width) : was, left_width) +
               "  →  " + Cell(ShowSide(one.right), column + left_width + 5, terminal);
        break;
      }
    }
    out += "\n";
  }
  const auto count = [&counts](ConfigChange change) {
    return ShowCount(static_cast<std::int64_t>(counts[static_cast<std::size_t>(change)])) + " ";
  };
  out += "\n  " + count(ConfigChange::kChanged) + "changed, " + count(ConfigChange::kAdded) +
         "added, " + count(ConfigChange::kRemoved) + "removed, " + count(ConfigChange::kSame) +
         "the same" + (all ? "\n" : ": --all\n");
  return out;
}

std::string ComparisonToJson(const ComparedConfig& left, const ComparedConfig& right,
                             const std::vector<ConfigDifference>& differences, bool all) {
  std::string out;
  JsonWriter json(&out, 1);
  json.BeginObject();
  WriteSide(&json, "left", left);
  WriteSide(&json, "right", right);
  const bool differ = std::ranges::any_of(
      differences, [](const ConfigDifference& one) { return one.change != ConfigChange::kSame; });
  json.Field("differ", differ).Key("values").BeginArray();
  for (const ConfigDifference& one : differences) {
    if (!all && one.change == ConfigChange::kSame) continue;
    json.BeginObject()
        .Field("class", one.config_class)
        .Field("path", one.path)
        .Field("change", ConfigChangeName(one.change));
    json.Key("left");
    WriteVariants(&json, one.left);
    json.Key("right");
    WriteVariants(&json, one.right);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return out + "\n";
}

}  // namespace headway::cli
