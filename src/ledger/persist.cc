#include "ledger/persist.h"

#include "base/crc32c.h"

namespace headway::ledger {

std::string Pages::Read(PageId page, std::uint64_t size, std::uint32_t crc) const {
  const std::string name = "page " + std::to_string(page) + " of a ledger";
  if (!read) throw PageLost(Status(Code::kFailedPrecondition, name + ": nobody reads pages"));
  Result<std::string> bytes = read(page);
  if (!bytes.ok()) {
    throw PageLost(Status(bytes.status().code(), name + ": " + bytes.status().message()));
  }
  if (bytes->size() != size || Crc32c(bytes->data(), bytes->size()) != crc) {
    throw PageLost(Status(Code::kDataLoss, name + " is damaged: its checksum does not match"));
  }
  return std::move(bytes).value();
}

PageLost Pages::Misfit() {
  return PageLost(Status(Code::kDataLoss, "a ledger's bytes do not hold what their lengths say"));
}

PageId SnapshotWriter::PutPage(std::string_view bytes) {
  if (!status_.ok()) return 0;
  const PageId page = pages_->next++;
  status_ = (*put_)(page, bytes);
  return status_.ok() ? page : 0;
}

}  // namespace headway::ledger
