#include "formats/mllog/reader.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/json_writer.h"
#include "base/limits.h"

namespace headway::mllog {
namespace {

constexpr std::string_view kMark = ":::MLLOG";
constexpr std::size_t kProblemsLimit = 1000;
constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::int64_t kNsPerDay = 86'400 * 1'000 * kNsPerMs;
constexpr std::int64_t kFarDays = 366;  // no run of the benchmark takes so long
constexpr std::array<std::string_view, 5> kMetrics = {"eval_accuracy", "eval_loss", "eval_error",
                                                      "train_loss", "tracked_stats"};

/// One entry, as far as it counts.
struct Entry {
  std::int64_t time_ns = 0;
  std::uint64_t line = 0;
  std::uint64_t offset = 0;
  std::string key;
  std::string status;                                   // of run_stop
  std::optional<std::int64_t> step;                     // what the entry says it is about
  std::optional<std::int64_t> done;                     // work done before it, in samples
  std::vector<std::pair<std::string, double>> numbers;  // of a metric: name and value
};

class Translator {
 public:
  Translation Run(std::string_view text) {
    std::uint64_t line = 0;
    for (std::size_t at = 0; at < text.size();) {
      ++line;
      const std::size_t end = std::min(text.find('\n', at), text.size());
      TakeLine(line, at, text.substr(at, end - at), end == text.size());
      at = end + 1;
    }
    std::ranges::stable_sort(entries_, {}, &Entry::time_ns);
    LeaveOutFar();
    std::ranges::stable_sort(out_.problems, {}, &jsonl::Problem::offset);
    Translate();
    return std::move(out_);
  }

 private:
  void TakeLine(std::uint64_t line, std::uint64_t offset, std::string_view text, bool last) {
    const std::size_t mark = text.find(kMark);
    if (mark == std::string_view::npos) return;
    const std::string_view json = text.substr(mark + kMark.size());
    if (!seen_.insert(std::string(json)).second) return;  // several processes say the same
    ++out_.entries;
    Entry entry;
    entry.line = line;
    entry.offset = offset;
    std::string sentence = Parse(json, &entry);
    if (sentence.empty()) {
      entries_.push_back(std::move(entry));
      return;
    }
    Tell(last ? jsonl::ProblemKind::kTornTail : jsonl::ProblemKind::kBadLine, line, offset,
         std::move(sentence));
  }

  void Tell(jsonl::ProblemKind kind, std::uint64_t line, std::uint64_t offset,
            std::string sentence) {
    ++out_.problems_total;
    if (out_.problems.size() >= kProblemsLimit) return;
    out_.problems.push_back({kind, line, offset, std::move(sentence)});
  }

  // Of entries in order of time.
  void LeaveOutFar() {
    if (entries_.empty()) return;
    const std::int64_t median_ns = entries_[entries_.size() / 2].time_ns;
    std::erase_if(entries_, [&](const Entry& entry) {
      const std::int64_t days = entry.time_ns / kNsPerDay - median_ns / kNsPerDay;
      if (days >= -kFarDays && days <= kFarDays) return false;
      Tell(jsonl::ProblemKind::kBadLine, entry.line, entry.offset,
           "time_ms lies " + std::to_string(days < 0 ? -days : days) + " days " +
               (days < 0 ? "before" : "after") + " those of the other entries");
      return true;
    });
  }

  // What is wrong with the entry; empty: nothing is.
  std::string Parse(std::string_view json, Entry* entry) {
    if (json.size() > limits::kEventLineBytes) {
      return "the entry is larger than " + std::to_string(limits::kEventLineBytes) + " bytes";
    }
    simdjson::dom::element root;
    if (const auto error = parser_.parse(json.data(), json.size()).get(root)) {
      return std::string("no valid entry: ") + simdjson::error_message(error);
    }
    std::int64_t time_ms = 0;
    if (root["time_ms"].get(time_ms) != simdjson::SUCCESS ||
        __builtin_mul_overflow(time_ms, kNsPerMs, &entry->time_ns)) {
      return "no valid entry: time_ms is no whole number of milliseconds since 1970";
    }
    std::string_view key;
    if (root["key"].get(key) != simdjson::SUCCESS) return "no valid entry: key is no text";
    entry->key = key;
    simdjson::dom::element about;
    if (root["metadata"].get(about) == simdjson::SUCCESS) {
      std::string_view status;
      if (about["status"].get(status) == simdjson::SUCCESS) entry->status = status;
      for (const char* const name : {"step", "step_num", "samples_count", "epoch_num"}) {
        std::int64_t number = 0;
        if (entry->step || about[name].get(number) != simdjson::SUCCESS) continue;
        entry->step = number;
      }
      for (const char* const name : {"samples_count", "first_epoch_num"}) {
        std::int64_t number = 0;
        if (entry->done || about[name].get(number) != simdjson::SUCCESS) continue;
        entry->done = number;
      }
    }
    simdjson::dom::element value;
    const bool metric = std::ranges::find(kMetrics, key) != kMetrics.end();
    if (metric && root["value"].get(value) == simdjson::SUCCESS) ReadNumbers(value, entry);
    return {};
  }

  static void ReadNumbers(simdjson::dom::element value, Entry* entry) {
    double number = 0;
    if (value.get(number) == simdjson::SUCCESS) {
      entry->numbers.emplace_back(entry->key, number);
      return;
    }
    simdjson::dom::object object;
    if (value.get(object) != simdjson::SUCCESS) return;
    for (const auto field : object) {
      if (field.value.get(number) == simdjson::SUCCESS) {
        entry->numbers.emplace_back(std::string(field.key), number);
      }
    }
  }

  bool Has(std::string_view key) const {
    return std::ranges::any_of(entries_, [key](const Entry& entry) { return entry.key == key; });
  }

  // Whether the starts of blocks say that one holds half as much again as another.
  bool AreUnlike(const std::string& start) const {
    double least = 0;
    double most = 0;
    std::optional<std::int64_t> before;
    for (const Entry& entry : entries_) {
      if (entry.key != start || !entry.done) continue;
      const double work =
          before ? static_cast<double>(*entry.done) - static_cast<double>(*before) : 0;
      before = entry.done;
      if (work <= 0) continue;
      least = least == 0 ? work : std::min(least, work);
      most = std::max(most, work);
    }
    return most > 1.5 * least;
  }

  void Translate() {
    const std::string unit = Has("block_stop") || Has("block_start")   ? "block"
                             : Has("epoch_stop") || Has("epoch_start") ? "epoch"
                                                                       : "run";
    const bool init = Has("init_start");
    const bool unlike = AreUnlike(unit + "_start");
    std::int64_t steps = 0;
    bool in_step = false;
    bool started = false;
    std::optional<std::int64_t> run_start;
    auto edge = [&](std::int64_t time_ns, bool starts) {
      if (unlike) {
        Begin(time_ns, starts ? "phase_start" : "phase_end").Field("name", "train");
      } else {
        Begin(time_ns, starts ? "step_start" : "step_end").Field("step", steps);
      }
      End();
      in_step = starts;
    };
    for (const Entry& entry : entries_) {
      const std::string& key = entry.key;
      if (key == (init ? "init_start" : "run_start") && !started) {
        started = true;
        Say(entry.time_ns, "job_start");
        if (init) Say(entry.time_ns, "training_prep_start");
      }
      if (key == "run_start" && !run_start) {
        run_start = entry.time_ns;
        if (init) Say(entry.time_ns, "training_prep_end");
      }
      if (key == unit + "_start") edge(entry.time_ns, true);
      if (key == unit + "_stop") {
        if (!in_step && steps == 0 && run_start) edge(*run_start, true);
        edge(entry.time_ns, false);
        ++steps;
      }
      if (key == "eval_start" || key == "eval_stop") {
        Begin(entry.time_ns, key == "eval_start" ? "custom_start" : "custom_end")
            .Field("name", "eval");
        End();
      }
      for (const auto& [name, value] : entry.numbers) {
        JsonWriter& json = Begin(entry.time_ns, "log").Field("name", name).Field("value", value);
        if (entry.step) json.Field("step", *entry.step);
        End();
      }
      if (key == "run_stop") {
        Begin(entry.time_ns, "job_end").Field("status", entry.status == "success" ? 0 : 1);
        End();
      }
    }
  }

  JsonWriter& Begin(std::int64_t time_ns, std::string_view type) {
    json_.emplace(&out_.events);
    return json_->BeginObject().Field("ts_ns", time_ns).Field("type", type);
  }

  void End() {
    json_->EndObject();
    out_.events += '\n';
  }

  void Say(std::int64_t time_ns, std::string_view type) {
    Begin(time_ns, type);
    End();
  }

  Translation out_;
  std::vector<Entry> entries_;
  std::unordered_set<std::string> seen_;
  simdjson::dom::parser parser_;
  std::optional<JsonWriter> json_;
};

}  // namespace

Translation Translate(std::string_view text) { return Translator().Run(text); }

}  // namespace headway::mllog
