#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "journal/directory.h"
#include "transfer/journal_copy.h"
#include "transfer/source.h"

/// Carrier: brings journals that lie on this machine only because their directory is on a network
/// to that directory. Of one run, for as long as it takes; or of every run, what others have left.
///
/// Supervisors come last: of how an attempt ended nothing arrives before what was recorded until
/// then.
///
/// What has arrived is noted in `<dir>/delivered/<uid of the journal>`, and is not touched again: a
/// run that was deleted at its destination does not come back.

namespace headway::transfer {

/// Whether `file` has arrived where it was wanted, or was never wanted anywhere but where it is.
bool IsDelivered(const journal::JournalFile& file);

class Carrier {
 public:
  /// Without a run's uid in `scope` only journals whose writer is gone count.
  explicit Carrier(Scope scope) : scope_(scope), finder_(std::move(scope)) {}

  /// One round: looks for new journals and copies what is new. True: no writer is alive, and all is
  /// copied. An error is the first of the round; the others were tried all the same.
  Result<bool> Round();

 private:
  bool IsWanted(const Source& source) const;
  Status LookForJournals();
  Status NoteDelivered(const JournalUid& uid) const;
  void ForgetDeleted() const;

  Scope scope_;
  SourceFinder finder_;
  std::set<std::string> delivered_;
  std::vector<std::unique_ptr<JournalCopy>> copies_;
};

}  // namespace headway::transfer
