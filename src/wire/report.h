#pragma once

#include <headway/v1/report.pb.h>

#include "base/status.h"
#include "model/report.h"

/// Reports between model/ and proto/. Pure; safe from any thread. Nothing is lost either way, but
/// for names that are no UTF-8: what is none becomes U+FFFD, as in the JSON of model/.

namespace headway::wire {

v1::Category ToProto(Category category);
v1::Report ToProto(const Report& report);
v1::TimelineInterval ToProto(const TimelineInterval& interval);
v1::StepSummary ToProto(const StepSummary& step);

/// Unimplemented for a value of an enumeration that this version does not know, and InvalidArgument
/// for one that is not set: what it stands for would be in no number.
Result<Report> FromProto(const v1::Report& report);
Result<TimelineInterval> FromProto(const v1::TimelineInterval& interval);
StepSummary FromProto(const v1::StepSummary& step);

}  // namespace headway::wire
