#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ledger/compat/account.h"
#include "model/name_table.h"

namespace headway::compat {

/// An answer by the names that ml-goodput-measurement uploads it under. Amounts are in seconds.
struct Figures {
  double goodput_percent = 0;
  double productive_s = 0;
  double total_s = 0;
  /// "TPU_INITIALIZATION" etc., all that the answer speaks of but custom events, in its order.
  std::vector<std::pair<std::string, double>> badput;
  std::vector<std::pair<std::string, double>> custom;  ///< by type, as recorded, in capitals
  std::int64_t max_productive_step = 0;
  std::int64_t disruptions = 0;
};

/// `names`: what the answer's custom events refer to.
Figures FiguresOf(const Answer& answer, const NameTable& names);

}  // namespace headway::compat
