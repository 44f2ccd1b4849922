#pragma once

#include <headway/v1/record_service.pb.h>

#include <cstdint>

#include "model/record.h"

namespace headway::wire {

/// A record but for its writer; `name` is its place in the names of its page, counted from 1.
void Fill(const Record& record, std::uint32_t name, v1::Record* to);

v1::WriterState ToProto(Liveness liveness);
Liveness FromProto(v1::WriterState writer);

}  // namespace headway::wire
