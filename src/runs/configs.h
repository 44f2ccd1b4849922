#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "journal/reader.h"
#include "ledger/ledger.h"
#include "model/config.h"
#include "model/name_table.h"
#include "runs/runs.h"

/// The configurations of a run from its journals, wherever those lie.

namespace headway::runs {

/// Parses a recorded configuration; config::ReadConfig does.
using ConfigParser = Result<ConfigValue> (*)(std::string_view json);

/// Collects what the journals of one run say, one after the other. One thread.
///
/// Memory: the values of the journals that say different things, each once.
class ConfigCollector {
 public:
  explicit ConfigCollector(ConfigParser parse) : parse_(parse) {}

  /// Reads `reader`, fresh from Open, to its end; `names` are those it interns. `attempt`: of its
  /// writer in a report (Ledger::AttemptsOfWriters), -1: not known. A configuration that can't be
  /// read is told in problems() and left out. Errors as of JournalReader::Next.
  Status Add(journal::JournalReader* reader, const NameTable& names, std::int64_t attempt);

  /// What there is, without the names of run and project.
  RunConfig Take();
  /// Each names the journal, the class and the record.
  const std::vector<Status>& problems() const { return problems_; }

 private:
  std::shared_ptr<const FlatConfig> Share(FlatConfig config);

  ConfigParser parse_;
  std::vector<ConfigProcess> processes_;
  std::multimap<std::size_t, std::shared_ptr<const FlatConfig>> known_;  // by hash
  std::vector<Status> problems_;
};

/// The configurations in the journals of `run`, whose account `ledger` is. What can't be read is
/// told in `*problems` and left out.
Result<RunConfig> ReadConfigs(const Run& run, ledger::Ledger* ledger, ConfigParser parse,
                              std::vector<Status>* problems);

}  // namespace headway::runs
