#include "store/blob_store.h"

#include <algorithm>

#include "base/blob_limits.h"
#include "base/names.h"

namespace headway::store {

Result<std::string> BlobStore::Read(const RunUid& run, std::string_view name, std::uint64_t offset,
                                    std::uint64_t size) {
  const Result<std::unique_ptr<BlobReader>> reader = Open(run, name);
  if (!reader.ok()) return reader.status();
  return (*reader)->Read(offset, size);
}

Status CheckBlobName(std::string_view name) {
  constexpr std::string_view kWhat = "the blob's name";
  HEADWAY_RETURN_IF_ERROR(CheckGivenName(kWhat, name));
  const auto bad = [kWhat](const std::string& how) {
    return Status(Code::kInvalidArgument, std::string(kWhat) + how);
  };
  if (name.size() > limits::kBlobNameBytes) {
    return bad(" has " + std::to_string(name.size()) + " bytes; at most " +
               std::to_string(limits::kBlobNameBytes) + " are allowed");
  }
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") {
      return bad(R"( must not have an empty part, "." or ".." between its slashes, as ")" +
                 std::string(name) + "\" has");
    }
    begin = end + 1;
  }
  return OkStatus();
}

}  // namespace headway::store
