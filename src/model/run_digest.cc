#include "model/run_digest.h"

#include <cstring>
#include <numeric>

namespace headway {
namespace {

static_assert(static_cast<int>(Category::kProductive) == 0);

// A version, how many categories there are, their times and the disruptions, then goodput.
constexpr char kVersion = 1;
constexpr std::size_t kNumbers = kCategoryCount + 1;
constexpr std::size_t kHead = 2 + kNumbers * sizeof(std::int64_t);

}  // namespace

std::int64_t RunDigest::elapsed_ns() const {
  return std::accumulate(ns.begin(), ns.end(), std::int64_t{0});
}

RunDigest DigestOf(const Report& report) {
  RunDigest digest;
  for (const CategoryTime& time : report.categories) {
    digest.ns[static_cast<std::size_t>(time.category)] += time.ns;
  }
  digest.disruptions = static_cast<std::int64_t>(report.disruptions.size());
  return digest;
}

std::string PackDigest(const RunDigest& digest) {
  std::string bytes = {kVersion, static_cast<char>(kCategoryCount)};
  const auto put = [&bytes](std::int64_t value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (const std::int64_t ns : digest.ns) put(ns);
  put(digest.disruptions);
  bytes.append(digest.goodput.begin(), digest.goodput.end());
  return bytes;
}

std::optional<RunDigest> UnpackDigest(std::string_view bytes) {
  if (bytes.size() < kHead || bytes.size() > kHead + RunDigest::kParts) return std::nullopt;
  if (bytes[0] != kVersion || bytes[1] != static_cast<char>(kCategoryCount)) return std::nullopt;
  RunDigest digest;
  const char* const numbers = bytes.data() + 2;
  std::memcpy(digest.ns.data(), numbers, sizeof digest.ns);
  std::memcpy(&digest.disruptions, numbers + sizeof digest.ns, sizeof digest.disruptions);
  digest.goodput.assign(bytes.begin() + kHead, bytes.end());
  return digest;
}

}  // namespace headway
