#include "scenario.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include "base/files.h"
#include "formats/jsonl/decimal.h"
#include "record_lines.h"

namespace headway::scenario {
namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) {
    text.remove_suffix(1);
  }
  return text;
}

// A comment begins at a `#` that stands alone.
std::string_view WithoutComment(std::string_view line) {
  if (line.starts_with('#')) return {};
  const std::size_t at = line.find(" #");
  return at == std::string_view::npos ? line : line.substr(0, at);
}

Status At(int line, const std::string& message) {
  return {Code::kInvalidArgument, std::to_string(line) + ": " + message};
}

// Reads the part of one scenario behind `----`.
class LookReader {
 public:
  explicit LookReader(Scenario* scenario) : scenario_(*scenario) {
    scenario_.looks.emplace_back();
    scenario_.looks.back().line = scenario_.line;
  }

  Status Read(int number, std::string_view line) {
    const std::vector<std::string> words = SplitWords(line);
    const std::string& verb = words.front();
    if (verb == "window" || verb == "as_of" || verb == "now") return Open(number, line, words);
    if (line.starts_with(' ') && scenario_.looks.size() > 1) {
      return Facts(number, line, &scenario_.looks.back());
    }
    scenario_.looks.front().facts.push_back({number, words});
    return OkStatus();
  }

 private:
  // `window 45..55: productive 5, infrastructure_recovery 5`
  Status Open(int number, std::string_view line, const std::vector<std::string>& words) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || words.size() < 2) {
      return At(number, "a look is written `" + words.front() + " TIME: FACT, FACT`");
    }
    Look look;
    look.line = number;
    look.label = std::string(Trim(line.substr(0, colon)));
    const std::vector<std::string> head = SplitWords(look.label);
    for (std::size_t i = 0; i + 1 < head.size(); i += 2) {
      if (head[i] == "window") {
        Result<std::pair<std::int64_t, std::int64_t>> range = ParseRange(head[i + 1]);
        if (!range.ok()) return At(number, range.status().message());
        look.query.window = *range;
        continue;
      }
      const Result<std::int64_t> time = ParseDecimal(head[i + 1]);
      if (!time.ok()) return At(number, time.status().message());
      (head[i] == "now" ? look.query.now : look.query.as_of) = *time;
    }
    scenario_.looks.push_back(std::move(look));
    return Facts(number, line.substr(colon + 1), &scenario_.looks.back());
  }

  static Status Facts(int number, std::string_view text, Look* look) {
    while (!Trim(text).empty()) {
      const std::size_t comma = text.find(',');
      const std::vector<std::string> words = SplitWords(text.substr(0, comma));
      if (!words.empty()) look->facts.push_back({number, words});
      if (comma == std::string_view::npos) break;
      text.remove_prefix(comma + 1);
    }
    return OkStatus();
  }

  Scenario& scenario_;
};

class FileReader {
 public:
  FileReader(std::string_view file, std::string_view text) : file_(file), text_(text) {}

  Result<std::vector<Scenario>> Read() {
    int number = 0;
    while (!text_.empty()) {
      ++number;
      const std::size_t end = text_.find('\n');
      const std::string_view line = text_.substr(0, end);
      text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
      Status status = line.starts_with("### ") ? Begin(number, line) : ReadLine(number, line);
      if (status.ok() && text_.empty()) status = Finish();
      if (!status.ok()) return Status(status.code(), std::string(file_) + ":" + status.message());
    }
    return std::move(scenarios_);
  }

 private:
  enum class Part { kNone, kWhy, kRecords, kFacts };

  Status Begin(int number, std::string_view line) {
    HEADWAY_RETURN_IF_ERROR(Finish());
    scenario_ = Scenario();
    scenario_.file = file_;
    scenario_.title = std::string(Trim(line.substr(4)));
    scenario_.line = number;
    scenario_.text = std::string(line) + "\n";
    records_.emplace();
    looks_.reset();
    part_ = Part::kWhy;
    return OkStatus();
  }

  Status ReadLine(int number, std::string_view line) {
    if (part_ == Part::kNone) return OkStatus();  // what stands before the first title
    scenario_.text += std::string(line) + "\n";
    if (part_ == Part::kWhy) {
      if (!Trim(line).empty()) {
        if (!scenario_.why.empty()) scenario_.why += " ";
        scenario_.why += Trim(line);
      } else if (!scenario_.why.empty()) {
        part_ = Part::kRecords;
      }
      return OkStatus();
    }
    const std::string_view content = WithoutComment(line);
    if (Trim(content).empty()) return OkStatus();
    if (Trim(content) == "----") {
      if (part_ == Part::kFacts) return At(number, "a second ----");
      part_ = Part::kFacts;
      looks_.emplace(&scenario_);
      return OkStatus();
    }
    if (part_ == Part::kFacts) return looks_->Read(number, content);
    const Status status = records_->Read(number, Trim(content));
    return status.ok() ? status : At(number, status.message());
  }

  Status Finish() {
    if (part_ == Part::kNone) return OkStatus();
    if (part_ != Part::kFacts) {
      return At(scenario_.line, "`" + scenario_.title + "` has no ---- with what must hold");
    }
    const Status status = records_->Finish(&scenario_);
    if (!status.ok()) return At(scenario_.line, status.message());
    scenarios_.push_back(std::move(scenario_));
    part_ = Part::kNone;
    return OkStatus();
  }

  std::string_view file_;
  std::string_view text_;
  Part part_ = Part::kNone;
  Scenario scenario_;
  std::optional<RecordLines> records_;
  std::optional<LookReader> looks_;
  std::vector<Scenario> scenarios_;
};

}  // namespace

std::string Scenario::Name() const {
  std::string name = file + "_";
  for (const char c : title) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (name.back() != '_') {
      name += '_';
    }
  }
  while (name.back() == '_') name.pop_back();
  return name;
}

Result<std::int64_t> ParseDecimal(std::string_view text) {
  const std::size_t digits = text.starts_with('-') ? 1 : 0;
  std::int64_t ns = 0;
  const bool number = digits < text.size() &&
                      text.find_first_not_of("0123456789.", digits) == std::string_view::npos &&
                      jsonl::ParseSeconds(text, &ns) == jsonl::NumberError::kNone;
  if (number) return ns;
  return Status(Code::kInvalidArgument, "not a number of seconds: \"" + std::string(text) + "\"");
}

std::vector<std::string> SplitWords(std::string_view text) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (at < text.size()) {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at]))) ++at;
    std::size_t end = at;
    while (end < text.size() && !std::isspace(static_cast<unsigned char>(text[end]))) ++end;
    if (end > at) words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

Result<std::pair<std::int64_t, std::int64_t>> ParseRange(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    return Status(Code::kInvalidArgument, "`" + std::string(text) + "` is no range A..B");
  }
  const Result<std::int64_t> begin = ParseDecimal(text.substr(0, dots));
  if (!begin.ok()) return begin.status();
  if (dots + 2 == text.size()) return std::pair(*begin, kNoTime);
  const Result<std::int64_t> end = ParseDecimal(text.substr(dots + 2));
  if (!end.ok()) return end.status();
  return std::pair(*begin, *end);
}

Result<std::vector<Scenario>> ParseScenarios(std::string_view file, std::string_view text) {
  return FileReader(file, text).Read();
}

Result<std::vector<Scenario>> LoadScenarios() {
  const char* chosen = std::getenv("HEADWAY_SCENARIOS");
  const std::string folder = chosen != nullptr ? chosen : "tests/scenario";
  Result<std::vector<std::string>> names = ListDirectory(folder);
  if (!names.ok()) {
    return Status(names.status().code(),
                  names.status().message() + " (run it in the root of the repository)");
  }
  std::sort(names->begin(), names->end());
  std::vector<Scenario> all;
  std::set<std::string> taken;
  for (const std::string& name : *names) {
    if (!name.ends_with(".txt")) continue;
    std::ifstream file(folder + "/" + name);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    Result<std::vector<Scenario>> some = ParseScenarios(name.substr(0, name.size() - 4), text);
    if (!some.ok()) {
      return Status(some.status().code(), folder + "/" + some.status().message());
    }
    for (Scenario& scenario : *some) {
      if (!taken.insert(scenario.Name()).second) {
        return Status(Code::kInvalidArgument, "two scenarios are named " + scenario.Name());
      }
      all.push_back(std::move(scenario));
    }
  }
  return all;
}

}  // namespace headway::scenario
