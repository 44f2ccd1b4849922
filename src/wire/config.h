#pragma once

#include <headway/v1/config_service.pb.h>

#include "base/status.h"
#include "model/config.h"

/// Configurations between model/ and proto/. Pure; safe from any thread. Nothing is lost either
/// way, but for names that are no UTF-8: what is none becomes U+FFFD.

namespace headway::wire {

v1::GetConfigResponse ToProto(const RunConfig& config);

/// InvalidArgument for a place where there is no configuration.
Result<RunConfig> FromProto(const v1::GetConfigResponse& answer);

}  // namespace headway::wire
