#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "scenario.h"

namespace headway::scenario {

/// Reads the record lines of one scenario: `12..15 custom eval`, `@ attempt=1`, `journal a rank=0`.
class RecordLines {
 public:
  Status Read(int number, std::string_view line);
  /// Hands over the records in the ledger's order, and as an event file where that can say them.
  Status Finish(Scenario* scenario);

 private:
  /// `key=value` words of a line or of an `@` line before it.
  using Settings = std::map<std::string, std::string, std::less<>>;

  /// A record with what an event file says of it.
  struct Entry {
    Record record;
    std::string name;
    Settings settings;
    std::string attempt;                   // said, or found by AssignAttempts; may be empty
    std::int64_t order = 0;                // of its line, ties in time go by it
    std::optional<std::int64_t> begin_of;  // a span's end: the order of its begin (journals)
  };

  Status ReadRecord(std::vector<std::string> words, Settings settings);
  Status ReadSteps(std::int64_t time, const std::vector<std::string>& words,
                   const Settings& settings);
  Status ReadSpan(std::string_view range, const std::vector<std::string>& words,
                  const Settings& settings);
  Status ReadPoint(std::int64_t time, const std::vector<std::string>& words,
                   const Settings& settings);
  Status DeclareJournal(const std::vector<std::string>& words);
  Entry& Put(std::int64_t time, RecordType type, const Settings& settings);

  void AssignAttempts();
  Result<WriterId> WriterOf(const Entry& entry, RunRecords* run);
  std::string EventLine(const Entry& entry, const RunRecords& run) const;

  std::vector<Entry> entries_;
  Settings standing_;                       // of the last `@` line without a record
  std::map<std::string, Writer> journals_;  // declared, by name
  std::map<std::string, Liveness> liveness_;
  std::map<std::string, WriterId> writers_;  // by attempt and name
  std::optional<std::string> torn_;
  bool supervised_ = false;
  std::int64_t order_ = 0;
};

}  // namespace headway::scenario
