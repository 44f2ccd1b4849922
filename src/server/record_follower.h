#pragma once

#include <headway/v1/record_service.pb.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/uid.h"
#include "journal/reader.h"
#include "model/name_table.h"
#include "server/stored_journal.h"
#include "store/record_store.h"

namespace headway::server {

/// RecordFollower: goes through the journals of a run, again and again, and hands out what has come
/// since. One thread at a time.
///
/// Its token says all of what it has handed out, so that any other one goes on in its place; that
/// one reads again what this one had read.
class RecordFollower {
 public:
  /// `store` and the clock of `hearing` must outlive it.
  RecordFollower(store::RecordStore* store, const Hearing& hearing, const RunUid& run)
      : store_(store), hearing_(hearing), run_(run) {}

  /// Goes on where the one of that token was. InvalidArgument: it is no token. One of another run
  /// begins anew.
  Status GoTo(const std::string& token);
  const RunUid& run() const { return run_; }
  std::string token() const;

  /// Up to `count` records, packed or not. Errors as RecordStore.
  Status Fill(std::size_t count, bool packed, v1::ListRecordsResponse* page);
  /// Gives back what it need not hold until the next page.
  void Rest();

 private:
  // What is being read of a journal.
  struct Reading {
    NameTable names;  // outlives its reader
    std::unique_ptr<journal::JournalReader> reader;
    std::uint64_t dropped = 0;
  };
  // What has been told of a journal.
  struct Told {
    std::uint64_t seq = 0;    // of the record that comes next
    std::uint32_t clock = 0;  // how its times are read, see ClockMark
    Liveness liveness = Liveness::kUnknown;
    bool done = false;  // nothing more will come
    std::unique_ptr<Reading> reading;
  };

  Status Look(bool* anew);
  Status AddJournal(std::size_t* left, bool packed, v1::ListRecordsResponse* page);

  store::RecordStore* store_;
  Hearing hearing_;
  RunUid run_;
  std::map<JournalUid, Told> told_;
  bool anew_ = false;
  // A round through the journals, as they were when it began.
  bool in_round_ = false;
  std::vector<StoredJournal> journals_;
  std::size_t at_ = 0;
};

}  // namespace headway::server
