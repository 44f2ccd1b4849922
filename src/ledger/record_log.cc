#include "ledger/record_log.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <type_traits>

#include "ledger/persist.h"
#include "ledger/varint.h"

namespace headway::ledger {
namespace {

// Byte 0: the type (5 bits), how many bytes the time difference takes (2 bits), and whether a byte
// follows that says which fields are not what one would expect from the records before.
constexpr unsigned kLengthShift = 5;
constexpr unsigned kUnexpected = 128;
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

// Bytes of a time difference: below 65 µs, 4.3 s, 18 minutes, anything.
constexpr Lengths kLengths(2, 4, 5, 8);

using Cursor = RecordLog::Cursor;

// A record as six words, to compare it with what was expected in a few instructions. The first has
// a byte each for type, span kind and blocking, and the thread; the second writer and name.
struct Words {
  std::uint64_t head = 0, who = 0, seq = 0, time = 0, a = 0, b = 0;
};
static_assert(sizeof(Record) == sizeof(Words) && std::has_unique_object_representations_v<Record>);

// Loads one word where it is needed, instead of copying the record.
template <std::size_t kWord>
[[gnu::always_inline]] inline std::uint64_t WordOf(const Record& record) {
  std::uint64_t word;
  std::memcpy(&word, reinterpret_cast<const unsigned char*>(&record) + 8 * kWord, 8);
  return word;
}

constexpr std::uint64_t kSpanBits = 0xffff00;
constexpr std::uint64_t kThreadBits = std::uint64_t{0xffff} << 32;
constexpr std::uint64_t kWriterBits = 0xffffffff;
constexpr std::uint64_t kNoStepWord = static_cast<std::uint64_t>(kNoStep);

[[gnu::always_inline]] inline RecordType TypeIn(std::uint64_t head) {
  return static_cast<RecordType>(head & 0xff);
}
[[gnu::always_inline]] inline std::uint64_t HeadOf(RecordType type) {
  return static_cast<std::uint64_t>(type);
}

// What a record of this type holds, taken at `time`, when nothing is said about it.
[[gnu::always_inline]] inline Words ExpectedAfter(const Cursor& cursor, RecordType type,
                                                  std::int64_t time) {
  Words e{.head = HeadOf(type) | cursor.thread,
          .who = cursor.writer,
          .seq = cursor.seq + 1,
          .time = static_cast<std::uint64_t>(time)};
  switch (type) {
    case RecordType::kStepStart: e.a = static_cast<std::uint64_t>(cursor.step) + 1; break;
    case RecordType::kStepEnd:
    case RecordType::kStepSoftEnd: e.a = static_cast<std::uint64_t>(cursor.step); break;
    case RecordType::kSpanEnd: e.b = cursor.begin_seq; [[fallthrough]];
    case RecordType::kSpanBegin:
      e.head |= cursor.span;
      e.who |= cursor.name;
      e.a = kNoStepWord;
      break;
    default: break;
  }
  return e;
}

// Keeps what later records of some types are relative to.
[[gnu::always_inline]] inline void Remember(RecordType type, std::uint64_t head, std::uint64_t who,
                                            std::uint64_t seq, std::uint64_t a, Cursor* cursor) {
  switch (type) {
    case RecordType::kStepStart:
    case RecordType::kStepEnd:
    case RecordType::kStepSoftEnd: cursor->step = static_cast<std::int64_t>(a); break;
    case RecordType::kSpanBegin:
      cursor->span = head & kSpanBits;
      cursor->name = who & ~kWriterBits;
      cursor->begin_seq = seq;
      break;
    default: break;
  }
}

// The fields that are not as expected, behind the time difference. Returns which they are.
[[gnu::noinline]] unsigned PutUnexpected(const Words& r, std::int64_t time, const Words& e,
                                         std::uint8_t** place) {
  std::uint8_t* out = *place;
  unsigned fields = 0;
  auto zigzag = [](std::uint64_t value) { return ZigZag(static_cast<std::int64_t>(value)); };
  if (((r.who ^ e.who) & kWriterBits) != 0) {
    fields |= kWriter;
    out = PutVarint(PutVarint(out, r.who & kWriterBits), r.seq);
  } else if (r.seq != e.seq) {
    fields |= kSeqJump;
    out = PutVarint(out, zigzag(r.seq - e.seq));
  }
  if (static_cast<std::int64_t>(r.time) != time) {
    fields |= kClamped;
    out = PutVarint(out, zigzag(e.time - r.time));
  }
  if (((r.head ^ e.head) & kThreadBits) != 0) {
    fields |= kThread;
    out = PutVarint(out, r.head >> 32 & 0xffff);
  }
  if (((r.head ^ e.head) & kSpanBits) != 0 || ((r.who ^ e.who) & ~kWriterBits) != 0) {
    fields |= kSpanName;
    *out++ = static_cast<std::uint8_t>((r.head >> 8 & 0x3f) | (r.head >> 16 & 0x03) << 6);
    out = PutVarint(out, r.who >> 32);
  }
  if (r.a != e.a) {
    fields |= kA;
    out = PutVarint(out, zigzag(r.a - e.a));
  }
  if (r.b != e.b) {
    const std::uint64_t back = r.seq - r.b;
    if (TypeIn(r.head) == RecordType::kSpanEnd && back < (1u << 20)) {
      fields |= kHandle;
      out = PutVarint(out, back);
    } else {
      fields |= kB;
      out = PutVarint(out, zigzag(r.b));
    }
  }
  *place = out;
  return fields;
}

// `type` is the record's; where it is a constant only what concerns it is left of this.
[[gnu::always_inline]] inline std::uint8_t* PutAs(RecordType type, const Record& record,
                                                  std::int64_t time, Cursor* cursor,
                                                  std::uint8_t* out) {
  const std::uint64_t passed =
      static_cast<std::uint64_t>(time) - static_cast<std::uint64_t>(cursor->time);
  const unsigned code = kLengths.CodeOf(passed);
  const unsigned head = static_cast<unsigned>(type) | code << kLengthShift;
  const Words e = ExpectedAfter(*cursor, type, time);
  const std::uint64_t difference = (WordOf<0>(record) ^ e.head) | (WordOf<1>(record) ^ e.who) |
                                   (WordOf<2>(record) ^ e.seq) | (WordOf<3>(record) ^ e.time) |
                                   (WordOf<4>(record) ^ e.a) | (WordOf<5>(record) ^ e.b);
  if (difference == 0) [[likely]] {
    out[0] = static_cast<std::uint8_t>(head);
    out = kLengths.Put(out + 1, passed, code);
  } else {
    out[0] = static_cast<std::uint8_t>(head | kUnexpected);
    std::uint8_t* place = kLengths.Put(out + 2, passed, code);
    out[1] = static_cast<std::uint8_t>(PutUnexpected(std::bit_cast<Words>(record), time,
                                                     ExpectedAfter(*cursor, type, time), &place));
    out = place;
    cursor->thread = WordOf<0>(record) & kThreadBits;
    cursor->writer = WordOf<1>(record) & kWriterBits;
  }
  cursor->seq = WordOf<2>(record);
  cursor->time = time;
  Remember(type, WordOf<0>(record), WordOf<1>(record), WordOf<2>(record), WordOf<4>(record),
           cursor);
  return out;
}

[[gnu::always_inline]] inline std::uint8_t* Put(const Record& record, std::int64_t time,
                                                Cursor* cursor, std::uint8_t* out) {
  switch (record.type) {
    case RecordType::kStepStart: return PutAs(RecordType::kStepStart, record, time, cursor, out);
    case RecordType::kStepSoftEnd:
      return PutAs(RecordType::kStepSoftEnd, record, time, cursor, out);
    case RecordType::kSpanBegin: return PutAs(RecordType::kSpanBegin, record, time, cursor, out);
    case RecordType::kSpanEnd: return PutAs(RecordType::kSpanEnd, record, time, cursor, out);
    default: return PutAs(record.type, record, time, cursor, out);
  }
}

// The record at `in`; returns where the next one begins.
[[gnu::always_inline]] inline const std::uint8_t* Take(const std::uint8_t* in, Cursor* cursor,
                                                       TimedRecord* timed) {
  const unsigned head = *in++;
  const unsigned fields = head & kUnexpected ? *in++ : 0;
  std::uint64_t value = 0;
  in = kLengths.Get(in, head >> kLengthShift & 3, &value);
  timed->time = Undelta(static_cast<std::int64_t>(value), cursor->time);
  const auto type = static_cast<RecordType>(head & 0x1f);
  Words r = ExpectedAfter(*cursor, type, timed->time);
  if (fields != 0) [[unlikely]] {
    auto unzigzag = [](std::uint64_t zigzag) {
      return static_cast<std::uint64_t>(UnZigZag(zigzag));
    };
    if (fields & kWriter) {
      in = GetVarint(in, &value);
      cursor->writer = value;
      r.who = (r.who & ~kWriterBits) | value;
      in = GetVarint(in, &r.seq);
    } else if (fields & kSeqJump) {
      in = GetVarint(in, &value);
      r.seq += unzigzag(value);
    }
    if (fields & kClamped) {
      in = GetVarint(in, &value);
      r.time -= unzigzag(value);
    }
    if (fields & kThread) {
      in = GetVarint(in, &value);
      cursor->thread = value << 32;
      r.head = (r.head & ~kThreadBits) | cursor->thread;
    }
    if (fields & kSpanName) {
      const std::uint64_t span = *in++;
      r.head = (r.head & ~kSpanBits) | (span & 0x3f) << 8 | (span >> 6) << 16;
      in = GetVarint(in, &value);
      r.who = (r.who & kWriterBits) | value << 32;
    }
    if (fields & kA) {
      in = GetVarint(in, &value);
      r.a += unzigzag(value);
    }
    if (fields & kHandle) {
      in = GetVarint(in, &value);
      r.b = r.seq - value;
    } else if (fields & kB) {
      in = GetVarint(in, &value);
      r.b = unzigzag(value);
    }
  }
  timed->record = std::bit_cast<Record>(r);
  Remember(type, r.head, r.who, r.seq, r.a, cursor);
  cursor->seq = r.seq;
  cursor->time = timed->time;
  cursor->ordinal += 1;
  return in;
}

bool CanBe(const Record& r, const Pages& scope) {
  return r.writer < scope.writers->size() && r.name < scope.names->size() &&
         r.type <= kLastRecordType && static_cast<int>(r.span) < kSpanKindCount &&
         r.blocking <= Blocking::kNo;
}

}  // namespace

// The slab that the next record goes to.
Slabs::Slab& RecordLog::Room() {
  if (slabs_.empty() || slabs_.back().room() < kRecordBytesMax) {
    if (!slabs_.MakeRoom(kRecordBytesMax)) {
      end_.slab = slabs_.size() - 1;
      end_.offset = 0;
    }
  }
  return slabs_.back();
}

void RecordLog::Append(const Record& record, std::int64_t time) {
  Slabs::Slab& slab = Room();
  std::uint8_t* const base = slab.bytes;
  end_.offset = slab.used =
      static_cast<std::uint32_t>(Put(record, time, &end_, base + slab.used) - base);
  end_.ordinal += 1;
}

void RecordLog::Append(std::span<const Record> records) {
  while (!records.empty()) {
    Slabs::Slab& slab = Room();
    std::uint8_t* const base = slab.bytes;
    std::uint8_t* const limit = base + slab.size - kRecordBytesMax;
    std::uint8_t* out = base + slab.used;
    Cursor cursor = end_;  // here, where no store of a byte can change it
    const Record* record = records.data();
    const Record* const end = record + records.size();
    for (; record != end && out <= limit; ++record) {
      out = Put(*record, record->time_ns, &cursor, out);
    }
    cursor.offset = slab.used = static_cast<std::uint32_t>(out - base);
    cursor.ordinal += static_cast<std::size_t>(record - records.data());
    end_ = cursor;
    records = std::span(record, end);
  }
}

bool RecordLog::Next(Cursor* cursor, TimedRecord* timed) const {
  if (cursor->ordinal >= end_.ordinal) return false;
  if (cursor->offset >= slabs_[cursor->slab].used) {
    if (cursor->slab + 1 >= slabs_.size()) throw Pages::Misfit();
    cursor->slab += 1;
    cursor->offset = 0;
  }
  const std::uint8_t* const base = slabs_.Bytes(cursor->slab);
  const std::uint8_t* const end = Take(base + cursor->offset, cursor, timed);
  cursor->offset = static_cast<std::uint32_t>(end - base);
  if (suspect_ != nullptr && !CanBe(timed->record, *suspect_)) throw Pages::Misfit();
  return true;
}

void RecordLog::Truncate(const Cursor& cursor) {
  if (cursor.ordinal >= end_.ordinal) return;
  edition_ = NextEdition();
  end_ = cursor;
  slabs_.Cut(cursor.ordinal == 0 ? 0 : cursor.slab + 1, cursor.offset);
}

template <typename Ar>
void Cursor::Persist(Ar& ar, const RecordLog& log) {
  ar.Below(slab, std::max<std::uint64_t>(log.slabs_.size(), 1));
  ar.Below(offset, log.slabs_.empty() ? 1 : std::uint64_t{log.slabs_[slab].used} + 1);
  ar(ordinal, seq, time, step, thread, begin_seq);
  ar.Check(ordinal == 0 || !log.slabs_.empty());
  ar.Check((thread & ~kThreadBits) == 0);
  if (!log.slabs_.empty()) ar.Below(writer, ar.scope().writers->size());
  std::uint64_t id = name >> 32;
  ar.Below(id, ar.scope().names->size());
  name = id << 32;
  ar(span);
  ar.Check((span & ~kSpanBits) == 0);
}

template <typename Ar>
void RecordLog::Persist(Ar& ar, bool idle) {
  slabs_.Persist(ar, idle, Slabs::kPageBytes);
  end_.Persist(ar, *this);
  if constexpr (Ar::kReading) {
    suspect_ = &ar.scope();
    ar.Check(end_.ordinal <= slabs_.UsedBytes() / kRecordBytesMin);
  }
}
template void RecordLog::Persist(SnapshotWriter& ar, bool idle);
template void RecordLog::Persist(SnapshotReader& ar, bool idle);
template void Cursor::Persist(SnapshotWriter& ar, const RecordLog& log);
template void Cursor::Persist(SnapshotReader& ar, const RecordLog& log);

std::uint64_t RecordLog::NextEdition() {
  static std::atomic<std::uint64_t> next{0};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace headway::ledger
