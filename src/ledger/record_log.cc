#include "ledger/record_log.h"

#include "ledger/varint.h"

namespace headway::ledger {
namespace {

// Byte 0: the type (5 bits) and how many bytes the time difference takes (3 bits).
// Byte 1: which fields are not what one would expect from the record before.
enum Field : std::uint8_t {
  kWriter = 1,   // writer and absolute seq follow
  kSeqJump = 2,  // seq is not the last one's plus one
  kThread = 4,
  kSpanName = 8,  // span kind, blocking and name follow
  kA = 16,
  kB = 32,
  kClamped = 64,  // the taken time differs from the stamped one
  kHandle = 128,  // b is the seq of an earlier record: how far back follows
};

bool IsStep(RecordType type) {
  return type == RecordType::kStepStart || type == RecordType::kStepEnd ||
         type == RecordType::kStepSoftEnd;
}

// What `a` is when nothing is said about it.
std::int64_t ExpectedA(RecordType type, std::int64_t step) {
  switch (type) {
    case RecordType::kStepStart: return Undelta(step, 1);
    case RecordType::kStepEnd:
    case RecordType::kStepSoftEnd: return step;
    case RecordType::kSpanBegin:
    case RecordType::kSpanEnd: return kNoStep;
    default: return 0;
  }
}

}  // namespace

void RecordLog::Append(const Record& r, std::int64_t time) {
  if (chunks_.empty() || chunks_.back().used + kRecordBytesMax > kChunkBytes) {
    chunks_.push_back({0, std::make_unique_for_overwrite<std::uint8_t[]>(kChunkBytes)});
    end_.chunk = static_cast<std::uint32_t>(chunks_.size() - 1);
    end_.offset = 0;
  }
  Chunk& chunk = chunks_.back();
  std::uint8_t* const begin = chunk.bytes.get() + chunk.used;
  const std::uint64_t passed = ZigZag(Delta(time, end_.time));
  const unsigned extra = ExtraBytes(passed);
  std::uint8_t* out = PutBytes(begin + 2, passed, extra);
  unsigned fields = 0;
  const bool goes_on = (r.writer == end_.writer) & (r.seq == end_.seq + 1) & (time == r.time_ns) &
                       (r.thread == end_.thread);
  if (!goes_on) [[unlikely]] {
    if (r.writer != end_.writer) {
      fields |= kWriter;
      out = PutVarint(PutVarint(out, r.writer), r.seq);
    } else if (r.seq != end_.seq + 1) {
      fields |= kSeqJump;
      out = PutVarint(out, ZigZag(static_cast<std::int64_t>(r.seq - end_.seq)));
    }
    if (time != r.time_ns) {
      fields |= kClamped;
      out = PutVarint(out, ZigZag(Delta(time, r.time_ns)));
    }
    if (r.thread != end_.thread) {
      fields |= kThread;
      out = PutVarint(out, r.thread);
      end_.thread = r.thread;
    }
    end_.writer = r.writer;
  }
  if ((static_cast<unsigned>(r.span) | static_cast<unsigned>(r.blocking) | r.name) != 0) {
    fields |= kSpanName;
    *out++ = static_cast<std::uint8_t>(static_cast<unsigned>(r.span) |
                                       static_cast<unsigned>(r.blocking) << 6);
    out = PutVarint(out, r.name);
  }
  const std::int64_t expected = ExpectedA(r.type, end_.step);
  if (r.a != expected) [[unlikely]] {
    fields |= kA;
    out = PutVarint(out, ZigZag(Delta(r.a, expected)));
  }
  if (r.b != 0) {
    const std::uint64_t back = r.seq - static_cast<std::uint64_t>(r.b);
    if (r.type == RecordType::kSpanEnd && back < (1u << 20)) {
      fields |= kHandle;
      out = PutVarint(out, back);
    } else {
      fields |= kB;
      out = PutVarint(out, ZigZag(r.b));
    }
  }
  if (IsStep(r.type)) end_.step = r.a;
  begin[0] = static_cast<std::uint8_t>(static_cast<unsigned>(r.type) | extra << 5);
  begin[1] = static_cast<std::uint8_t>(fields);
  chunk.used = static_cast<std::uint32_t>(out - chunk.bytes.get());
  end_.offset = chunk.used;
  end_.ordinal += 1;
  end_.seq = r.seq;
  end_.time = time;
}

bool RecordLog::Next(Cursor* cursor, TimedRecord* timed) const {
  if (cursor->ordinal >= end_.ordinal) return false;
  if (cursor->offset >= chunks_[cursor->chunk].used) {
    cursor->chunk += 1;
    cursor->offset = 0;
  }
  const std::uint8_t* const base = chunks_[cursor->chunk].bytes.get();
  const std::uint8_t* in = base + cursor->offset;
  Record& r = timed->record;
  r = Record{};
  r.type = static_cast<RecordType>(in[0] & 0x1f);
  const unsigned fields = in[1];
  std::uint64_t value = 0;
  in = GetBytes(in + 2, in[0] >> 5, &value);
  cursor->time = Undelta(UnZigZag(value), cursor->time);
  if (fields & kWriter) {
    in = GetVarint(in, &value);
    cursor->writer = static_cast<WriterId>(value);
    in = GetVarint(in, &cursor->seq);
  } else if (fields & kSeqJump) {
    in = GetVarint(in, &value);
    cursor->seq += static_cast<std::uint64_t>(UnZigZag(value));
  } else {
    cursor->seq += 1;
  }
  r.writer = cursor->writer;
  r.seq = cursor->seq;
  timed->time = r.time_ns = cursor->time;
  if (fields & kClamped) {
    in = GetVarint(in, &value);
    r.time_ns = Delta(cursor->time, UnZigZag(value));
  }
  if (fields & kThread) {
    in = GetVarint(in, &value);
    cursor->thread = static_cast<std::uint16_t>(value);
  }
  r.thread = cursor->thread;
  if (fields & kSpanName) {
    r.span = static_cast<SpanKind>(*in & 0x3f);
    r.blocking = static_cast<Blocking>(*in++ >> 6);
    in = GetVarint(in, &value);
    r.name = static_cast<NameId>(value);
  }
  r.a = ExpectedA(r.type, cursor->step);
  if (fields & kA) {
    in = GetVarint(in, &value);
    r.a = Undelta(UnZigZag(value), r.a);
  }
  if (fields & kHandle) {
    in = GetVarint(in, &value);
    r.b = static_cast<std::int64_t>(r.seq - value);
  } else if (fields & kB) {
    in = GetVarint(in, &value);
    r.b = UnZigZag(value);
  }
  if (IsStep(r.type)) cursor->step = r.a;
  cursor->offset = static_cast<std::uint32_t>(in - base);
  cursor->ordinal += 1;
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
