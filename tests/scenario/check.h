#pragma once

#include <string>
#include <vector>

#include "ledger/ledger.h"
#include "scenario.h"

namespace headway::scenario {

/// What the ledger answers to one look.
struct Answer {
  Report report;
  std::vector<TimelineInterval> timeline;
  std::vector<StepSummary> steps;
};
Answer Ask(ledger::Ledger* ledger, const Look& look);

/// What the answer has that the look does not want, and the other way round: one sentence each,
/// with the line of the scenario's file. Empty when all holds.
std::vector<std::string> Check(const Look& look, const Answer& answer);

/// The whole answer, as text to compare and to read.
std::string ToText(const Answer& answer);

}  // namespace headway::scenario
