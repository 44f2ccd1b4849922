#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/status.h"

/// Libraries of the system that a few functions need and most runs of a program don't: they are
/// loaded on first use, so that a program starts without them, and runs where they are missing.

namespace headway::net {

/// A loaded library. It stays for as long as the process lives.
class Library {
 public:
  /// Loads the first of `names` that there is. Unavailable: there is none; `remedy` ends the
  /// message: "install the package libcurl4".
  static Result<Library> Load(std::initializer_list<const char*> names, std::string_view remedy);

  /// Puts the address of function `name` into `*function`. The caller takes its type from the
  /// library's own header: `Find("curl_easy_init", &table.easy_init)` where `easy_init` is a
  /// `decltype(&curl_easy_init)`. Unavailable: the library is too old to have it.
  template <typename Function>
  Status Find(const char* name, Function** function) const {
    void* address = nullptr;
    HEADWAY_RETURN_IF_ERROR(FindAddress(name, &address));
    *function = reinterpret_cast<Function*>(address);
    return OkStatus();
  }

 private:
  Library(void* handle, const char* name) : handle_(handle), name_(name) {}
  Status FindAddress(const char* name, void** address) const;

  void* handle_;
  const char* name_;
};

}  // namespace headway::net
