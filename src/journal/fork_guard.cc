#include "journal/fork_guard.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>

#include "base/limits.h"

namespace headway::journal {
namespace {

// Fixed arrays, for the handler runs in a child in which a lock may be held for ever.
constexpr std::size_t kEntries = limits::kOpenRecorders + 64;
std::array<std::atomic<int>, kEntries> descriptors{};  // 0: free; n + 1: descriptor n
std::array<std::atomic<void*>, kEntries> pages{};

void InChild() {
  for (std::atomic<void*>& entry : pages) {
    if (void* const page = entry.load(std::memory_order_relaxed); page != nullptr) {
      std::memset(page, 0, kForkWipedPageBytes);
    }
  }
  for (std::atomic<int>& entry : descriptors) {
    const int value = entry.exchange(0, std::memory_order_relaxed);
    if (value > 0) ::close(value - 1);
  }
}

bool Register() {
  static const bool registered = ::pthread_atfork(nullptr, nullptr, InChild) == 0;
  return registered;
}

template <typename T>
bool Replace(std::array<std::atomic<T>, kEntries>* entries, T from, T to) {
  for (std::atomic<T>& entry : *entries) {
    T expected = from;
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
  if (Register() && Replace<void*>(&pages, nullptr, page)) return page;
  ::munmap(page, kForkWipedPageBytes);
  return nullptr;
}

void FreeForkWipedPage(void* page) noexcept {
  if (page == nullptr) return;
  Replace<void*>(&pages, page, nullptr);
  ::munmap(page, kForkWipedPageBytes);
}

bool CloseInChildren(int fd) noexcept { return Register() && Replace(&descriptors, 0, fd + 1); }

void KeepInChildren(int fd) noexcept { Replace(&descriptors, fd + 1, 0); }

}  // namespace headway::journal
