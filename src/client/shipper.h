#pragma once

#include <headway/v1/journal_service.pb.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "client/server_client.h"
#include "packing/slots.h"
#include "transfer/source.h"

namespace headway::client {

/// Shipper: brings the journals of this machine to a server, while they are written and after.
///
/// The server's answer says how much of a journal it keeps, durably; whatever it does not say is
/// sent again. What was not finished when it was read is sent as a hole, and again once it is
/// finished. One thread, which makes the next request while another of its own waits for the answer
/// to the last. Reads only; blocks on the disk and on the network.
class Shipper {
 public:
  /// `client` must outlive it.
  Shipper(transfer::Scope scope, ServerClient* client);
  ~Shipper();

  /// One round: looks for new journals and sends what is new. True: no writer of these journals is
  /// alive, and the server keeps all of them. After an error the next round goes on where the
  /// server is. What can't be read, or what the server refuses, holds up nothing else, and is tried
  /// again each round.
  Result<bool> Round();

  /// Why a journal could not be read or was refused by the server in the last round; OK: it took
  /// all.
  const Status& refusal() const { return refusal_; }

  /// Journals of which the server has all, for good, since the last call.
  std::vector<JournalUid> TakeComplete() { return std::exchange(complete_uids_, {}); }
  /// Journals of which it had not when it was asked first, since the last call.
  std::vector<JournalUid> TakeIncomplete() { return std::exchange(incomplete_uids_, {}); }

  std::uint64_t slots_sent() const { return slots_sent_; }
  /// Journals that were found, and that the server keeps, or will.
  std::size_t journals() const { return journals_.size() + complete_ - removed_.size(); }
  /// Copies and imports that were found and not sent, for no run was named.
  std::size_t left_out() const { return finder_.left_out(); }
  /// Of each of those of runs that were removed there for ever the run's name.
  const std::vector<std::string>& removed() const { return removed_; }

 private:
  struct Gap {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  struct Journal;
  struct Load;

  Load MakeLoad(const std::vector<Journal*>& left, bool alone);
  Result<bool> Send(const Load& load, std::optional<Load>* ready);

  transfer::SourceFinder finder_;
  ServerClient* client_;
  packing::SlotPacker packer_;
  std::vector<std::unique_ptr<Journal>> journals_;
  Status refusal_;
  std::vector<JournalUid> complete_uids_;
  std::vector<JournalUid> incomplete_uids_;
  std::size_t complete_ = 0;  // of those no longer among journals_
  std::vector<std::string> removed_;
  std::uint64_t slots_sent_ = 0;
};

}  // namespace headway::client
