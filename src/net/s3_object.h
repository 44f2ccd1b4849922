#pragma once

#include <memory>
#include <string>

#include "net/object_store.h"

namespace headway::net {

/// See OpenObject.
Result<std::unique_ptr<RemoteObject>> OpenS3Object(const std::string& bucket,
                                                   const std::string& name,
                                                   const RemoteObjectOptions& options,
                                                   HttpClient* http, const Clock* clock);

}  // namespace headway::net
