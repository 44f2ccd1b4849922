#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "ledger/ledger.h"

namespace headway::ledger {

/// For tests: a run of many rows, three attempts of 9,000 steps that lose some each, named spans, a
/// rollback, loading, an exclusion, and a long stretch of spans without a step. The time of a step
/// varies.
inline Ledger LongRun() {
  Ledger ledger;
  Record record;
  std::mt19937 random(1);
  std::int64_t step = 0;
  std::int64_t now = 0;
  auto add = [&](RecordType type, std::int64_t a = kNoStep) {
    record.type = type;
    record.a = a;
    record.time_ns = now;
    ledger.Add(record);
    record.seq += 1;
    record.span = SpanKind::kNone;
    record.name = 0;
  };
  auto span = [&](SpanKind kind, NameId name, std::int64_t ns) {
    record.span = kind;
    record.name = name;
    add(RecordType::kSpanBegin);
    now += ns;
    record.span = kind;
    record.name = name;
    add(RecordType::kSpanEnd);
  };
  for (int attempt = 0; attempt < 3; ++attempt) {
    Writer writer;
    writer.uid = std::string(1, static_cast<char>('a' + attempt));
    writer.attempt_key = writer.uid;
    writer.rank = 0;
    writer.event_file = true;
    record.writer = ledger.AddWriter(writer, Liveness::kDead);
    record.seq = 0;
    add(RecordType::kJobStart);
    for (int i = 0; i < 500; ++i) {
      span(SpanKind::kCustom, ledger.InternName("part" + std::to_string(i % 7)), 100 + i);
      now += 10;
    }
    for (int i = 0; i < 9'000; ++i) {
      if (attempt == 1 && i == 5'000) {
        record.span = SpanKind::kNone;
        add(RecordType::kRollback);
        step -= 700;
      }
      add(RecordType::kStepStart, step++);
      if (i % 3 == 0) span(SpanKind::kDataLoading, 0, 200);
      now += 900 + static_cast<std::int64_t>(random() % 200);
      if (i % 50 == 0) span(SpanKind::kCustom, ledger.InternName("eval"), 333);
      if (i % 997 == 0) now += 90'000;  // a stall
    }
    now += 5'000;
    step -= 300;
  }
  record.type = RecordType::kExclude;
  record.a = now / 3;
  record.b = now / 3 + 50'000;
  ledger.Add(record);
  return ledger;
}

}  // namespace headway::ledger
