#include "ledger/compat/account.h"

#include <algorithm>

namespace headway::compat {

std::string_view BadputName(Badput badput) {
  switch (badput) {
    case Badput::kTpuInitialization: return "TPU_INITIALIZATION";
    case Badput::kTrainingPrep: return "TRAINING_PREP";
    case Badput::kProgramStartup: return "PROGRAM_STARTUP";
    case Badput::kDataLoadingSync: return "DATA_LOADING_SYNC";
    case Badput::kDataLoadingAsync: return "DATA_LOADING_ASYNC";
    case Badput::kCheckpointSave: return "UNPRODUCTIVE_CHECKPOINT_SAVE_TIME";
    case Badput::kCheckpointRestore: return "UNPRODUCTIVE_CHECKPOINT_RESTORE_TIME";
    case Badput::kWastedProgress: return "WASTED_PROGRESS_FROM_DISRUPTION";
    case Badput::kInfrastructureRecovery: return "INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION";
    case Badput::kCustom: return "CUSTOM_BADPUT_EVENTS";
    case Badput::kOther: return "OTHER";
    case Badput::kElasticSliceDown: return "ELASTIC_SLICE_DOWN";
    case Badput::kElasticScaleUp: return "ELASTIC_SCALE_UP";
    case Badput::kElasticReinitialization: return "ELASTIC_REINITIALIZATION";
  }
  return "";
}

void Unproductive::Add(const Unproductive& more) {
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (more.seconds[i]) seconds[i] = seconds[i].value_or(0) + *more.seconds[i];
  }
  if (!more.custom) return;
  if (!custom) custom.emplace();
  for (const auto& [name, value] : *more.custom) (*custom)[name] += value;
}

double Percent(double seconds, double total_s) {
  return 0 < seconds && seconds < total_s ? seconds / total_s * 100 : 0;
}

Answer HoldAgainst(Account account, double total_s) {
  auto sane = [total_s](double seconds) { return seconds < 0 || seconds > total_s ? 0 : seconds; };
  Unproductive& unproductive = account.unproductive;
  double known = 0;
  for (std::size_t i = 0; i < unproductive.seconds.size(); ++i) {
    std::optional<double>& seconds = unproductive.seconds[i];
    if (!seconds) continue;
    seconds = sane(*seconds);
    const auto badput = static_cast<Badput>(i);
    if (badput != Badput::kDataLoadingAsync && badput != Badput::kOther) known += *seconds;
  }
  if (unproductive.custom) {
    for (auto& [name, seconds] : *unproductive.custom) known += seconds = sane(seconds);
  }
  unproductive.Set(Badput::kOther, std::max(0.0, total_s - account.productive_s - known));
  Answer answer;
  answer.goodput_percent = account.productive_s / total_s * 100;
  answer.total_s = total_s;
  answer.account = std::move(account);
  return answer;
}

}  // namespace headway::compat
