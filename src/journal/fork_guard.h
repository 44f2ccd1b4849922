#pragma once

#include <cstddef>

/// What a forked child must not inherit from a journal's writer.
///
/// A child shares the parent's mappings and open files. Were it to write or to keep the parent's
/// lock, the journal would be damaged or look alive for ever. exec() is no concern: descriptors are
/// close-on-exec.

namespace headway::journal {

/// A page of zeros, private to this process, that a forked child finds zeroed again
/// (MADV_WIPEONFORK; where the kernel lacks it, a pthread_atfork handler wipes it). Null without
/// memory.
void* MakeForkWipedPage() noexcept;
void FreeForkWipedPage(void* page) noexcept;
inline constexpr std::size_t kForkWipedPageBytes = 4096;

/// Makes forked children close `fd` if it is the same file then. False when too many are kept
/// already.
bool CloseInChildren(int fd) noexcept;
/// Undoes CloseInChildren; call it before closing `fd`.
void KeepInChildren(int fd) noexcept;

}  // namespace headway::journal
