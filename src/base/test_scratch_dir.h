#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

/// For tests: a directory of their own.

namespace headway {

/// A new, empty directory that goes away with the object, and all that is in it. `parent` must
/// exist; empty: $TMPDIR, or /tmp. Aborts if it can't be made.
class ScratchDir {
 public:
  explicit ScratchDir(const std::string& parent = {}) {
    const char* temporary = std::getenv("TMPDIR");
    std::string name = !parent.empty()                                ? parent
                       : temporary != nullptr && temporary[0] != '\0' ? temporary
                                                                      : "/tmp";
    name += "/headway-test-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;
  ~ScratchDir() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
    if (error) std::abort();
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace headway
