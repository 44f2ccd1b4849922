#pragma once

#include <memory>
#include <string>

#include "net/object_store.h"

namespace headway::net {

/// See OpenObject.
Result<std::unique_ptr<RemoteObject>> OpenGsObject(const std::string& bucket,
                                                   const std::string& name,
                                                   const RemoteObjectOptions& options,
                                                   GoogleAuth* google, HttpClient* http);

}  // namespace headway::net
