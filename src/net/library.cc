#include "net/library.h"

#include <dlfcn.h>

namespace headway::net {

Result<Library> Library::Load(std::initializer_list<const char*> names, std::string_view remedy) {
  std::string reason;
  for (const char* const name : names) {
    if (void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return Library(handle, name);
    if (const char* const error = ::dlerror(); reason.empty() && error != nullptr) reason = error;
  }
  return Status(Code::kUnavailable,
                "cannot load a library: " + reason + "; " + std::string(remedy));
}

Status Library::FindAddress(const char* name, void** address) const {
  *address = ::dlsym(handle_, name);
  if (*address != nullptr) return OkStatus();
  return {Code::kUnavailable,
          std::string(name_) + " has no function " + name + "; install a newer release of it"};
}

}  // namespace headway::net
