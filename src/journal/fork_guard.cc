#include "journal/fork_guard.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>

#include "base/limits.h"

namespace headway::journal {
namespace {

// Fixed arrays, for the handler runs in a child in which a lock may be held for ever.
constexpr std::size_t kEntries = limits::kOpenRecorders + 64;
struct Descriptor {
  std::atomic<int> number{0};  // 0: free; -1: being filled in; n + 1: descriptor n
  std::atomic<dev_t> device{0};
  std::atomic<ino_t> inode{0};
};
std::array<Descriptor, kEntries> descriptors{};
std::array<std::atomic<void*>, kEntries> pages{};

void InChild() {
  for (std::atomic<void*>& entry : pages) {
    if (void* const page = entry.load(std::memory_order_relaxed); page != nullptr) {
      std::memset(page, 0, kForkWipedPageBytes);
    }
  }
  for (Descriptor& entry : descriptors) {
    const int value = entry.number.exchange(0, std::memory_order_relaxed);
    struct stat info;
    if (value <= 0 || ::fstat(value - 1, &info) != 0) continue;
    // The program may have closed it, and opened a file of its own that got the number.
    if (info.st_dev == entry.device.load(std::memory_order_relaxed) &&
        info.st_ino == entry.inode.load(std::memory_order_relaxed)) {
      ::close(value - 1);
    }
  }
}

bool Register() {
  static const bool registered = ::pthread_atfork(nullptr, nullptr, InChild) == 0;
  return registered;
}

bool ReplacePage(void* from, void* to) {
  for (std::atomic<void*>& entry : pages) {
    void* expected = from;
    if (entry.compare_exchange_strong(expected, to, std::memory_order_relaxed)) return true;
  }
  return false;
}

}  // namespace

void* MakeForkWipedPage() noexcept {
  void* const page = ::mmap(nullptr, kForkWipedPageBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
#ifdef MADV_WIPEONFORK
  if (::madvise(page, kForkWipedPageBytes, MADV_WIPEONFORK) == 0) return page;
#endif
  if (Register() && ReplacePage(nullptr, page)) return page;
  ::munmap(page, kForkWipedPageBytes);
  return nullptr;
}

void FreeForkWipedPage(void* page) noexcept {
  if (page == nullptr) return;
  ReplacePage(page, nullptr);
  ::munmap(page, kForkWipedPageBytes);
}

bool CloseInChildren(int fd) noexcept {
  struct stat info;
  if (!Register() || ::fstat(fd, &info) != 0) return false;
  for (Descriptor& entry : descriptors) {
    int expected = 0;
    if (!entry.number.compare_exchange_strong(expected, -1, std::memory_order_relaxed)) continue;
    entry.device.store(info.st_dev, std::memory_order_relaxed);
    entry.inode.store(info.st_ino, std::memory_order_relaxed);
    entry.number.store(fd + 1, std::memory_order_relaxed);
    return true;
  }
  return false;
}

void KeepInChildren(int fd) noexcept {
  for (Descriptor& entry : descriptors) {
    int expected = fd + 1;
    if (entry.number.compare_exchange_strong(expected, 0, std::memory_order_relaxed)) return;
  }
}

}  // namespace headway::journal
