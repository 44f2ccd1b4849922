#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace headway::ledger {

/// Bytes of a ledger that may lie elsewhere until they are needed. Ids are counted from 1, and one
/// ledger and what is restored from it one after the other never use one twice. Of two that are
/// restored from one snapshot both go on from there, so only one may be kept.
using PageId = std::uint64_t;
/// The bytes of a page, as they were put.
using ReadPage = std::function<Result<std::string>(PageId)>;

/// A ledger in two parts: what is always needed, and what is read when it is. The store's own data:
/// the format has a version and no other promise.
struct Snapshot {
  std::string head;
  std::vector<PageId> pages;  ///< all that the head refers to, ascending
};

/// A page that is needed could not be read, or is not what was put. The ledger that threw it is
/// half way through something: nothing may be done with it but to destroy it.
class PageLost : public std::exception {
 public:
  explicit PageLost(Status status) : status_(std::move(status)), what_(status_.ToString()) {}
  const Status& status() const { return status_; }
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  Status status_;
  std::string what_;
};

}  // namespace headway::ledger
