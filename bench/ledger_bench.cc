// The ledger against reading: how long do a cold report, one more step, a window, a snapshot take,
// and how much memory.
//
// Usage: ledger_bench DIR RUN [queries]
//        ledger_bench split STEPS
//   DIR RUN   a run that write_history has written
//   queries   only one more step and a window
//   split     a made-up run of so many steps with 50 restarts, cut into 2,000 parts

#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/history.h"
#include "bench/measure.h"
#include "journal/reader.h"
#include "ledger/ledger.h"
#include "runs/runs.h"

namespace headway::bench {
namespace {

constexpr int kRounds = 7;
constexpr int kQueries = 200;
constexpr double kMiB = 1024.0 * 1024.0;

[[noreturn]] void Fail(const Status& status) {
  std::fprintf(stderr, "ledger_bench: %s\n", status.ToString().c_str());
  std::exit(1);
}

template <typename T>
T OrFail(Result<T> result) {
  if (!result.ok()) Fail(result.status());
  return std::move(result).value();
}

std::int64_t ResidentBytes() {
  long pages = 0;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * ::sysconf(_SC_PAGESIZE);
}

// Reads and checks every record and does nothing else. Returns how many there are.
std::uint64_t ReadOnly(const runs::Run& run) {
  std::vector<Record> batch(1024);
  std::uint64_t records = 0;
  for (const journal::JournalFile& file : run.journals) {
    NameTable names;
    auto reader = OrFail(journal::JournalReader::Open(file.path, {.names = &names}));
    while (const std::size_t got = OrFail(reader.Next(batch))) records += got;
  }
  return records;
}

std::vector<Record> ReadRecords(const runs::Run& run, ledger::Ledger* ledger) {
  std::vector<Record> records;
  for (const journal::JournalFile& file : run.journals) {
    const WriterId writer = ledger->AddWriter(journal::ToModelWriter(file.header), Liveness::kDead);
    if (auto read =
            journal::ReadAll(file.path, {.names = ledger->names(), .writer = writer}, &records);
        !read.ok()) {
      Fail(read.status());
    }
  }
  return records;
}

void ReportMemory(const runs::Run& run) {
  ::malloc_trim(0);
  const std::int64_t before = ResidentBytes();
  runs::Loaded loaded = OrFail(runs::Load(run));
  loaded.ledger.MakeReport();
  const std::int64_t after = ResidentBytes();
  ::malloc_trim(0);
  const std::int64_t trimmed = ResidentBytes();
  Measure("memory")
      .Value(static_cast<double>(loaded.ledger.MemoryBytes()) / kMiB)
      .Figure("resident_mib", static_cast<double>(after - before) / kMiB)
      .Figure("resident_trimmed_mib", static_cast<double>(trimmed - before) / kMiB)
      .Figure("journal_mib", static_cast<double>(loaded.bytes) / kMiB)
      .Figure("records", loaded.records)
      .Print();
}

void ReportThroughput(const runs::Run& run) {
  Times read, cold, feed, report;
  std::uint64_t records = 0;
  for (int round = 0; round < kRounds; ++round) {
    read.Add(TimeOf([&] { records = ReadOnly(run); }));
    cold.Add(TimeOf([&] { OrFail(runs::Load(run)).ledger.MakeReport(); }));
    ledger::Ledger ledger;
    const std::vector<Record> all = ReadRecords(run, &ledger);
    feed.Add(TimeOf([&] { ledger.Add(all); }));
    report.Add(TimeOf([&] { ledger.MakeReport(); }));
  }
  const auto each = [&](std::int64_t ns) { return Ratio(ns, static_cast<std::int64_t>(records)); };
  Measure("throughput")
      .Value(Ratio(cold.Min(), read.Min()))
      .Figure("ratio_of_medians", Ratio(cold.Median(), read.Median()))
      .Figure("records", records)
      .Figure("read_ns", read.Min())
      .Figure("read_and_report_ns", cold.Min())
      .Figure("read_ns_per_record", each(read.Min()))
      .Figure("read_and_report_ns_per_record", each(cold.Min()))
      .Figure("feed_ns_per_record", each(feed.Min()))
      .Figure("report_ns", report.Min())
      .Print();
}

void ReportQueries(const runs::Run& run) {
  runs::Loaded loaded = OrFail(runs::Load(run));
  ledger::Ledger& ledger = loaded.ledger;
  const Report whole = ledger.MakeReport();
  if (!whole.start || !whole.end) Fail({Code::kInternal, "an empty run"});

  // The last writer goes on, as if it were alive.
  std::vector<Record> last;
  NameTable names;
  const WriterId writer = static_cast<WriterId>(run.journals.size() - 1);
  if (auto read =
          journal::ReadAll(run.journals.back().path, {.names = &names, .writer = writer}, &last);
      !read.ok()) {
    Fail(read.status());
  }
  ledger.SetLiveness(writer, Liveness::kAlive);
  Record record;
  record.type = RecordType::kStepStart;
  record.writer = writer;
  record.seq = last.back().seq;
  record.time_ns = last.back().time_ns;
  for (const Record& earlier : last) {
    if (earlier.type == RecordType::kStepStart) record.a = earlier.a;
  }

  Times warm, window, first_window, timeline;
  std::mt19937_64 random(1);
  for (int i = 0; i < kQueries; ++i) {
    record.a += 1;
    record.seq += 1;
    record.time_ns += 1'000'000'000;
    warm.Add(TimeOf([&] {
      ledger.Add(record);
      ledger.MakeReport();
    }));
    const auto length = static_cast<std::uint64_t>(*whole.end - *whole.start);
    std::int64_t from = *whole.start + static_cast<std::int64_t>(random() % length);
    std::int64_t to = *whole.start + static_cast<std::int64_t>(random() % length);
    if (from > to) std::swap(from, to);
    ledger::Query query;
    query.window = {from, to};
    window.Add(TimeOf([&] { ledger.MakeReport(query); }));
    query.window = {*whole.start, *whole.end};
    timeline.Add(TimeOf([&] { ledger.MakeReport(query); }));
  }
  Measure("one_more_step")
      .Figure("median_ns", warm.Median())
      .Figure("min_ns", warm.Min())
      .Figure("max_ns", warm.Max())
      .Print();
  Measure("window")
      .Figure("median_ns", window.Median())
      .Figure("min_ns", window.Min())
      .Figure("max_ns", window.Max())
      .Figure("whole_job_median_ns", timeline.Median())
      .Print();
}

// A run of `steps` in 51 attempts, cut into 2,000 parts at once and one by one.
void ReportSplit(std::int64_t steps) {
  constexpr std::int64_t kAttempts = 51;
  constexpr std::int64_t kParts = 2'000;
  ledger::Ledger ledger;
  Record record;
  std::mt19937_64 random(1);
  std::int64_t step = 0;
  for (std::int64_t attempt = 0; attempt < kAttempts; ++attempt) {
    Writer writer;
    writer.uid = std::to_string(attempt);
    writer.attempt_key = writer.uid;
    writer.rank = 0;
    record.writer = ledger.AddWriter(writer, Liveness::kDead);
    record.seq = 0;
    for (std::int64_t i = 0; i < steps / kAttempts; ++i) {
      record.type = RecordType::kStepStart;
      record.span = SpanKind::kNone;
      record.a = step++;
      ledger.Add(record);
      for (const RecordType type : {RecordType::kSpanBegin, RecordType::kSpanEnd}) {
        record.seq += 1;
        record.type = type;
        record.span = SpanKind::kDataLoading;
        record.a = static_cast<std::int64_t>(record.seq);
        if (type == RecordType::kSpanEnd) record.time_ns += 50'000'000;
        ledger.Add(record);
      }
      record.seq += 1;
      record.time_ns += 900'000'000 + static_cast<std::int64_t>(random() % 100'000'000);
    }
    step -= 50;
    record.time_ns += 60'000'000'000;
  }
  const Report whole = ledger.MakeReport();
  std::vector<ledger::WallSpan> parts;
  const std::int64_t length = (*whole.end - *whole.start) / kParts;
  for (std::int64_t i = 0; i < kParts; ++i) {
    parts.emplace_back(*whole.start + i * length, *whole.start + (i + 1) * length);
  }
  Times at_once, one_by_one, rolling;
  for (int round = 0; round < kRounds; ++round) {
    at_once.Add(TimeOf([&] { ledger.Split({}, parts); }));
    one_by_one.Add(TimeOf([&] {
      for (const ledger::WallSpan& part : parts) {
        ledger.MakeReport({.as_of = {}, .window = part, .now = {}});
      }
    }));
  }
  for (ledger::WallSpan& part : parts) part.first = part.second - 24 * 3'600'000'000'000;
  for (int round = 0; round < kRounds; ++round) {
    rolling.Add(TimeOf([&] { ledger.Split({}, parts); }));
  }
  Measure("split")
      .Value(Ratio(one_by_one.Min(), at_once.Min()))
      .Figure("at_once_ns", at_once.Min())
      .Figure("at_once_median_ns", at_once.Median())
      .Figure("one_by_one_ns", one_by_one.Min())
      .Figure("rolling_ns", rolling.Min())
      .Print();
}

// Pages lie in memory here: what a disk takes is not the ledger's.
void ReportSnapshot(const runs::Run& run) {
  std::map<ledger::PageId, std::string> pages;
  std::size_t put = 0;
  const auto keep = [&](ledger::PageId page, std::string_view bytes) -> Status {
    put += 1;
    pages.emplace(page, bytes);
    return OkStatus();
  };
  std::size_t read = 0;
  const auto fetch = [&](ledger::PageId page) -> Result<std::string> {
    read += 1;
    return pages.at(page);
  };
  Times first, again, restore, load;
  ledger::Snapshot snapshot;
  std::size_t put_again = 0;
  std::size_t memory = 0;
  for (int round = 0; round < kRounds; ++round) {
    pages.clear();
    ledger::Ledger ledger;
    const std::vector<Record> records = ReadRecords(run, &ledger);
    const std::span<const Record> all(records);
    const std::size_t most = all.size() - all.size() / 100;
    ledger.Add(all.first(most));
    ledger.MakeReport();
    first.Add(TimeOf([&] { OrFail(ledger.TakeSnapshot(keep)); }));
    ledger.Add(all.subspan(most));
    ledger.MakeReport();
    put = 0;
    again.Add(TimeOf([&] { snapshot = OrFail(ledger.TakeSnapshot(keep)); }));
    put_again = put;
    read = 0;
    restore.Add(TimeOf([&] {
      ledger::Ledger restored = OrFail(ledger::Ledger::Restore(snapshot.head, fetch));
      restored.MakeReport();
      memory = restored.MemoryBytes();
    }));
    load.Add(TimeOf([&] { OrFail(runs::Load(run)).ledger.MakeReport(); }));
  }
  std::size_t bytes = snapshot.head.size();
  for (const ledger::PageId page : snapshot.pages) bytes += pages.at(page).size();
  Measure("snapshot")
      .Value(Ratio(load.Min(), restore.Min()))
      .Figure("first_ns", first.Min())
      .Figure("again_ns", again.Min())
      .Figure("restore_ns", restore.Min())
      .Figure("load_ns", load.Min())
      .Figure("head_kib", static_cast<double>(snapshot.head.size()) / 1024)
      .Figure("pages", snapshot.pages.size())
      .Figure("pages_put_again", put_again)
      .Figure("pages_read", read)
      .Figure("snapshot_mib", static_cast<double>(bytes) / kMiB)
      .Figure("restored_mib", static_cast<double>(memory) / kMiB)
      .Print();
}

void Main(const std::string& dir, const std::string& name, bool only_queries) {
  const runs::Run run = OrFail(runs::Find({dir}, kProject, name));
  if (only_queries) return ReportQueries(run);
  ReportMemory(run);  // first, while the heap is small
  ReportThroughput(run);
  ReportQueries(run);
  ReportSnapshot(run);
}

}  // namespace
}  // namespace headway::bench

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "split") {
    headway::bench::ReportSplit(std::atoll(argv[2]));
    return 0;
  }
  const bool only_queries = argc == 4 && std::string_view(argv[3]) == "queries";
  if (argc != 3 && !only_queries) {
    std::fprintf(stderr, "Usage: ledger_bench DIR RUN [queries] | split STEPS\n");
    return 1;
  }
  headway::bench::Main(argv[1], argv[2], only_queries);
  return 0;
}
