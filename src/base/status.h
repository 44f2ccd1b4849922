#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// Status and Result<T>: how every fallible call in headway reports what went wrong.
///
/// A code is chosen by who acts on it (`Unavailable`: retry; `FailedPrecondition`: fix the state
/// first; `InvalidArgument`: fix the call; `DataLoss`: stop and tell a person). A message says
/// what failed, why, and what to do next, and names file and byte offset where there is one.
/// Values are plain: copyable, movable, usable from any thread. The success path does not allocate.

namespace headway {

/// Numbered as `google.rpc.Code`, so that C++, the C ABI, HTTP, Python and exit codes share a
/// table.
enum class Code : std::int32_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

/// The code's name as `google.rpc.Code` spells it, e.g. "NOT_FOUND".
std::string_view CodeName(Code code);

/// The process exit code of a command that ends with `code` (0, 1, 2, 3, 4, 5 or 70).
int ExitCode(Code code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  /// "NOT_FOUND: no such run: r", or "OK".
  std::string ToString() const;

  /// Says aloud, and findably, that an error is dropped on purpose.
  void IgnoreError() const {}

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

inline Status OkStatus() { return {}; }

/// A value or the reason why there is none. `value()` on an error ends the process: a bug of ours.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  T& value() &;
  const T& value() const&;
  T&& value() &&;

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::optional<T> value_;
  Status status_;
};

namespace internal {
/// Prints `message` with its place to stderr and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, std::string_view message);
}  // namespace internal

/// For bugs of ours, never for input: stays on in release builds.
#define HEADWAY_CHECK(condition)                                        \
  do {                                                                  \
    if (!(condition)) [[unlikely]]                                      \
      ::headway::internal::CheckFailed(__FILE__, __LINE__, #condition); \
  } while (false)

#define HEADWAY_RETURN_IF_ERROR(expression)                                      \
  do {                                                                           \
    if (::headway::Status headway_status_ = (expression); !headway_status_.ok()) \
      return headway_status_;                                                    \
  } while (false)

template <typename T>
T& Result<T>::value() & {
  if (!ok()) internal::CheckFailed(__FILE__, __LINE__, status_.message());
  return *value_;
}
template <typename T>
const T& Result<T>::value() const& {
  if (!ok()) internal::CheckFailed(__FILE__, __LINE__, status_.message());
  return *value_;
}
template <typename T>
T&& Result<T>::value() && {
  if (!ok()) internal::CheckFailed(__FILE__, __LINE__, status_.message());
  return std::move(*value_);
}

}  // namespace headway
