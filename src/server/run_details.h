#pragma once

#include <headway/v1/run_service.pb.h>

#include <map>
#include <string>

#include "base/status.h"
#include "model/config.h"
#include "model/run_details.h"

namespace headway::server {

/// How a request that makes something is known again. InvalidArgument: by a request_id that is too
/// long, or also by a uid.
Status CheckRequestId(const std::string& request_id, const std::string& uid);

/// What a request may set of a run. InvalidArgument: too much of it, or a phase that is none.
Status CheckDetails(const v1::Run& values);

/// `details` as an update makes them. InvalidArgument: the mask names nothing that may be set;
/// FailedPrecondition: the phase may not follow.
Result<RunDetails> UpdateDetails(const RunDetails& details, const v1::UpdateRunRequest& request);

/// What was said of a run's software or system, as a configuration, without secrets.
FlatConfig FlatOf(const std::map<std::string, std::string>& said);

/// `details` as they leave the server: what is a secret by FlatOf is "***", and of texts what is
/// one by a Masker "[masked]". Where an update brings that back, it changes nothing.
RunDetails Masked(RunDetails details);

}  // namespace headway::server
