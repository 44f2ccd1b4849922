#pragma once

#include <string>
#include <vector>

#include "model/name_table.h"
#include "model/record.h"

namespace headway {

/// Everything known about one run, as readers hand it over and the ledger takes it.
///
/// `records` may stand in any order: a record is named by (writer, seq). `Record::writer` indexes
/// `writers`; `Record::name` indexes `names`.
struct RunRecords {
  NameTable names;
  std::vector<Writer> writers;     // [num_writers]
  std::vector<Liveness> liveness;  // [num_writers], or empty: all unknown
  std::vector<Record> records;
};

}  // namespace headway
