#include "formats/jsonl/writer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "formats/jsonl/schema.h"
#include "ledger/ledger.h"

namespace headway::jsonl {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{64} << 10;
constexpr std::uint64_t kSlicesUnknown = 0xffffffff;

/// [num_writers] The ledger's attempts, -1: none. By their restart counts where each has one that
/// no other has, else by the ledger's numbers.
std::vector<std::int64_t> NumberAttempts(const RunRecords& run) {
  ledger::Ledger ledger;
  ledger.Add(run);
  std::vector<std::int64_t> attempts = ledger.AttemptsOfWriters();
  std::set<std::pair<std::int64_t, std::int64_t>> pairs;  // (attempt, restart count)
  std::set<std::int64_t> numbers;
  std::set<std::int64_t> counts;
  for (std::size_t w = 0; w < attempts.size(); ++w) {
    if (attempts[w] < 0) continue;
    pairs.emplace(attempts[w], run.writers[w].attempt_index);
    numbers.insert(attempts[w]);
    counts.insert(run.writers[w].attempt_index);
  }
  const bool told = pairs.size() == numbers.size() && pairs.size() == counts.size();
  if (!told || counts.contains(-1)) return attempts;
  for (std::size_t w = 0; w < attempts.size(); ++w) {
    const bool keyed = !run.writers[w].attempt_key.empty();  // though it may have said nothing
    if (attempts[w] >= 0 || keyed) attempts[w] = run.writers[w].attempt_index;
  }
  return attempts;
}

/// What every line of a writer says about it: `,"writer":"w","rank":1,"attempt":2`.
std::vector<std::string> WriterFields(const RunRecords& run,
                                      const std::vector<std::int64_t>& attempts) {
  std::vector<std::string> fields(run.writers.size());
  std::set<std::pair<std::int64_t, std::string>> taken;  // (attempt, name) is a writer's identity
  // In the order of writers, which the names that tell namesakes apart keep.
  std::vector<std::size_t> sorted(run.writers.size());
  for (std::size_t w = 0; w < sorted.size(); ++w) sorted[w] = w;
  std::ranges::sort(sorted, [&run](std::size_t a, std::size_t b) {
    return WriterBefore(run.writers[a], run.writers[b]);
  });
  for (const std::size_t w : sorted) {
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

/// A record of a step that can't be one, from a journal that others wrote: readers refuse such a
/// line, and so it is left out.
bool IsOfNoStep(const Record& record) {
  switch (record.type) {
    case RecordType::kStepStart:
    case RecordType::kCheckpointSaved:
    case RecordType::kRollback: return !IsStep(record.a);
    case RecordType::kStepEnd:
    case RecordType::kStepSoftEnd: return !IsStep(record.a) && record.a != kNoStep;
    default: return false;
  }
}

class LineWriter {
 public:
  LineWriter(const RunRecords& run, const Sink& sink, std::vector<std::string> fields)
      : run_(run), sink_(sink), fields_(std::move(fields)) {}

  Status Write() {
    if (MayLookLikeSeveral()) {
      chunk_.append(R"({"type":")").append(kOneRunLine).append("\"}\n");
    }
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

  /// Whether a first step comes after a clean end: the mark of a name that was used again.
  bool MayLookLikeSeveral() const {
    std::optional<std::int64_t> end;
    for (const Record& record : run_.records) {
      const bool clean = (record.type == RecordType::kJobEnd && record.a == 0) ||
                         (record.type == RecordType::kExit && record.a == 0 && record.b == 0);
      if (clean) end = std::min(end.value_or(record.time_ns), record.time_ns);
    }
    return end && std::ranges::any_of(run_.records, [&end](const Record& record) {
             return record.type == RecordType::kStepStart && record.a <= 1 &&
                    record.time_ns >= *end;
           });
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
        !writer.monotonic && !writer.supervisor && writer.event_file &&
        liveness == Liveness::kUnknown) {
      return;
    }
    chunk_.append(R"({"type":")").append(kWriterLine).append("\"").append(fields_[w]);
    if (!writer.host.empty()) Text("host", writer.host);
    if (writer.pid != 0) Number("pid", writer.pid);
    if (writer.world_size >= 0) Number("world_size", writer.world_size);
    if (writer.monotonic) chunk_.append(R"(,"monotonic":true)");
    if (!writer.event_file) chunk_.append(R"(,"journal":true)");
    if (writer.supervisor) chunk_.append(R"(,"supervisor":true)");
    if (liveness == Liveness::kAlive) Text("liveness", "alive");
    if (liveness == Liveness::kDead) Text("liveness", "dead");
    chunk_.append("}\n");
  }

  void Line(const Record& record) {
    const std::string_view type = EventTypeName(record);
    // What a process says of its own end only decides who lived in between.
    const bool own_end = record.type == RecordType::kProcessEnd && record.a <= 0;
    if (type.empty() || IsOfNoStep(record) || own_end) return;
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
      case RecordType::kRollback: return Number("step", record.a);
      case RecordType::kSpanBegin:
      case RecordType::kSpanEnd: return Span(record);
      case RecordType::kJobEnd:
        if (record.a != 0) Number("status", Sayable(record.a));
        return;
      case RecordType::kExit:
        if (record.a >= 0) Number("status", record.a);
        if (record.b != 0) Number("signal", record.b);
        // A failure of which neither is known, which readers refuse: said as any failure.
        if (record.a < 0 && record.b == 0) Number("status", 1);
        return;
      case RecordType::kNotice:
        if (record.a != 0) Number("signal", record.a);
        return;
      case RecordType::kCapacity: return Capacity(record);
      case RecordType::kExclude:
        Number("from_ns", Sayable(record.a));
        // One that ends before it begins excludes nothing, and readers refuse it: said as empty.
        if (record.b != kNoTime) Number("to_ns", std::max(Sayable(record.a), record.b));
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
      case RecordType::kProcessEnd: return Number("pid", record.a);
      case RecordType::kDropped:
        Number("count", Sayable(record.a));
        if (record.b != kNoTime) Number("from_ns", record.b);
        return;
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

Status WriteEvents(const RunRecords& run, const Sink& sink) {
  return LineWriter(run, sink, WriterFields(run, NumberAttempts(run))).Write();
}

}  // namespace headway::jsonl
