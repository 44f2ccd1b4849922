#include "ledger/compat/translator.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>

namespace headway::compat {

void Translator::Take(const Record& record) {
  const double time = SecondsOf(record.time_ns);
  switch (record.type) {
    case RecordType::kJobStart: log_->Add(EntryKind::kJobStart, time); break;
    case RecordType::kJobEnd:
      // A program that fails says no end there.
      if (record.a == 0) log_->Add(EntryKind::kJobEnd, time);
      break;
    case RecordType::kStepStart: log_->AddStep(record.a, time); break;
    case RecordType::kSpanBegin: TakeSpan(record, false, time); break;
    case RecordType::kSpanEnd: TakeSpan(record, true, time); break;
    case RecordType::kCapacity: TakeCapacity(record, time); break;
    default: break;
  }
}

void Translator::TakeSpan(const Record& record, bool end, double time) {
  auto pick = [end](EntryKind begins, EntryKind ends) { return end ? ends : begins; };
  switch (record.span) {
    case SpanKind::kAcceleratorInit:
      log_->Add(pick(EntryKind::kInitStart, EntryKind::kInitEnd), time);
      break;
    case SpanKind::kTrainingPrep:
      log_->Add(pick(EntryKind::kPrepStart, EntryKind::kPrepEnd), time);
      break;
    case SpanKind::kDataLoading:
    case SpanKind::kAsyncDataLoading:
      log_->Add(pick(EntryKind::kLoadStart, EntryKind::kLoadEnd), time);
      break;
    case SpanKind::kCustom: {
      std::string name(names_->Text(record.name));
      for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      log_->AddNamed(pick(EntryKind::kCustomStart, EntryKind::kCustomEnd), name, time);
      break;
    }
    case SpanKind::kElasticWait:
      log_->AddNamed(pick(EntryKind::kWaitStart, EntryKind::kWaitEnd), names_->Text(record.name),
                     time);
      break;
    case SpanKind::kElasticReinit:
      log_->Add(pick(EntryKind::kReinitStart, EntryKind::kReinitEnd), time);
      break;
    case SpanKind::kCheckpointSave: TakeCheckpoint(record, end, EntryKind::kSave, &saves_); break;
    case SpanKind::kCheckpointRestore:
      TakeCheckpoint(record, end, EntryKind::kRestore, &restores_);
      break;
    default: break;
  }
}

// Orbax reports a save once it is over; the report is of the time at which it began.
void Translator::TakeCheckpoint(const Record& record, bool end, EntryKind kind,
                                OpenCheckpoints* all) {
  const bool local = names_->Text(record.name) == "local";
  std::vector<Checkpoint>* const open = &(*all)[local ? 1 : 0];
  if (!end) {
    open->push_back({record.seq, record.time_ns, record.a});
    return;
  }
  // Several may be open, for several hosts report: the one it names, else the last.
  if (open->empty()) return;
  auto begun = std::find_if(open->rbegin(), open->rend(), [&record](const Checkpoint& one) {
    return record.b != kNoHandle && one.seq == static_cast<std::uint64_t>(record.b);
  });
  if (begun == open->rend()) begun = open->rbegin();
  const Checkpoint one = *begun;
  open->erase(std::next(begun).base());
  // Without a step it is like no other.
  const std::string step =
      one.step == kNoStep ? "#" + std::to_string(unnamed_++) : std::to_string(one.step);
  log_->AddCheckpoint(kind, step, local ? "/" : "gs://", SecondsOf(record.time_ns - one.begin_ns),
                      SecondsOf(one.begin_ns));
}

void Translator::TakeCapacity(const Record& record, double time) {
  constexpr std::uint64_t kUnknown = 0xffffffff;
  const auto both = static_cast<std::uint64_t>(record.a);
  auto count = [](std::uint64_t half) { return half == kUnknown ? 0 : static_cast<double>(half); };
  const double total = record.b < 0 ? 1 : static_cast<double>(record.b);
  log_->AddSlices({count(both >> 32), count(both & kUnknown), std::max(total, 1.0)}, time);
}

}  // namespace headway::compat
