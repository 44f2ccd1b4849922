#pragma once

#include <headway/v1/run_service.pb.h>

#include "base/status.h"
#include "model/run_details.h"

namespace headway::server {

/// What a request may set of a run. InvalidArgument: too much of it, or a phase that is none.
Status CheckDetails(const v1::Run& values);

/// `details` as an update makes them. InvalidArgument: the mask names nothing that may be set;
/// FailedPrecondition: the phase may not follow.
Result<RunDetails> UpdateDetails(const RunDetails& details, const v1::UpdateRunRequest& request);

}  // namespace headway::server
