#include "base/status.h"

#include <cstdio>
#include <cstdlib>

namespace headway {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kOk: return "OK";
    case Code::kCancelled: return "CANCELLED";
    case Code::kUnknown: return "UNKNOWN";
    case Code::kInvalidArgument: return "INVALID_ARGUMENT";
    case Code::kDeadlineExceeded: return "DEADLINE_EXCEEDED";
    case Code::kNotFound: return "NOT_FOUND";
    case Code::kAlreadyExists: return "ALREADY_EXISTS";
    case Code::kPermissionDenied: return "PERMISSION_DENIED";
    case Code::kResourceExhausted: return "RESOURCE_EXHAUSTED";
    case Code::kFailedPrecondition: return "FAILED_PRECONDITION";
    case Code::kAborted: return "ABORTED";
    case Code::kOutOfRange: return "OUT_OF_RANGE";
    case Code::kUnimplemented: return "UNIMPLEMENTED";
    case Code::kInternal: return "INTERNAL";
    case Code::kUnavailable: return "UNAVAILABLE";
    case Code::kDataLoss: return "DATA_LOSS";
    case Code::kUnauthenticated: return "UNAUTHENTICATED";
  }
  return "UNKNOWN";
}

int ExitCode(Code code) {
  switch (code) {
    case Code::kOk: return 0;
    case Code::kNotFound:
    case Code::kAlreadyExists:
    case Code::kFailedPrecondition:
    case Code::kAborted:
    case Code::kCancelled: return 1;
    case Code::kInvalidArgument:
    case Code::kOutOfRange:
    case Code::kUnimplemented: return 2;
    case Code::kDataLoss: return 3;
    case Code::kUnavailable:
    case Code::kDeadlineExceeded:
    case Code::kResourceExhausted: return 4;
    case Code::kPermissionDenied:
    case Code::kUnauthenticated: return 5;
    case Code::kUnknown:
    case Code::kInternal: return 70;
  }
  return 70;
}

std::string Status::ToString() const {
  if (ok()) return "OK";
  return std::string(CodeName(code_)) + ": " + message_;
}

namespace internal {

void CheckFailed(const char* file, int line, std::string_view message) {
  std::fprintf(stderr, "headway: internal check failed at %s:%d: %.*s\n", file, line,
               static_cast<int>(message.size()), message.data());
  std::abort();
}

}  // namespace internal
}  // namespace headway
