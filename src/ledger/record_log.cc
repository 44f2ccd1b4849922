#include "ledger/record_log.h"

#include "ledger/varint.h"

namespace headway::ledger {
namespace {

// First byte: the type. Second byte: which fields differ from the record before.
enum Field : std::uint8_t {
  kWriter = 1,      // writer and absolute seq follow
  kSeqJump = 2,     // seq is not the last one's plus one
  kThread = 4,
  kSpanName = 8,    // span kind, blocking and name follow
  kA = 16,
  kB = 32,
  kClamped = 64,    // the taken time differs from the stamped one
};

}  // namespace

void RecordLog::Append(const TimedRecord& timed) {
  if (chunks_.empty() || chunks_.back().used + kRecordBytesMax > kChunkBytes) {
    chunks_.push_back({0, std::make_unique_for_overwrite<std::uint8_t[]>(kChunkBytes)});
    end_.chunk = static_cast<std::uint32_t>(chunks_.size() - 1);
    end_.offset = 0;
  }
  Chunk& chunk = chunks_.back();
  std::uint8_t* const begin = chunk.bytes.get() + chunk.used;
  std::uint8_t* out = begin + 2;
  const Record& r = timed.record;
  const Record& last = end_.last;
  std::uint8_t fields = 0;
  if (r.writer != last.writer) {
    fields |= kWriter;
    out = PutVarint(out, r.writer);
    out = PutVarint(out, r.seq);
  } else if (r.seq != last.seq + 1) {
    fields |= kSeqJump;
    out = PutVarint(out, ZigZag(static_cast<std::int64_t>(r.seq - last.seq)));
  }
  out = PutVarint(out, ZigZag(Delta(timed.time, end_.last_time)));
  if (timed.clamped()) {
    fields |= kClamped;
    out = PutVarint(out, ZigZag(Delta(timed.time, r.time_ns)));
  }
  if (r.thread != last.thread) {
    fields |= kThread;
    out = PutVarint(out, r.thread);
  }
  if (r.span != SpanKind::kNone || r.name != 0 || r.blocking != Blocking::kDefault) {
    fields |= kSpanName;
    *out++ = static_cast<std::uint8_t>(static_cast<unsigned>(r.span) |
                                       static_cast<unsigned>(r.blocking) << 6);
    out = PutVarint(out, r.name);
  }
  if (r.a != last.a) {
    fields |= kA;
    out = PutVarint(out, ZigZag(Delta(r.a, last.a)));
  }
  if (r.b != last.b) {
    fields |= kB;
    out = PutVarint(out, ZigZag(Delta(r.b, last.b)));
  }
  begin[0] = static_cast<std::uint8_t>(r.type);
  begin[1] = fields;
  chunk.used = static_cast<std::uint32_t>(out - chunk.bytes.get());
  end_.offset = chunk.used;
  end_.ordinal += 1;
  end_.last = r;
  end_.last_time = timed.time;
}

bool RecordLog::Next(Cursor* cursor, TimedRecord* timed) const {
  if (cursor->ordinal >= end_.ordinal) return false;
  if (cursor->offset >= chunks_[cursor->chunk].used) {
    cursor->chunk += 1;
    cursor->offset = 0;
  }
  const std::uint8_t* const base = chunks_[cursor->chunk].bytes.get();
  const std::uint8_t* in = base + cursor->offset;
  Record& r = cursor->last;
  r.type = static_cast<RecordType>(*in++);
  const std::uint8_t fields = *in++;
  std::uint64_t value = 0;
  if (fields & kWriter) {
    in = GetVarint(in, &value);
    r.writer = static_cast<WriterId>(value);
    in = GetVarint(in, &r.seq);
  } else if (fields & kSeqJump) {
    in = GetVarint(in, &value);
    r.seq += static_cast<std::uint64_t>(UnZigZag(value));
  } else {
    r.seq += 1;
  }
  in = GetVarint(in, &value);
  cursor->last_time = Undelta(UnZigZag(value), cursor->last_time);
  r.time_ns = cursor->last_time;
  if (fields & kClamped) {
    in = GetVarint(in, &value);
    r.time_ns = Delta(cursor->last_time, UnZigZag(value));
  }
  if (fields & kThread) {
    in = GetVarint(in, &value);
    r.thread = static_cast<std::uint16_t>(value);
  }
  r.span = SpanKind::kNone;
  r.blocking = Blocking::kDefault;
  r.name = 0;
  if (fields & kSpanName) {
    r.span = static_cast<SpanKind>(*in & 0x3f);
    r.blocking = static_cast<Blocking>(*in++ >> 6);
    in = GetVarint(in, &value);
    r.name = static_cast<NameId>(value);
  }
  if (fields & kA) {
    in = GetVarint(in, &value);
    r.a = Undelta(UnZigZag(value), r.a);
  }
  if (fields & kB) {
    in = GetVarint(in, &value);
    r.b = Undelta(UnZigZag(value), r.b);
  }
  cursor->offset = static_cast<std::uint32_t>(in - base);
  cursor->ordinal += 1;
  timed->record = r;
  timed->time = cursor->last_time;
  return true;
}

void RecordLog::Truncate(const Cursor& cursor) {
  if (cursor.ordinal >= end_.ordinal) return;
  end_ = cursor;
  if (cursor.ordinal == 0) {
    chunks_.clear();
    return;
  }
  chunks_.resize(cursor.chunk + 1);
  chunks_.back().used = cursor.offset;
}

}  // namespace headway::ledger
