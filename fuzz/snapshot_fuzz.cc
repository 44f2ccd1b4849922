#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "base/status.h"
#include "ledger/ledger.h"
#include "model/report.h"

// Any bytes are the head of a snapshot: they are refused, or they are a ledger, whose answers are
// worth what the bytes are, but which touches no memory that is not its own, and takes records. The
// checksum is put right, or nothing would ever be read. There are no pages: what they hold is
// checked by the same code when it stands in the head.

namespace headway::ledger {
namespace {

std::string Signed(std::string bytes) {
  const std::uint32_t crc = Crc32c(bytes.data(), bytes.size());
  bytes.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  return bytes;
}

void Ask(Ledger* ledger) {
  (void)ToJson(ledger->MakeReport());
  (void)ToJson(ledger->Timeline());
  (void)ToJson(ledger->Steps());
  if (const auto last = ledger->LastTime()) {
    Query query;
    query.window = {{*last / 2, *last}};
    ledger->MakeReport(query);
    const std::vector<WallSpan> spans = {
        {*last / 4, *last / 2}, {*last / 2, *last}, {*last / 3, *last - *last / 8}};
    ledger->Split({}, spans);
    ledger->TimelineUpTo({}, 5);
    query.window.reset();
    query.as_of = *last / 2;
    ledger->MakeReport(query);
  }
  ledger->VisitLeads([](const Record&) {});
  ledger->AttemptsOfWriters();
}

// Records of each kind by whoever is there, some of which reach back.
void GoOn(Ledger* ledger) {
  Writer writer;
  writer.uid = "one more";
  const WriterId writers = ledger->AddWriter(writer);
  const std::int64_t last = ledger->LastTime().value_or(0);
  for (WriterId id = 0; id <= writers && id < 4; ++id) {
    for (int i = 0; i < 40; ++i) {
      Record record;
      record.type = static_cast<RecordType>(i % 2 == 0 ? 3 : i % 23);
      record.span = static_cast<SpanKind>(i % kSpanKindCount);
      record.writer = id;
      record.seq = (std::uint64_t{1} << 40) + static_cast<std::uint64_t>(i);
      record.time_ns = last / 2 + (i % 16 == 15 ? -1000 : i) * 1'000'000'000;
      record.a = i % 7 == 0 ? 0 : i;
      record.b = i % 3 == 0 ? i : kNoHandle;
      ledger->Add(record);
    }
  }
}

void Check(std::string bytes) {
  if (bytes.size() > 16'384) return;
  Result<Ledger> ledger = Ledger::Restore(Signed(std::move(bytes)));
  if (!ledger.ok()) return;
  try {
    Ask(&*ledger);
    (void)Ledger::Restore(ledger->Pack());
    GoOn(&*ledger);
    Ask(&*ledger);
    (void)Ledger::Restore(ledger->Pack());
  } catch (const PageLost&) {  // there are no pages, or a record or row that cannot be
  }
}

}  // namespace
}  // namespace headway::ledger

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headway::ledger::Check(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
