#pragma once

#include <headway/v1/run_service.pb.h>

#include "model/run_details.h"
#include "model/run_digest.h"

namespace headway::wire {

/// Sets what may be set of a run.
void Fill(const RunDetails& details, v1::Run* run);
/// The same back. A phase of a newer headway is none.
RunDetails DetailsOf(const v1::Run& run);
/// Sets how it stood.
void Fill(const RunSummary& summary, v1::Run* run);
RunSummary SummaryOf(const v1::Run& run);
/// Those categories that have time.
void Fill(const RunDigest& digest, v1::RunDigest* message);

}  // namespace headway::wire
