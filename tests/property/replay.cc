// Answers reports for event-file histories read from standard input: the fast side of the
// comparison with the slow model (compare.py says how the two talk).

#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "formats/jsonl/reader.h"
#include "ledger/ledger.h"
#include "model/report.h"

namespace {

// "key": 123 in a header line; the headers are written by compare.py and nobody else.
std::optional<std::int64_t> NumberAfter(std::string_view text, std::string_view key,
                                        std::size_t skip = 0) {
  std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  at += key.size();
  for (; skip > 0; --skip) at = text.find(',', at) + 1;
  while (at < text.size() && (text[at] == ' ' || text[at] == '[' || text[at] == ':')) ++at;
  if (at >= text.size() || text[at] == 'n') return std::nullopt;
  return std::stoll(std::string(text.substr(at, 21)));
}

// Journals have random uids, and are heard of in any order.
void Rename(std::int64_t salt, headway::RunRecords* run, headway::ledger::Ledger* ledger) {
  for (headway::Writer& writer : run->writers) {
    writer.uid = std::to_string(std::hash<std::string>()(std::to_string(salt) + writer.uid));
  }
  for (std::size_t w = run->writers.size(); w-- > 0;) {
    ledger->AddWriter(run->writers[w],
                      run->liveness.empty() ? headway::Liveness::kUnknown : run->liveness[w]);
  }
}

std::string Answer(const std::string& history, const headway::ledger::Query& query,
                   std::optional<std::int64_t> salt) {
  auto import = headway::jsonl::ReadEvents(history, {});
  if (!import.ok()) return "{\"error\": \"" + std::string(import.status().message()) + "\"}\n";
  headway::ledger::Ledger ledger;
  if (salt) Rename(*salt, &import->runs.back(), &ledger);
  ledger.Add(import->runs.back());
  return headway::ToJson(ledger.MakeReport(query));
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  std::string header;
  while (std::getline(std::cin, header)) {
    headway::ledger::Query query;
    query.as_of = NumberAfter(header, "\"as_of\"");
    if (const auto begin = NumberAfter(header, "\"window\"")) {
      query.window = {*begin, *NumberAfter(header, "\"window\"", 1)};
    }
    std::string history;
    std::string line;
    while (std::getline(std::cin, line) && line != "---END---") {
      history += line;
      history += '\n';
    }
    // A history may end in the middle of a line; the separator's line feed is not part of it.
    if (!history.empty()) history.pop_back();
    std::cout << Answer(history, query, NumberAfter(header, "\"uids\"")) << std::flush;
  }
}
