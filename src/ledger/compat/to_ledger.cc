#include "ledger/compat/to_ledger.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

namespace headway::compat {
namespace {

Record MakeRecord(RecordType type, double time) {
  Record record;
  record.type = type;
  record.time_ns = DatetimeNs(time);
  return record;
}

Record MakeSpan(bool begins, SpanKind kind, double time) {
  Record record = MakeRecord(begins ? RecordType::kSpanBegin : RecordType::kSpanEnd, time);
  record.span = kind;
  record.a = kNoStep;
  record.b = begins ? 0 : kNoHandle;
  return record;
}

std::uint64_t Half(double slices) {
  return slices < 0 ? 0xffffffff : static_cast<std::uint64_t>(std::min(slices, 4294967294.0));
}

void Append(const EntryLog& log, const Entry& entry, ledger::Ledger* ledger,
            std::vector<Record>* records) {
  auto named = [&](bool begins, SpanKind kind) {
    Record record = MakeSpan(begins, kind, entry.time);
    record.name = ledger->InternName(log.names().Text(entry.name));
    return record;
  };
  switch (entry.kind) {
    case EntryKind::kJobStart:
      records->push_back(MakeRecord(RecordType::kJobStart, entry.time));
      break;
    case EntryKind::kJobEnd: records->push_back(MakeRecord(RecordType::kJobEnd, entry.time)); break;
    case EntryKind::kStep:
      records->push_back(MakeRecord(RecordType::kStepStart, entry.time));
      records->back().a = entry.value;
      break;
    case EntryKind::kInitStart:
    case EntryKind::kInitEnd:
      records->push_back(
          MakeSpan(entry.kind == EntryKind::kInitStart, SpanKind::kAcceleratorInit, entry.time));
      break;
    case EntryKind::kPrepStart:
    case EntryKind::kPrepEnd:
      records->push_back(
          MakeSpan(entry.kind == EntryKind::kPrepStart, SpanKind::kTrainingPrep, entry.time));
      break;
    case EntryKind::kLoadStart:
    case EntryKind::kLoadEnd:
      records->push_back(
          MakeSpan(entry.kind == EntryKind::kLoadStart, SpanKind::kDataLoading, entry.time));
      break;
    case EntryKind::kCustomStart:
    case EntryKind::kCustomEnd:
      records->push_back(named(entry.kind == EntryKind::kCustomStart, SpanKind::kCustom));
      break;
    case EntryKind::kWaitStart:
    case EntryKind::kWaitEnd: {
      const bool begins = entry.kind == EntryKind::kWaitStart;
      Record record = MakeSpan(begins, SpanKind::kElasticWait, entry.time);
      record.name =
          ledger->InternName(IsScaleUp(log.names().Text(entry.name)) ? "scale_up" : "slice_down");
      records->push_back(record);
      break;
    }
    case EntryKind::kReinitStart:
    case EntryKind::kReinitEnd:
      records->push_back(
          MakeSpan(entry.kind == EntryKind::kReinitStart, SpanKind::kElasticReinit, entry.time));
      break;
    case EntryKind::kSlices: {
      const Slices& slices = log.slices(entry);
      Record record = MakeRecord(RecordType::kCapacity, entry.time);
      record.a = static_cast<std::int64_t>(Half(slices.available) | Half(slices.active) << 32);
      record.b = static_cast<std::int64_t>(std::min(slices.total, 4294967294.0));
      records->push_back(record);
      break;
    }
    case EntryKind::kSave:
    case EntryKind::kRestore: {
      const SpanKind kind =
          entry.kind == EntryKind::kSave ? SpanKind::kCheckpointSave : SpanKind::kCheckpointRestore;
      const double seconds = std::max(0.0, log.checkpoint(entry).manager_s);
      records->push_back(MakeSpan(true, kind, entry.time));
      records->push_back(MakeSpan(false, kind, entry.time + seconds));
      break;
    }
  }
}

constexpr Badput BadputOf(Category category) {
  switch (category) {
    case Category::kAcceleratorInit: return Badput::kTpuInitialization;
    case Category::kTrainingPrep: return Badput::kTrainingPrep;
    case Category::kProgramStartup: return Badput::kProgramStartup;
    case Category::kDataLoading: return Badput::kDataLoadingSync;
    case Category::kCheckpointSave: return Badput::kCheckpointSave;
    case Category::kCheckpointRestore: return Badput::kCheckpointRestore;
    case Category::kWastedProgress: return Badput::kWastedProgress;
    case Category::kInfrastructureRecovery: return Badput::kInfrastructureRecovery;
    case Category::kElasticScaleUp: return Badput::kElasticScaleUp;
    case Category::kElasticSliceDown: return Badput::kElasticSliceDown;
    case Category::kElasticReinit: return Badput::kElasticReinitialization;
    case Category::kCustom: return Badput::kCustom;
    default: return Badput::kOther;
  }
}

}  // namespace

std::int64_t DatetimeNs(double seconds) {
  constexpr double kFarthest = 4e9;  // seconds: beyond what the ledger takes as it is
  return std::llround(std::clamp(seconds, -kFarthest, kFarthest) * 1e6) * 1000;
}

ledger::Ledger ToLedger(const EntryLog& log) {
  ledger::Ledger ledger;
  Writer writer;
  writer.uid = writer.name = "log";
  writer.rank = 0;
  writer.event_file = true;
  const WriterId id = ledger.AddWriter(writer);
  std::vector<Record> records;
  records.reserve(log.entries().size());
  for (const Entry& entry : log.entries()) Append(log, entry, &ledger, &records);
  std::ranges::stable_sort(records, {}, &Record::time_ns);
  std::uint64_t seq = 0;
  for (Record& record : records) {
    record.writer = id;
    record.seq = seq++;
  }
  ledger.Add(records);
  return ledger;
}

void Exclude(std::span<const Exclusion> exclusions, ledger::Ledger* ledger) {
  if (exclusions.empty()) return;
  Writer user;
  user.uid = "exclusions";
  user.event_file = true;
  Record record;
  record.type = RecordType::kExclude;
  record.writer = ledger->AddWriter(user);
  for (const Exclusion& exclusion : exclusions) {
    record.a = DatetimeNs(exclusion.from);
    record.b = DatetimeNs(exclusion.to);
    record.time_ns = record.a;
    ledger->Add(record);
    ++record.seq;
  }
}

Answer ToAnswer(const Report& report, NameTable* names) {
  auto seconds = [](std::int64_t ns) { return static_cast<double>(ns) / 1e9; };
  Answer answer;
  answer.goodput_percent = report.goodput.value_or(0) * 100;
  answer.total_s = seconds(report.elapsed_ns);
  answer.excluded_s = seconds(report.excluded_ns);
  Account& account = answer.account;
  for (int i = 0; i < kCategoryCount; ++i) {
    const auto category = static_cast<Category>(i);
    if (category == Category::kProductive || category == Category::kCustom) continue;
    account.unproductive.Add(BadputOf(category), 0);
  }
  account.unproductive.Set(Badput::kDataLoadingAsync, seconds(report.data_loading_overlapped_ns));
  account.unproductive.custom.emplace();
  for (const CategoryTime& time : report.categories) {
    if (time.category == Category::kProductive) {
      account.productive_s += seconds(time.ns);
    } else if (time.category == Category::kCustom) {
      (*account.unproductive.custom)[names->Intern(time.name)] += seconds(time.ns);
    } else {
      account.unproductive.Add(BadputOf(time.category), seconds(time.ns));
    }
  }
  account.max_productive_step = report.steps.max_productive_step.value_or(0);
  account.last_step = report.steps.last_step.value_or(0);
  for (const Disruption& disruption : report.disruptions) {
    account.restarts.push_back({disruption.step_reached.value_or(0), seconds(disruption.time),
                                disruption.resumed_from.value_or(0),
                                seconds(disruption.wasted_ns)});
  }
  return answer;
}

}  // namespace headway::compat
