#include "ledger/compat/figures.h"

namespace headway::compat {

Figures FiguresOf(const Answer& answer, const NameTable& names) {
  const Account& account = answer.account;
  Figures figures;
  figures.goodput_percent = answer.goodput_percent;
  figures.productive_s = account.productive_s;
  figures.total_s = answer.total_s;
  for (int i = 0; i < kBadputCount; ++i) {
    const std::optional<double>& seconds =
        account.unproductive.seconds[static_cast<std::size_t>(i)];
    if (seconds) figures.badput.emplace_back(BadputName(static_cast<Badput>(i)), *seconds);
  }
  if (account.unproductive.custom) {
    for (const auto& [name, seconds] : *account.unproductive.custom) {
      figures.custom.emplace_back(names.Text(name), seconds);
    }
  }
  figures.max_productive_step = account.max_productive_step;
  figures.disruptions = static_cast<std::int64_t>(account.restarts.size());
  return figures;
}

}  // namespace headway::compat
