#include "formats/jsonl/writer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "formats/jsonl/schema.h"

namespace headway::jsonl {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{64} << 10;
constexpr std::int64_t kTogetherNs = 60'000'000'000;
constexpr std::uint64_t kSlicesUnknown = 0xffffffff;

/// First and last time of each writer's records.
struct Life {
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();

  void Cover(std::int64_t from_ns, std::int64_t to_ns) {
    first_ns = std::min(first_ns, from_ns);
    last_ns = std::max(last_ns, to_ns);
  }
  /// Whether `later`, which begins no earlier, belongs to the same attempt.
  bool Joins(const Life& later) const {
    return later.first_ns <= last_ns ||
           (first_ns <= std::numeric_limits<std::int64_t>::max() - kTogetherNs &&
            later.first_ns <= first_ns + kTogetherNs);
  }
};

std::vector<Life> Lives(const RunRecords& run) {
  std::vector<Life> lives(run.writers.size());
  for (const Record& record : run.records) {
    lives[record.writer].Cover(record.time_ns, record.time_ns);
  }
  return lives;
}

/// Writers of one attempt.
struct Group {
  std::vector<std::size_t> writers;
  Life life;
  std::int64_t index = -1;
  bool journals = false;  // keyless ones
};

/// Whether restart counts tell the attempts apart: each has one, and no two have the same.
bool IndicesTell(const std::vector<Group>& groups, const RunRecords& run) {
  std::set<std::int64_t> seen;
  for (const Group& group : groups) {
    if (group.index < 0 || !seen.insert(group.index).second) return false;
    for (const std::size_t w : group.writers) {
      if (run.writers[w].attempt_index != group.index) return false;
    }
  }
  return true;
}

std::vector<std::int64_t> NumberAttempts(const RunRecords& run) {
  const std::vector<Life> lives = Lives(run);
  std::map<std::string_view, Group> keyed;
  std::vector<std::size_t> journals;  // without a key, that may lead
  for (std::size_t w = 0; w < run.writers.size(); ++w) {
    const Writer& writer = run.writers[w];
    if (!writer.attempt_key.empty()) {
      Group& group = keyed[writer.attempt_key];
      group.writers.push_back(w);
      group.life.Cover(lives[w].first_ns, lives[w].last_ns);
      group.index = writer.attempt_index;
    } else if (!writer.event_file && writer.rank <= 0) {
      journals.push_back(w);
    }
  }
  std::vector<Group> groups;
  std::ranges::stable_sort(journals, {}, [&](std::size_t w) { return lives[w].first_ns; });
  for (const std::size_t w : journals) {
    if (groups.empty() || !groups.back().life.Joins(lives[w])) groups.push_back({});
    groups.back().journals = true;
    groups.back().writers.push_back(w);
    groups.back().life.Cover(lives[w].first_ns, lives[w].last_ns);
  }
  for (auto& [key, group] : keyed) groups.push_back(std::move(group));
  if (!IndicesTell(groups, run)) {
    std::ranges::stable_sort(groups, {}, [](const Group& group) { return group.life.first_ns; });
    for (std::size_t g = 0; g < groups.size(); ++g) {
      groups[g].index = static_cast<std::int64_t>(g);
    }
  }
  std::vector<std::int64_t> attempts(run.writers.size(), -1);
  for (const Group& group : groups) {
    for (const std::size_t w : group.writers) attempts[w] = group.index;
  }
  return attempts;
}

/// What every line of a writer says about it: `,"writer":"w","rank":1,"attempt":2`.
std::vector<std::string> WriterFields(const RunRecords& run,
                                      std::span<const std::int64_t> attempts) {
  std::vector<std::string> fields(run.writers.size());
  std::set<std::pair<std::int64_t, std::string>> taken;  // (attempt, name) is a writer's identity
  for (std::size_t w = 0; w < run.writers.size(); ++w) {
    const Writer& writer = run.writers[w];
    const std::string by_rank = DefaultWriterName(writer.rank);
    const std::string wanted = writer.name.empty() ? by_rank : writer.name;
    std::string name = wanted;
    for (int i = 2; !taken.emplace(attempts[w], name).second; ++i) {
      name = wanted + '#' + std::to_string(i);
    }
    if (name != by_rank) {
      fields[w].append(R"(,"writer":)");
      AppendJsonString(name, &fields[w]);
    }
    if (name != by_rank || writer.rank != 0) {
      const std::int64_t rank = std::max<std::int64_t>(writer.rank, -1);
      fields[w].append(R"(,"rank":)").append(std::to_string(rank));
    }
    if (attempts[w] >= 0) {
      fields[w].append(R"(,"attempt":)").append(std::to_string(attempts[w]));
    }
  }
  return fields;
}

/// The least value of a time or step stands for "none" and has no place in a file.
std::int64_t Sayable(std::int64_t value) {
  return std::max(value, -std::numeric_limits<std::int64_t>::max());
}

class LineWriter {
 public:
  LineWriter(const RunRecords& run, const Sink& sink, std::vector<std::string> fields)
      : run_(run), sink_(sink), fields_(std::move(fields)) {}

  Status Write() {
    const std::vector<bool> silent = SilentWriters();
    for (std::size_t w = 0; w < run_.writers.size(); ++w) {
      AboutWriter(w, silent[w]);
      HEADWAY_RETURN_IF_ERROR(Flush(kChunkBytes));
    }
    for (const std::uint32_t i : Order()) {
      Line(run_.records[i]);
      HEADWAY_RETURN_IF_ERROR(Flush(kChunkBytes));
    }
    return Flush(1);
  }

 private:
  Status Flush(std::size_t bytes_least) {
    if (chunk_.size() < bytes_least) return OkStatus();
    Status status = sink_(chunk_);
    chunk_.clear();
    return status;
  }

  std::vector<std::uint32_t> Order() const {
    std::vector<std::uint32_t> order(run_.records.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
    const auto key = [&](std::uint32_t i) {
      const Record& record = run_.records[i];
      return std::tuple(record.time_ns, record.writer, record.seq);
    };
    if (!std::ranges::is_sorted(order, {}, key)) std::ranges::sort(order, {}, key);
    return order;
  }

  /// Writers without a record: only a line about them keeps them.
  std::vector<bool> SilentWriters() const {
    std::vector<bool> silent(run_.writers.size(), true);
    for (const Record& record : run_.records) silent[record.writer] = false;
    return silent;
  }

  void AboutWriter(std::size_t w, bool silent) {
    const Writer& writer = run_.writers[w];
    const Liveness liveness = run_.liveness.empty() ? Liveness::kUnknown : run_.liveness[w];
    if (!silent && writer.host.empty() && writer.pid == 0 && writer.world_size < 0 &&
        !writer.monotonic && !writer.supervisor && liveness == Liveness::kUnknown) {
      return;
    }
    chunk_.append(R"({"type":")").append(kWriterLine).append("\"").append(fields_[w]);
    if (!writer.host.empty()) Text("host", writer.host);
    if (writer.pid != 0) Number("pid", writer.pid);
    if (writer.world_size >= 0) Number("world_size", writer.world_size);
    if (writer.monotonic) chunk_.append(R"(,"monotonic":true)");
    if (writer.supervisor) chunk_.append(R"(,"supervisor":true)");
    if (liveness == Liveness::kAlive) Text("liveness", "alive");
    if (liveness == Liveness::kDead) Text("liveness", "dead");
    chunk_.append("}\n");
  }

  void Line(const Record& record) {
    const std::string_view type = EventTypeName(record);
    if (type.empty()) return;
    chunk_.append(R"({"ts_ns":)").append(std::to_string(Sayable(record.time_ns)));
    chunk_.append(R"(,"type":")").append(type).append("\"");
    Payload(record);
    if (record.thread != 0) Number("thread", record.thread);
    chunk_.append(fields_[record.writer]);
    Number("seq", static_cast<std::int64_t>(record.seq));
    chunk_.append("}\n");
  }

  void Payload(const Record& record) {
    switch (record.type) {
      case RecordType::kStepEnd:
      case RecordType::kStepSoftEnd:
        if (record.a != kNoStep) Number("step", record.a);
        return;
      case RecordType::kStepStart:
      case RecordType::kCheckpointSaved:
      case RecordType::kRollback: return Number("step", Sayable(record.a));
      case RecordType::kSpanBegin:
      case RecordType::kSpanEnd: return Span(record);
      case RecordType::kJobEnd:
        if (record.a != 0) Number("status", Sayable(record.a));
        return;
      case RecordType::kExit:
        if (record.a >= 0) Number("status", record.a);
        if (record.b != 0) Number("signal", record.b);
        return;
      case RecordType::kNotice:
        if (record.a != 0) Number("signal", record.a);
        return;
      case RecordType::kCapacity: return Capacity(record);
      case RecordType::kExclude:
        Number("from_ns", Sayable(record.a));
        if (record.b != kNoTime) Number("to_ns", record.b);
        return Name(record);
      case RecordType::kHeartbeat:
        if (record.a != kNoTime) Number("wall_ns", record.a);
        return;
      case RecordType::kClock: return Number("wall_ns", Sayable(record.a));
      case RecordType::kMetric:
        Name(record);
        if (record.a != kNoStep) Number("step", record.a);
        return Double("value", std::bit_cast<double>(record.b));
      case RecordType::kNote: Name(record); return Number("count", Sayable(record.a));
      case RecordType::kConfig: return Name(record);
      case RecordType::kDropped: return Number("count", Sayable(record.a));
      default: return;
    }
  }

  void Span(const Record& record) {
    Name(record);
    if (record.a != kNoStep) Number("step", record.a);
    if (record.blocking == Blocking::kYes) chunk_.append(R"(,"blocking":true)");
    if (record.blocking == Blocking::kNo) chunk_.append(R"(,"blocking":false)");
    if (record.type == RecordType::kSpanEnd && record.b >= 0) Number("begin_seq", record.b);
  }

  void Capacity(const Record& record) {
    const auto slices = std::bit_cast<std::uint64_t>(record.a);
    const auto number = [&](std::string_view key, std::uint64_t count) {
      if (count != kSlicesUnknown) Number(key, static_cast<std::int64_t>(count));
    };
    number("available", slices & kSlicesUnknown);
    number("active", slices >> 32);
    if (record.b >= 0) Number("total", record.b);
  }

  void Name(const Record& record) {
    if (record.name != 0) Text("name", run_.names.Text(record.name));
  }

  void Text(std::string_view key, std::string_view text) {
    chunk_.append(",\"").append(key).append("\":");
    AppendJsonString(text, &chunk_);
  }

  void Number(std::string_view key, std::int64_t number) {
    chunk_.append(",\"").append(key).append("\":").append(std::to_string(number));
  }

  void Double(std::string_view key, double number) {
    if (std::isnan(number)) return Text(key, "NaN");
    if (std::isinf(number)) return Text(key, number < 0 ? "-Infinity" : "Infinity");
    chunk_.append(",\"").append(key).append("\":");
    JsonWriter(&chunk_).Double(number);
  }

  const RunRecords& run_;
  const Sink& sink_;
  const std::vector<std::string> fields_;  // [num_writers]
  std::string chunk_;
};

}  // namespace

Status WriteEvents(const RunRecords& run, const Sink& sink, const WriteOptions& options) {
  if (!options.attempts.empty() && options.attempts.size() != run.writers.size()) {
    return Status(Code::kInvalidArgument, "WriteEvents needs one attempt a writer, or none at all");
  }
  std::vector<std::int64_t> numbered;
  std::span<const std::int64_t> attempts = options.attempts;
  if (attempts.empty()) attempts = numbered = NumberAttempts(run);
  return LineWriter(run, sink, WriterFields(run, attempts)).Write();
}

}  // namespace headway::jsonl
