#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "store/store.h"

/// The Store in one SQLite database: nothing to set up and nothing to operate.
///
/// Beside the file lie `-wal` and `-shm`, which belong to it, and `.lock`, which one server holds.
/// Reading never waits for writing. Each Append is one transaction and waits for the disk once, so
/// that a few large ones are cheaper than many small ones.

namespace headway::store {

struct SqliteOptions {
  /// How many calls read at the same time; further ones wait for one of them. At least 1.
  std::size_t readers = 2;
  /// How long to wait for another program that has locked the database.
  int busy_timeout_ms = 10'000;
  /// What the database file may grow to (ResourceExhausted beyond it); 0: what the disk has.
  std::uint64_t size_limit_bytes = 0;
};

/// Opens the store in the file `path`, or makes it (mode 0600) in a directory that is there; one of
/// an older headway is brought up to date. The file itself may be no symbolic link.
///
/// FailedPrecondition: another server has it open (the message names the lock), or a newer headway
/// wrote it. InvalidArgument: it belongs to another program, and is left as it is. DataLoss: it is
/// no database, or damaged. PermissionDenied; NotFound: there is no such directory.
Result<std::unique_ptr<Store>> OpenSqliteStore(const std::string& path,
                                               const SqliteOptions& options);

/// Called now and then with the share of the work that is done, 0..1.
using ProgressFunction = std::function<void(double)>;

/// Reads the whole database, and unpacks all that is packed in it, to find out whether it is sound;
/// takes minutes for a large one. A server may have it open. DataLoss says what is damaged;
/// NotFound.
Status CheckSqliteStore(const std::string& path, const ProgressFunction& progress = {});

/// Copies the database, as it is at one instant, to `target`, which may not be there yet; a server
/// may have it open, and goes on writing meanwhile. Returns once the copy is durable, with its
/// bytes, and found sound; a call that fails or is killed leaves no `target` (but perhaps a file
/// beside it that ends in .part). AlreadyExists; NotFound; ResourceExhausted; DataLoss.
Result<std::uint64_t> BackUpSqliteStore(const std::string& path, const std::string& target,
                                        const ProgressFunction& progress = {});

}  // namespace headway::store
