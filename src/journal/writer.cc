#include "journal/writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/files.h"
#include "base/time_format.h"
#include "base/utf8.h"
#include "journal/fork_guard.h"
#include "journal/liveness.h"
#include "journal/name_map.h"
#include "journal/placement.h"

namespace headway::journal {
namespace {

constexpr std::uint64_t kFirstChunkBytes = 256 << 10;
constexpr std::uint64_t kLastChunkBytes = 16 << 20;
constexpr std::uint64_t kSliceBytes = 128 << 10;  // faulted in at a time
constexpr std::uint64_t kSliceSlots = kSliceBytes / kSlotBytes;
constexpr std::uint64_t kEssentialSlots = 16;       // kept back for essential records
constexpr std::uint64_t kMaintainBytes = 1 << 20;   // Maintain keeps so much ready
constexpr std::uint64_t kResidentBytes = 32 << 20;  // older parts leave this process's page tables
constexpr std::uint64_t kClosed = std::uint64_t{1} << 62;
constexpr std::uint64_t kNever = ~std::uint64_t{0};

int ReserveWithFallocate(int fd, std::uint64_t offset, std::uint64_t size) {
  // The system call, never posix_fallocate: its emulation writes byte by byte.
  for (int tries = 0; tries < 100; ++tries) {
    if (::fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(size)) == 0) return 0;
    if (errno != EINTR) return errno;
  }
  return EINTR;
}

// Makes pages present and writable without changing them; 0 or an errno value.
int FaultIn(std::byte* address, std::uint64_t size) {
#ifdef MADV_POPULATE_WRITE
  for (int tries = 0; tries < 100; ++tries) {
    if (::madvise(address, size, MADV_POPULATE_WRITE) == 0) return 0;
    if (errno == EINVAL) break;  // before Linux 5.14
    if (errno != EINTR && errno != EAGAIN) return errno;
  }
#endif
  // Nobody else writes here yet, so that storing a zero changes nothing.
  for (std::uint64_t at = 0; at < size; at += 4096) {
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(address + at))
        .store(0, std::memory_order_relaxed);
  }
  return 0;
}

// The 32 bytes of one payload slot.
Slot MakePayloadSlot(std::uint32_t salt, std::uint64_t index, std::string_view part) {
  unsigned char bytes[kSlotBytes] = {};
  bytes[4] = kPayloadType;
  std::memcpy(bytes + 5, part.data(), part.size());
  Slot slot;
  std::memcpy(&slot, bytes, sizeof slot);
  const auto high = static_cast<std::uint32_t>(slot.meta >> 32);
  slot.meta |= SlotCrc(salt, index, high, static_cast<std::uint64_t>(slot.time),
                       static_cast<std::uint64_t>(slot.a), static_cast<std::uint64_t>(slot.b));
  return slot;
}

Slot MakeSlot(std::uint32_t salt, std::uint64_t index, std::uint32_t meta_high, std::int64_t time,
              std::int64_t a, std::int64_t b) {
  const std::uint32_t crc = SlotCrc(salt, index, meta_high, static_cast<std::uint64_t>(time),
                                    static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b));
  return {std::uint64_t{meta_high} << 32 | crc, time, a, b};
}

void Store(Slot* to, const Slot& slot) {
  std::atomic_ref(to->time).store(slot.time, std::memory_order_relaxed);
  std::atomic_ref(to->a).store(slot.a, std::memory_order_relaxed);
  std::atomic_ref(to->b).store(slot.b, std::memory_order_relaxed);
  std::atomic_ref(to->meta).store(slot.meta, std::memory_order_release);
}

bool IsLackOfSpace(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

std::string FileName(const Header& header, WallNs now) {
  std::string who = header.rank >= 0 ? "r" + std::to_string(header.rank) : "u";
  if (header.origin == Origin::kSupervisor) who = "s";
  if (header.origin == Origin::kImport) who = "i";
  return FormatCompactTime(now) + "-" + who + "-" + ToHex(header.uid) + std::string(kFileSuffix);
}

}  // namespace

struct JournalWriter::Impl {
  // Indices below may be claimed by any record.
  static std::uint64_t Limit(const HotState* hot) noexcept {
    const std::uint64_t hard = hot->hard_limit.load(std::memory_order_acquire);
    return hard == 0 ? 0 : hard - kEssentialSlots;
  }
  // As Publish, for paths that need not be fast.
  static void StoreRecord(HotState* hot, std::uint64_t index, std::uint32_t meta_high, MonoNs time,
                          std::int64_t a, std::int64_t b) noexcept {
    Store(reinterpret_cast<Slot*>(hot->slots) + index,
          MakeSlot(hot->salt, index, meta_high, time.ns, a, b));
  }

  // As `reserve`, but within what this process may write: 0 or an errno value.
  int Reserve(std::uint64_t offset, std::uint64_t size) const {
    return MayGrowTo(offset + size) ? reserve(fd, offset, size) : EFBIG;
  }

  // Identity of the file: user code that closes all descriptors must not make us write to another
  // file.
  bool IsOurs(int candidate) const {
    struct stat info;
    return candidate >= 0 && ::fstat(candidate, &info) == 0 &&
           static_cast<std::uint64_t>(info.st_dev) == device &&
           static_cast<std::uint64_t>(info.st_ino) == inode;
  }

  // Opens the journal's file anew; -1 when the name leads elsewhere now.
  int Reopen(const std::string& path, int access) const {
    UniqueFd again = OpenFile(path, access | O_NOFOLLOW | O_NONBLOCK);
    return IsOurs(again.get()) ? again.Release() : -1;
  }

  // Opens anew what someone who closes all descriptors has closed. A number that is not ours any
  // more belongs to someone else: it is not ours to close. False without a file to write to. Under
  // the mutex.
  bool ReopenLost(const std::string& path) {
    // Both looked at before either is opened: one may get the other's number.
    const bool file_lost = !IsOurs(fd);
    const bool lock_lost = locked && !IsOurs(lock_fd);
    if (file_lost) fd = Reopen(path, O_RDWR);
    if (lock_lost) {
      // Without the lock this writer would look dead.
      KeepInChildren(lock_fd);
      lock_fd = Reopen(path, O_RDONLY);
      if (lock_fd >= 0 && LockJournal(lock_fd)) CloseInChildren(lock_fd);
    }
    return fd >= 0;
  }

  std::mutex mutex;  // growing, interning, finishing
  std::atomic<int> fd{-1};
  int lock_fd = -1;
  bool locked = false;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t max_bytes = 0;
  std::int64_t retry_ns = 0;
  std::function<int(int, std::uint64_t, std::uint64_t)> reserve;

  std::byte* base = nullptr;         // address space for the whole file, mapped as it grows
  std::uint64_t space_bytes = 0;     // size of that address space
  std::uint64_t reserved_bytes = 0;  // file space reserved and mapped
  std::uint64_t ready_bytes = 0;     // of it, faulted in
  std::uint64_t released_bytes = 0;  // of it, given back to the kernel's page cache
  std::uint64_t chunk_bytes = kFirstChunkBytes;
  std::atomic<bool> finished{false};
  std::atomic<std::int64_t> retry_at{kNoTime};  // MonoNs before which no space is asked for again

  std::atomic<std::uint64_t> pending_drops{0};         // not told by a kDropped record yet
  std::atomic<std::int64_t> pending_since{0};          // MonoNs of the first of them
  std::atomic<std::uint64_t>* live_dropped = nullptr;  // in the mapped header

  NameMap names;
  std::atomic<std::uint32_t> next_name{1};  // written under the mutex

  // Whether it is time to ask for space (again). By the clock, not by the records: importers stamp
  // those.
  bool MayAsk(const JournalWriter* writer) const noexcept {
    const std::int64_t at = retry_at.load(std::memory_order_relaxed);
    return at == kNoTime || writer->Now().ns >= at;
  }
  void AskLater(const JournalWriter* writer) noexcept {
    retry_at.store(writer->Now().ns + retry_ns, std::memory_order_relaxed);
  }

  int ReserveTo(const std::string& path, std::uint64_t bytes);
  int ReadyTo(HotState* hot, const std::string& path, std::uint64_t bytes);
  void CountDrop(JournalWriter* writer, std::uint64_t count, MonoNs time) noexcept;
  // For a record that comes after Finish: counted, but no longer told in the file.
  static std::int64_t TooLate(JournalWriter* writer) noexcept {
    writer->CountUnkept();
    return kNotKept;
  }
  void TellDrops(JournalWriter* writer) noexcept;
  std::int64_t WriteSlots(JournalWriter* writer, const Slot* slots, std::uint64_t count,
                          std::uint64_t index, MonoNs time) noexcept;
  std::int64_t AppendByWrite(JournalWriter* writer, std::uint32_t meta_high, MonoNs time,
                             std::int64_t a, std::int64_t b) noexcept;
  std::int64_t AppendChain(JournalWriter* writer, std::uint8_t type, std::uint32_t name,
                           MonoNs time, std::string_view payload) noexcept;
};

// Reserves and maps at least up to `bytes`. 0 or an errno value. Under the mutex.
int JournalWriter::Impl::ReserveTo(const std::string& path, std::uint64_t bytes) {
  if (bytes > space_bytes || bytes > max_bytes) return EFBIG;
  if (!ReopenLost(path)) return EBADF;
  while (reserved_bytes < bytes) {
    std::uint64_t size =
        std::min({chunk_bytes, space_bytes - reserved_bytes, max_bytes - reserved_bytes});
    int error = 0;
    // A nearly full disk may still hold a smaller piece.
    while ((error = Reserve(reserved_bytes, size)) != 0) {
      if (!IsLackOfSpace(error) || size <= kSliceBytes) return error;
      size /= 2;
    }
    void* const at = ::mmap(base + reserved_bytes, size, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_FIXED, fd, static_cast<off_t>(reserved_bytes));
    if (at == MAP_FAILED) return errno;
    reserved_bytes += size;
    // "256 KiB first, doubling": each chunk is as large as everything before it.
    if (size == chunk_bytes) chunk_bytes = std::min(reserved_bytes, kLastChunkBytes);
    if (reserved_bytes > kResidentBytes + released_bytes + kLastChunkBytes) {
      // Written long ago; a thread that still writes there merely faults the page in again.
      const std::uint64_t keep = reserved_bytes - kResidentBytes;
      ::madvise(base + released_bytes, keep - released_bytes, MADV_DONTNEED);
      released_bytes = keep;
    }
  }
  return 0;
}

// Makes everything up to `bytes` writable without a fault. 0 or an errno value. Under the mutex.
int JournalWriter::Impl::ReadyTo(HotState* hot, const std::string& path, std::uint64_t bytes) {
  bytes = (bytes + kSliceBytes - 1) / kSliceBytes * kSliceBytes;
  if (bytes > std::min(space_bytes, max_bytes)) bytes = std::min(space_bytes, max_bytes);
  if (bytes <= ready_bytes) return EFBIG;
  if (bytes > reserved_bytes) {
    if (const int error = ReserveTo(path, bytes); error != 0) {
      if (reserved_bytes <= ready_bytes) return error;
      bytes = reserved_bytes;  // a part is better than nothing
    }
  }
  if (const int error = FaultIn(base + ready_bytes, bytes - ready_bytes); error != 0) return error;
  ready_bytes = bytes;
  const std::uint64_t slots = (bytes - kHeaderBytes) / kSlotBytes;
  hot->hard_limit.store(slots, std::memory_order_release);
  const bool fast = crc32c_internal::has_instruction;
  hot->limit.store(fast ? slots - kEssentialSlots : 0, std::memory_order_release);
  hot->grow_at.store(slots - kEssentialSlots - kSliceSlots, std::memory_order_relaxed);
  return 0;
}

// Any thread, also a signal handler.
void JournalWriter::Impl::CountDrop(JournalWriter* writer, std::uint64_t count,
                                    MonoNs time) noexcept {
  const std::uint64_t before = writer->dropped_.fetch_add(count, std::memory_order_relaxed);
  if (pending_drops.fetch_add(count, std::memory_order_relaxed) == 0) {
    pending_since.store(time.ns, std::memory_order_relaxed);
  }
  // The header has room for it even when nothing else has.
  if (base != nullptr) {
    auto* const live = reinterpret_cast<std::uint64_t*>(base + kLiveDroppedOffset);
    auto* const first = reinterpret_cast<std::int64_t*>(base + kLiveFirstDropOffset);
    auto* const last = reinterpret_cast<std::int64_t*>(base + kLiveLastDropOffset);
    if (before == 0) std::atomic_ref(*first).store(time.ns, std::memory_order_relaxed);
    std::atomic_ref(*last).store(time.ns, std::memory_order_relaxed);
    std::atomic_ref(*live).fetch_add(count, std::memory_order_relaxed);
  } else if (MayGrowTo(kHeaderBytes) && IsOurs(fd)) {
    std::uint64_t live[3] = {before + count, static_cast<std::uint64_t>(time.ns),
                             static_cast<std::uint64_t>(time.ns)};
    if (before == 0) {
      (void)!::pwrite(fd, live, sizeof live, kLiveDroppedOffset);
    } else {
      (void)!::pwrite(fd, live, sizeof live[0], kLiveDroppedOffset);
      (void)!::pwrite(fd, live + 2, sizeof live[2], kLiveLastDropOffset);
    }
  }
}

// Puts what was dropped on record, now that there is space again (or the journal ends).
void JournalWriter::Impl::TellDrops(JournalWriter* writer) noexcept {
  const std::uint64_t count = pending_drops.load(std::memory_order_relaxed);
  if (count == 0) return;
  const std::int64_t since = pending_since.load(std::memory_order_relaxed);
  pending_drops.fetch_sub(count, std::memory_order_relaxed);
  if (writer->AppendEssential(MetaHigh(RecordType::kDropped, 0), writer->Now(),
                              static_cast<std::int64_t>(count), since) == kNotKept) {
    pending_since.store(since, std::memory_order_relaxed);
    pending_drops.fetch_add(count, std::memory_order_relaxed);
  }
}

// Writes `count` slots at `index`; returns `index` or kNotKept. Any thread, also a signal handler.
std::int64_t JournalWriter::Impl::WriteSlots(JournalWriter* writer, const Slot* slots,
                                             std::uint64_t count, std::uint64_t index,
                                             MonoNs time) noexcept {
  const auto* data = reinterpret_cast<const char*>(slots);
  std::uint64_t left = count * kSlotBytes;
  std::uint64_t offset = SlotOffset(index);
  bool failed = offset + left > max_bytes || !MayGrowTo(offset + left) || !IsOurs(fd);
  while (!failed && left > 0) {
    const ssize_t wrote = ::pwrite(fd, data, left, static_cast<off_t>(offset));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      failed = true;
      break;
    }
    data += wrote;
    left -= static_cast<std::uint64_t>(wrote);
    offset += static_cast<std::uint64_t>(wrote);
  }
  if (!failed) return static_cast<std::int64_t>(index);
  AskLater(writer);
  // Give the slots back unless someone has claimed later ones, so that a full disk leaves no gap.
  std::uint64_t end = index + count;
  writer->hot_->next.compare_exchange_strong(end, index, std::memory_order_relaxed);
  CountDrop(writer, 1, time);
  return kNotKept;
}

std::int64_t JournalWriter::Impl::AppendByWrite(JournalWriter* writer, std::uint32_t meta_high,
                                                MonoNs time, std::int64_t a,
                                                std::int64_t b) noexcept {
  if (!MayAsk(writer)) {
    CountDrop(writer, 1, time);
    return kNotKept;
  }
  const std::uint64_t index = writer->hot_->next.fetch_add(1, std::memory_order_relaxed);
  if (index >= kClosed) return TooLate(writer);
  const Slot slot = MakeSlot(writer->hot_->salt, index, meta_high, time.ns, a, b);
  const std::int64_t seq = WriteSlots(writer, &slot, 1, index, time);
  if (seq != kNotKept && pending_drops.load(std::memory_order_relaxed) != 0 &&
      (meta_high & 0xff) != static_cast<std::uint32_t>(RecordType::kDropped)) {
    TellDrops(writer);
  }
  return seq;
}

// Head and payload in neighbouring slots; the head is published last, so that it vouches for the
// rest.
std::int64_t JournalWriter::Impl::AppendChain(JournalWriter* writer, std::uint8_t type,
                                              std::uint32_t name, MonoNs time,
                                              std::string_view payload) noexcept {
  HotState* const hot = writer->hot_;
  const std::uint64_t count = 1 + PayloadSlots(payload.size());
  const std::uint32_t high = NamedMetaHigh(type, name);
  const auto size = static_cast<std::int64_t>(payload.size());
  const std::int64_t crc = Crc32c(payload.data(), payload.size());
  const auto part = [payload](std::uint64_t i) {
    return payload.substr(i * kPayloadSlotBytes, kPayloadSlotBytes);
  };

  if (!writer->header_.mapped) {
    if (!MayAsk(writer)) {
      CountDrop(writer, 1, time);
      return kNotKept;
    }
    const std::uint64_t index = hot->next.fetch_add(count, std::memory_order_relaxed);
    if (index >= kClosed) return kNotKept;
    // In pieces, back to front: the head goes last here too.
    constexpr std::uint64_t kPiece = 128;
    Slot piece[kPiece];
    for (std::uint64_t end = count; end > 0;) {
      const std::uint64_t begin = (end - 1) / kPiece * kPiece;
      for (std::uint64_t i = begin; i < end; ++i) {
        piece[i - begin] = i == 0 ? MakeSlot(hot->salt, index, high, time.ns, size, crc)
                                  : MakePayloadSlot(hot->salt, index + i, part(i - 1));
      }
      if (WriteSlots(writer, piece, end - begin, index + begin, time) == kNotKept) return kNotKept;
      end = begin;
    }
    return static_cast<std::int64_t>(index);
  }

  std::uint64_t index = hot->next.load(std::memory_order_relaxed);
  while (true) {
    if (finished.load(std::memory_order_relaxed)) return kNotKept;
    const std::uint64_t end = index + count;
    if (end > Limit(hot)) {
      bool grown = false;
      if (MayAsk(writer)) {
        const std::uint64_t bytes = SlotOffset(end + kEssentialSlots + kSliceSlots);
        grown = ReadyTo(hot, writer->path_, bytes) == 0 && end <= Limit(hot);
        if (!grown) AskLater(writer);
      }
      if (!grown) {
        CountDrop(writer, 1, time);
        return kNotKept;
      }
      TellDrops(writer);
      index = hot->next.load(std::memory_order_relaxed);
      continue;
    }
    if (hot->next.compare_exchange_weak(index, end, std::memory_order_relaxed)) break;
  }
  auto* const slots = reinterpret_cast<Slot*>(hot->slots);
  for (std::uint64_t i = 1; i < count; ++i) {
    Store(slots + index + i, MakePayloadSlot(hot->salt, index + i, part(i - 1)));
  }
  Store(slots + index, MakeSlot(hot->salt, index, high, time.ns, size, crc));
  return static_cast<std::int64_t>(index);
}

JournalWriter::JournalWriter() : impl_(std::make_unique<Impl>()) {}

Result<std::unique_ptr<JournalWriter>> JournalWriter::Create(const std::string& directory,
                                                             const WriterOptions& options) {
  std::unique_ptr<JournalWriter> writer(new JournalWriter());
  Impl& impl = *writer->impl_;
  writer->clock_ = options.clock;
  const Clock& clock =
      options.clock != nullptr ? *options.clock : static_cast<const Clock&>(SystemClock::Get());
  impl.max_bytes = std::max(options.max_bytes, kFirstChunkBytes);
  impl.retry_ns = options.retry_ns;
  impl.reserve = options.reserve ? options.reserve : ReserveWithFallocate;

  void* const page = MakeForkWipedPage();
  if (page == nullptr) return ErrnoStatus(ENOMEM, "prepare", directory);
  writer->hot_ = new (page) HotState();
  HotState* const hot = writer->hot_;

  Header& header = writer->header_;
  header = options.header;
  if (header.uid.IsNil()) header.uid = RandomUid<JournalUid>();
  if (header.origin != Origin::kImport) {
    const ProcessFacts facts = ReadProcessFacts();
    header.pid = facts.pid;
    header.tid = facts.tid;
    header.pid_start = facts.pid_start;
    header.pid_namespace = facts.pid_namespace;
    header.boot_id = facts.boot_id;
    if (header.host.empty()) header.host = facts.host;
    header.anchor = TakeAnchor(clock);
  }
  header.mapped =
      options.mode == WriterOptions::Mode::kMapped ||
      (options.mode == WriterOptions::Mode::kAuto && ExaminePlace(directory) == Placement::kMapped);

  writer->path_ = JoinPath(directory, FileName(header, clock.Wall()));
  const std::string temporary = JoinPath(directory, "." + ToHex(header.uid) + ".tmp");
  const int fd = OpenFile(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600).Release();
  if (fd < 0) return ErrnoStatus(errno, "create", temporary);
  impl.fd = fd;
  const auto fail = [&temporary](int error, std::string_view what) {
    ::unlink(temporary.c_str());
    return ErrnoStatus(error, what, temporary);
  };
  struct stat info;
  if (::fstat(fd, &info) != 0) return fail(errno, "examine");
  header.device = impl.device = static_cast<std::uint64_t>(info.st_dev);
  header.inode = impl.inode = static_cast<std::uint64_t>(info.st_ino);

  // The lock sits on an open file of its own: a mapping would hold on to it, also in a child.
  header.locked = false;
  if (options.lock) {
    impl.lock_fd = OpenFile(temporary, O_RDONLY | O_NOFOLLOW).Release();
    header.locked = impl.lock_fd >= 0 && LockJournal(impl.lock_fd);
    if (header.locked) CloseInChildren(impl.lock_fd);
    impl.locked = header.locked;
  }

  hot->salt = SaltOf(header.uid);
  hot->owner = 1;
  if (header.mapped) {
    const int error = impl.Reserve(0, kFirstChunkBytes);
    const bool unsupported = error == EOPNOTSUPP || error == ENOSYS || error == EINVAL;
    if (error != 0 && !(unsupported && options.mode == WriterOptions::Mode::kAuto)) {
      return fail(error, "reserve space for");
    }
    if (error != 0) header.mapped = false;
  }
  if (header.mapped) {
    // Address space only; it costs nothing until it is mapped. Less of it where a limit is set.
    impl.space_bytes = impl.max_bytes;
    void* space = MAP_FAILED;
    while ((space = ::mmap(nullptr, impl.space_bytes, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) == MAP_FAILED) {
      impl.space_bytes = impl.space_bytes / 2 / kSliceBytes * kSliceBytes;
      if (impl.space_bytes < kFirstChunkBytes) return fail(ENOMEM, "find address space for");
    }
    impl.base = static_cast<std::byte*>(space);
    if (::mmap(space, kFirstChunkBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
        MAP_FAILED) {
      return fail(errno, "map");
    }
    impl.reserved_bytes = kFirstChunkBytes;
    hot->slots = impl.base + kHeaderBytes;
  }
  if (!MayGrowTo(kHeaderBytes)) return fail(EFBIG, "write the header of");
  const std::array<std::byte, kHeaderBytes> bytes = EncodeHeader(header);
  if (::pwrite(fd, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return fail(errno == 0 ? ENOSPC : errno, "write the header of");
  }
  if (header.mapped) {
    if (const int error = impl.ReadyTo(hot, temporary, kFirstChunkBytes); error != 0) {
      return fail(error, "prepare");
    }
  }
  if (::rename(temporary.c_str(), writer->path_.c_str()) != 0) return fail(errno, "name");
  return writer;
}

JournalWriter::~JournalWriter() {
  if (hot_ == nullptr) return;
  // In a forked child the file is the parent's: only the child's own memory goes.
  if (owned()) {
    Finish();
    if (impl_->IsOurs(impl_->fd)) ::close(impl_->fd);
  }
  if (impl_->base != nullptr) ::munmap(impl_->base, impl_->space_bytes);
  FreeForkWipedPage(hot_);
}

std::uint64_t JournalWriter::next_seq() const noexcept {
  return hot_->next.load(std::memory_order_relaxed);
}

std::int64_t JournalWriter::AppendSlow(std::uint32_t meta_high, MonoNs time, std::int64_t a,
                                       std::int64_t b) noexcept {
  HotState* const hot = hot_;
  if (!owned()) return kNotKept;
  if (impl_->finished.load(std::memory_order_relaxed)) return impl_->TooLate(this);
  if (!header_.mapped) return impl_->AppendByWrite(this, meta_high, time, a, b);
  // Others may use up new space before this thread claims its slot; a few tries, for calls are
  // bounded.
  for (int tries = 0; tries < 16; ++tries) {
    {
      const std::lock_guard lock(impl_->mutex);
      if (impl_->finished.load(std::memory_order_relaxed)) return impl_->TooLate(this);
      if (hot->next.load(std::memory_order_relaxed) >= Impl::Limit(hot)) {
        if (!impl_->MayAsk(this)) break;
        if (impl_->ReadyTo(hot, path_, impl_->ready_bytes + 2 * kSliceBytes) != 0) {
          impl_->AskLater(this);
          break;
        }
      }
      impl_->TellDrops(this);
    }
    std::uint64_t index = hot->next.load(std::memory_order_relaxed);
    while (index < Impl::Limit(hot)) {
      if (hot->next.compare_exchange_weak(index, index + 1, std::memory_order_relaxed)) {
        Impl::StoreRecord(hot, index, meta_high, time, a, b);
        return static_cast<std::int64_t>(index);
      }
    }
  }
  impl_->CountDrop(this, 1, time);
  return kNotKept;
}

std::int64_t JournalWriter::AppendEssential(std::uint32_t meta_high, MonoNs time, std::int64_t a,
                                            std::int64_t b) noexcept {
  HotState* const hot = hot_;
  if (!owned()) return kNotKept;
  if (impl_->finished.load(std::memory_order_relaxed)) return impl_->TooLate(this);
  if (!header_.mapped) return impl_->AppendByWrite(this, meta_high, time, a, b);
  std::uint64_t index = hot->next.load(std::memory_order_relaxed);
  while (index < hot->hard_limit.load(std::memory_order_acquire)) {
    if (hot->next.compare_exchange_weak(index, index + 1, std::memory_order_relaxed)) {
      Impl::StoreRecord(hot, index, meta_high, time, a, b);
      return static_cast<std::int64_t>(index);
    }
  }
  // A kDropped record that finds no room is no loss of its own.
  if ((meta_high & 0xff) != static_cast<std::uint32_t>(RecordType::kDropped)) {
    impl_->CountDrop(this, 1, time);
  }
  return kNotKept;
}

std::int64_t JournalWriter::GrowAhead(std::uint64_t index) noexcept {
  const auto seq = static_cast<std::int64_t>(index);
  const std::unique_lock lock(impl_->mutex, std::try_to_lock);
  if (!lock.owns_lock() || impl_->finished.load(std::memory_order_relaxed)) return seq;
  HotState* const hot = hot_;
  if (hot->next.load(std::memory_order_relaxed) < hot->grow_at.load(std::memory_order_relaxed)) {
    return seq;  // another thread has done it meanwhile
  }
  if (impl_->ReadyTo(hot, path_, impl_->ready_bytes + kSliceBytes) != 0) {
    // Once is enough: the thread that finds no slot any more tries again.
    hot->grow_at.store(kNever, std::memory_order_relaxed);
  }
  return seq;
}

void JournalWriter::Maintain() noexcept {
  if (!owned()) return;
  const std::lock_guard lock(impl_->mutex);
  if (impl_->finished.load(std::memory_order_relaxed)) return;
  impl_->ReopenLost(path_);
  if (!header_.mapped) return;
  const std::uint64_t used = SlotOffset(hot_->next.load(std::memory_order_relaxed));
  if (used + kMaintainBytes / 2 < impl_->ready_bytes) return;
  if (!impl_->MayAsk(this)) return;
  if (impl_->ReadyTo(hot_, path_, used + kMaintainBytes) != 0) {
    impl_->AskLater(this);
    return;
  }
  impl_->TellDrops(this);
}

void JournalWriter::Finish() noexcept {
  if (!owned()) return;
  const std::lock_guard lock(impl_->mutex);
  if (impl_->finished.load(std::memory_order_relaxed)) return;
  impl_->TellDrops(this);
  impl_->finished.store(true, std::memory_order_relaxed);
  hot_->limit.store(0, std::memory_order_relaxed);
  hot_->hard_limit.store(0, std::memory_order_relaxed);
  // From here on no slot can be claimed: every claim expects a smaller number.
  const std::uint64_t end = hot_->next.exchange(kClosed, std::memory_order_acq_rel);
  // Slots claimed before lie below the new end, so that even a late thread writes inside the file.
  struct stat info;
  const auto end_bytes = static_cast<off_t>(SlotOffset(end));
  if (impl_->IsOurs(impl_->fd) && ::fstat(impl_->fd, &info) == 0 && info.st_size > end_bytes) {
    (void)!::ftruncate(impl_->fd, end_bytes);
  }
  if (impl_->lock_fd >= 0) {
    KeepInChildren(impl_->lock_fd);
    if (impl_->IsOurs(impl_->lock_fd)) ::close(impl_->lock_fd);
    impl_->lock_fd = -1;
  }
}

std::uint32_t JournalWriter::Intern(std::string_view name) noexcept {
  name = TruncateUtf8(name, limits::kNameBytes);
  if (name.empty()) return 0;
  if (const std::uint32_t id = impl_->names.Find(name); id != NameMap::kMissing) return id;
  if (!owned()) return 0;
  const std::lock_guard lock(impl_->mutex);
  if (const std::uint32_t id = impl_->names.Find(name); id != NameMap::kMissing) return id;
  const std::uint32_t id = impl_->next_name.load(std::memory_order_relaxed);
  if (id > limits::kJournalNames) return 0;
  if (impl_->AppendChain(this, kNameType, id, Now(), name) == kNotKept) return 0;
  impl_->next_name.store(id + 1, std::memory_order_relaxed);
  try {
    impl_->names.Insert(name, id);
  } catch (...) {
    // Without memory the name gets another id the next time; both stand for the same text.
  }
  return id;
}

bool JournalWriter::Knows(std::uint32_t name) const noexcept {
  return name < impl_->next_name.load(std::memory_order_relaxed);
}

std::int64_t JournalWriter::AppendPayload(RecordType type, std::uint32_t name, MonoNs time,
                                          std::string_view payload) noexcept {
  if (!owned()) return kNotKept;
  if (payload.size() > limits::kPayloadBytes) {
    if (impl_->finished.load(std::memory_order_relaxed)) return impl_->TooLate(this);
    impl_->CountDrop(this, 1, time);
    return kNotKept;
  }
  const std::lock_guard lock(impl_->mutex);
  if (impl_->finished.load(std::memory_order_relaxed)) return impl_->TooLate(this);
  return impl_->AppendChain(this, static_cast<std::uint8_t>(type), name, time, payload);
}

std::int64_t JournalWriter::AppendRecord(const Record& record, std::string_view name) noexcept {
  const MonoNs time = ToMono(WallNs{record.time_ns});
  switch (record.type) {
    case RecordType::kNone:
    case RecordType::kConfig:
    case RecordType::kStderrTail: return kNotKept;
    case RecordType::kSpanBegin:
      return Append(MetaHigh(record.type, record.span, record.blocking, record.thread), time,
                    record.a, Intern(name));
    case RecordType::kSpanEnd:
      return Append(MetaHigh(record.type, record.span, record.blocking, record.thread), time,
                    record.a, PackSpanEnd(record.b, Intern(name)));
    case RecordType::kExclude:
    case RecordType::kNote:
    case RecordType::kMetric:
      return Append(NamedMetaHigh(static_cast<std::uint8_t>(record.type), Intern(name)), time,
                    record.a, record.b);
    case RecordType::kDropped:  // its b is a time
      return Append(MetaHigh(record.type, record.thread), time, record.a,
                    record.b == kNoTime ? kNoTime : ToMono(WallNs{record.b}).ns);
    default: return Append(MetaHigh(record.type, record.thread), time, record.a, record.b);
  }
}

}  // namespace headway::journal
