#include "wire/record.h"

namespace headway::wire {

void Fill(const Record& record, std::uint32_t name, v1::Record* to) {
  to->set_type(static_cast<std::uint32_t>(record.type));
  to->set_span(static_cast<std::uint32_t>(record.span));
  to->set_blocking(static_cast<std::uint32_t>(record.blocking));
  to->set_thread(record.thread);
  to->set_name(name);
  to->set_seq(record.seq);
  to->set_time_ns(record.time_ns);
  to->set_a(record.a);
  to->set_b(record.b);
}

v1::WriterState ToProto(Liveness liveness) {
  switch (liveness) {
    case Liveness::kAlive: return v1::WRITER_STATE_ALIVE;
    case Liveness::kDead: return v1::WRITER_STATE_DEAD;
    default: return v1::WRITER_STATE_UNSPECIFIED;
  }
}

Liveness FromProto(v1::WriterState writer) {
  switch (writer) {
    case v1::WRITER_STATE_ALIVE: return Liveness::kAlive;
    case v1::WRITER_STATE_DEAD: return Liveness::kDead;
    default: return Liveness::kUnknown;
  }
}

}  // namespace headway::wire
