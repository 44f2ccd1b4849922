#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ledger/ledger.h"
#include "model/run_records.h"

/// Scenario: records in, ledger out, in a few readable lines. README.md describes the format.
///
/// Pure values; a scenario knows nothing about how it is run.

namespace headway::scenario {

/// One thing that must hold, e.g. `productive 60`.
struct Fact {
  int line = 0;
  std::vector<std::string> words;
};

/// One question put to the ledger, and everything that must hold for the answer.
struct Look {
  int line = 0;
  std::string label;  // "as_of 62"; empty: the plain report
  ledger::Query query;
  std::vector<Fact> facts;

  bool IsWindow() const { return query.window.has_value(); }
};

struct Scenario {
  std::string file;  // without folder and ".txt"
  std::string title;
  std::string why;
  std::string text;  // as written
  int line = 0;      // of the title

  RunRecords run;  // in the order of the ledger
  bool supervised = false;
  /// The same as an event file; empty when journals or supervisors take part, which it cannot say.
  std::string events;

  std::vector<Look> looks;  // the plain report first

  /// "restarts_crash_with_rollback": file and title as one identifier.
  std::string Name() const;
};

/// Seconds as decimals, exactly, to nanoseconds.
Result<std::int64_t> ParseDecimal(std::string_view text);
/// Words between blanks.
std::vector<std::string> SplitWords(std::string_view text);
/// "12..15" to its two times; the second is kNoTime where nothing stands.
Result<std::pair<std::int64_t, std::int64_t>> ParseRange(std::string_view text);

/// All scenarios of one file; `file` names it in messages, which begin with "file:line: ".
Result<std::vector<Scenario>> ParseScenarios(std::string_view file, std::string_view text);

/// All scenarios of the folder HEADWAY_SCENARIOS, by default tests/scenario of the repository,
/// which then has to be the working directory.
Result<std::vector<Scenario>> LoadScenarios();

}  // namespace headway::scenario
