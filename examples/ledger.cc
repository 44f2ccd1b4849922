// A ledger without journals: feeds it records of one's own and asks it for the whole run and for a
// part of it. Links headway::ledger.

#include <headway/ledger/ledger.h>

#include <cstdint>
#include <cstdio>

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

headway::Record Make(headway::RecordType type, std::int64_t second, std::int64_t step = 0) {
  headway::Record record;
  record.type = type;
  record.time_ns = second * kSecond;
  record.a = step;
  return record;
}

}  // namespace

int main() {
  using headway::RecordType;
  headway::ledger::Ledger ledger;
  std::uint64_t seq = 0;
  // One process a start: the first is killed in step 4, the second goes on from step 2.
  for (const std::int64_t attempt : {0, 1}) {
    headway::Writer process;
    process.uid = process.attempt_key = "attempt " + std::to_string(attempt);
    process.rank = 0;
    const headway::WriterId writer = ledger.AddWriter(
        process, attempt == 0 ? headway::Liveness::kDead : headway::Liveness::kUnknown);
    const std::int64_t start = attempt * 60;
    const auto add = [&](headway::Record record) {
      record.writer = writer;
      record.seq = seq++;
      ledger.Add(record);
    };
    add(Make(RecordType::kJobStart, start));
    for (std::int64_t n = 0; n < 5; ++n) {
      add(Make(RecordType::kStepStart, start + 10 * n, 2 * attempt + n));
    }
    if (attempt == 1) add(Make(RecordType::kJobEnd, start + 50));
  }

  const headway::Report report = ledger.MakeReport();
  for (const headway::CategoryTime& time : report.categories) {
    const std::string name(headway::CategoryName(time.category));
    std::printf("%-24s %3lld s\n", name.c_str(), static_cast<long long>(time.ns / kSecond));
  }
  headway::ledger::Query last;
  last.window = {60 * kSecond, 110 * kSecond};
  std::printf("goodput %.3f, of the second attempt %.3f\n", report.goodput.value_or(0),
              ledger.MakeReport(last).goodput.value_or(0));
}
