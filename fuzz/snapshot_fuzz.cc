#include <cstddef>
#include <cstdint>
#include <string>

#include "base/crc32c.h"
#include "base/status.h"
#include "ledger/ledger.h"
#include "model/report.h"

// Any bytes are a snapshot: they read as data or as an error, and a ledger that reads them answers
// like one restored from its own snapshot. The checksum is put right, or nothing would ever be
// read.

namespace headway::ledger {
namespace {

std::string Signed(std::string bytes) {
  const std::uint32_t crc = Crc32c(bytes.data(), bytes.size());
  bytes.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  return bytes;
}

void Check(std::string bytes) {
  if (bytes.size() > 4'096) return;
  bytes = Signed(std::move(bytes));
  Result<Ledger> ledger = Ledger::Restore(bytes);
  if (!ledger.ok()) return;
  const std::string report = ToJson(ledger->MakeReport());
  Result<Ledger> again = Ledger::Restore(ledger->Snapshot());
  HEADWAY_CHECK(again.ok());
  HEADWAY_CHECK(ToJson(again->MakeReport()) == report);
}

}  // namespace
}  // namespace headway::ledger

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headway::ledger::Check(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
