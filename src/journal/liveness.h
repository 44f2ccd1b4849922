#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/files.h"
#include "base/uid.h"
#include "journal/format.h"
#include "model/record.h"

/// Whether the process behind a journal still lives, and the facts about this machine by which one
/// tells.

namespace headway::journal {

/// Facts about this process and machine, as a header keeps them. Fields that can't be found stay 0.
struct ProcessFacts {
  std::string host;
  BootId boot_id;
  std::int64_t pid = 0;
  std::int64_t tid = 0;
  std::uint64_t pid_start = 0;
  std::uint64_t pid_namespace = 0;
};
ProcessFacts ReadProcessFacts();

/// Answers for the open journal `fd` with `header`:
/// * an import: kDead when it was told so, else kUnknown;
/// * another machine: kUnknown;
/// * this machine, booted since: kDead;
/// * this boot: kDead when its lock is free or its process is gone, else kAlive. For a copy of the
/// file the
///   lock says nothing; then only the process counts, and kUnknown when it can't be seen from here.
Liveness ProbeLiveness(int fd, const Header& header);

/// Opens the process that wrote `header` (pidfd_open(2)), to wait for its end. Invalid when it has
/// ended or can't be seen from here: it is on another machine, of another boot or in another
/// process namespace, or the kernel is too old.
UniqueFd OpenWriterProcess(const Header& header);

/// Takes the lock by which readers tell that a writer lives: an open-file-description lock on byte
/// 0 of the file behind `fd`, which need not be writable. The lock ends with the last reference to
/// that open file, so `fd` must not be mapped. False when the file system has no such locks or
/// someone else holds it.
bool LockJournal(int fd);

/// Whether a writer holds that lock on the file behind `fd`; nothing when that can't be told.
std::optional<bool> IsLocked(int fd);

}  // namespace headway::journal
