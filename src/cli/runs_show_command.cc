#include <algorithm>

#include "base/json_writer.h"
#include "base/time_format.h"
#include "cli/commands.h"
#include "cli/palette.h"
#include "cli/place.h"
#include "cli/report_text.h"
#include "cli/run_files.h"
#include "cli/server_runs.h"
#include "cli/table.h"
#include "journal/reader.h"
#include "model/shares.h"
#include "model/text.h"

namespace headway::cli {
namespace {

constexpr std::int64_t kLinesShown = 40;
constexpr std::int64_t kFindingsShown = 10;

struct LastWords {
  std::int64_t time = 0;
  std::string attempt_key;
  std::string text;
};

// The tails of standard error that supervisors kept, by time.
Result<std::vector<LastWords>> ReadLastWords(const runs::Run& run) {
  std::vector<LastWords> found;
  for (const journal::JournalFile& file : run.journals) {
    if (file.header.origin != journal::Origin::kSupervisor) continue;
    NameTable names;
    Result<journal::JournalReader> reader =
        journal::JournalReader::Open(file.path, {.names = &names});
    if (!reader.ok()) continue;
    std::vector<Record> batch(1024);
    std::vector<Record> tails;
    while (true) {
      const Result<std::size_t> got = reader->Next(batch);
      if (!got.ok()) return got.status();
      if (*got == 0) break;
      for (std::size_t i = 0; i < *got; ++i) {
        if (batch[i].type == RecordType::kStderrTail) tails.push_back(batch[i]);
      }
    }
    for (const Record& record : tails) {
      Result<std::string> text = reader->Payload(record.seq);
      if (!text.ok()) continue;
      found.push_back({record.time_ns, file.header.attempt_key, *std::move(text)});
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const LastWords& a, const LastWords& b) { return a.time < b.time; });
  return found;
}

// What of a journal is no whole record, and where: by journal, as `run.journals`.
Result<std::vector<journal::ReadSummary>> ReadSummaries(const runs::Run& run) {
  std::vector<journal::ReadSummary> summaries;
  std::vector<Record> batch(1024);
  for (const journal::JournalFile& file : run.journals) {
    NameTable names;
    Result<journal::JournalReader> reader =
        journal::JournalReader::Open(file.path, {.names = &names});
    summaries.emplace_back();
    if (!reader.ok()) continue;
    while (true) {
      const Result<std::size_t> got = reader->Next(batch);
      if (!got.ok()) return got.status();
      if (*got == 0) break;
    }
    summaries.back() = reader->summary();
  }
  return summaries;
}

// What a killed process or a damaged disk left.
bool IsAmiss(const journal::Finding& finding) {
  return finding.kind != journal::FindingKind::kInProgress;
}

std::string_view LastLines(std::string_view text, std::int64_t count) {
  std::size_t at = text.size();
  if (at > 0 && text[at - 1] == '\n') --at;
  for (; count > 0 && at > 0; --count) {
    const std::size_t before = text.rfind('\n', at - 1);
    if (before == std::string_view::npos) return text;
    at = before;
  }
  return count == 0 ? text.substr(at + 1) : text;
}

class RunsShowCommand final : public Command {
 public:
  void Describe(Description* description) override {
    DescribeRun(description, &run_);
    description->Count("--lines", "N", 0, &lines_,
                       "how many of the last lines of standard error that headway run kept (40)");
    DescribePlace(description, &place_);
    DescribeServer(description, &place_);
    description->Example("headway runs show llama-7b", "its journals, and why it ended");
  }

  Result<int> Run(const Context& context) override {
    HEADWAY_RETURN_IF_ERROR(ResolveServer(&place_));
    if (!place_.server.empty()) {
      HEADWAY_RETURN_IF_ERROR(ShowServerRun(context, place_, run_));
      return 0;
    }
    const Result<runs::Run> run = FindRun(&place_, run_);
    if (!run.ok()) return run.status();
    const Result<RunFacts> facts = LearnFacts(*run);
    if (!facts.ok()) return facts.status();
    const Result<std::vector<LastWords>> words = ReadLastWords(*run);
    if (!words.ok()) return words.status();
    const Result<std::vector<journal::ReadSummary>> summaries = ReadSummaries(facts->run);
    if (!summaries.ok()) return summaries.status();
    *context.out << (place_.json ? Json(*facts, *words, *summaries)
                                 : Text(*facts, *words, *summaries, context.terminal));
    return 0;
  }

 private:
  static std::string OriginName(journal::Origin origin) {
    switch (origin) {
      case journal::Origin::kRecorder: return "process";
      case journal::Origin::kSupervisor: return "supervisor";
      case journal::Origin::kImport: return "import";
    }
    return "";
  }

  static std::vector<TableColumn> JournalColumns() {
    return {{"of", false},    {"rank", true},        {"host", false, 2},
            {"pid", true, 3}, {"attempt", false, 1}, {"file", false}};
  }

  std::string Text(const RunFacts& facts, const std::vector<LastWords>& words,
                   const std::vector<journal::ReadSummary>& summaries,
                   const Terminal& terminal) const {
    const Report& report = facts.report;
    std::string out = Paint(Tone::kStrong, PrintableLine(facts.run.label), terminal) + "  " +
                      Paint(ToneOf(report.state), ShowState(report), terminal) +
                      (facts.live ? " (a process is alive)" : "") + "\n";
    out += "uid " + ToHex(facts.run.uid) + ", project " + PrintableLine(facts.run.project) +
           ", name " + PrintableLine(facts.run.name) + "\n";
    out += ShowDuration(report.elapsed_ns) + " elapsed since " +
           ShowTime(report.start.value_or(facts.run.start)) + " UTC, goodput " +
           ShowGoodput(report) + ", " + ShowBytes(facts.bytes) + " on disk\n\n";
    Table attempts({{"attempt", true},
                    {"start (UTC)", false, 1},
                    {"lasted", true},
                    {"end", false},
                    {"exit", false},
                    {"first step", true},
                    {"last step", true}});
    for (const AttemptSummary& attempt : report.attempts) {
      const std::int64_t end = attempt.end.value_or(report.as_of);
      attempts.AddRow({std::to_string(attempt.index), ShowTime(attempt.start),
                       ShowDuration(std::max<std::int64_t>(0, end - attempt.start)),
                       std::string(AttemptEndName(attempt.end_kind)),
                       ShowExit(attempt.exit_status, attempt.signal, attempt.notice),
                       ShowCount(attempt.first_step), ShowCount(attempt.last_step)});
    }
    if (!attempts.empty()) out += attempts.Render(terminal) + "\n";
    std::string directory;
    std::optional<Table> journals;
    const auto finish = [&] {
      if (!journals) return;
      out += "  journals in " + PrintableLine(directory) + "\n" + journals->Render(terminal);
    };
    for (const journal::JournalFile& file : facts.run.journals) {
      const std::size_t slash = file.path.rfind('/');
      if (!journals || file.path.substr(0, slash) != directory) {
        finish();
        directory = file.path.substr(0, slash);
        journals.emplace(JournalColumns());
      }
      const journal::Header& header = file.header;
      journals->AddRow({OriginName(header.origin),
                        header.rank < 0 ? "–" : std::to_string(header.rank), header.host,
                        std::to_string(header.pid), header.attempt_key,
                        file.path.substr(slash + 1)});
    }
    finish();
    out += Amiss(facts, summaries);
    const std::int64_t lines = lines_.value_or(kLinesShown);
    if (words.empty() || lines == 0) return out;
    const LastWords& last = words.back();
    out += "\n" + Paint(Tone::kStrong, "Last words on standard error", terminal) + " (attempt " +
           PrintableLine(last.attempt_key) + ", ended " + ShowTime(last.time) + " UTC)\n";
    out += Printable(LastLines(last.text, lines));
    if (out.back() != '\n') out += '\n';
    return out;
  }

  static std::string Amiss(const RunFacts& facts,
                           const std::vector<journal::ReadSummary>& summaries) {
    std::string out;
    for (std::size_t i = 0; i < summaries.size(); ++i) {
      std::int64_t shown = 0;
      for (const journal::Finding& finding : summaries[i].findings) {
        if (!IsAmiss(finding) || ++shown > kFindingsShown) continue;
        const std::string& path = facts.run.journals[i].path;
        out += "  " + PrintableLine(path.substr(path.rfind('/') + 1)) + ": " +
               journal::FindingText(finding) + " (" +
               std::string(journal::FindingCode(finding.kind)) + ")\n";
      }
      if (shown > kFindingsShown) {
        out += "  and " + ShowCount(shown - kFindingsShown) + " more places: --json\n";
      }
    }
    return out.empty() ? out : "\n" + out;
  }

  static std::string Json(const RunFacts& facts, const std::vector<LastWords>& words,
                          const std::vector<journal::ReadSummary>& summaries) {
    const Report& report = facts.report;
    std::string out;
    JsonWriter json(&out, 1);
    json.BeginObject();
    WriteRunFields(facts, &json);
    json.Field("bytes", facts.bytes).Key("attempts");
    WriteAttempts(&json, report.attempts);
    json.Key("journals").BeginArray();
    for (std::size_t i = 0; i < facts.run.journals.size(); ++i) {
      const journal::JournalFile& file = facts.run.journals[i];
      const journal::Header& header = file.header;
      json.BeginObject()
          .Field("path", file.path)
          .Field("uid", ToHex(header.uid))
          .Field("origin", OriginName(header.origin))
          .Field("rank", header.rank)
          .Field("host", header.host)
          .Field("pid", header.pid)
          .Field("attempt_key", header.attempt_key)
          .Field("writer", header.writer_name)
          .Field("software", header.software)
          .Key("findings")
          .BeginArray();
      for (const journal::Finding& finding : summaries[i].findings) {
        if (!IsAmiss(finding)) continue;
        json.BeginObject()
            .Field("code", journal::FindingCode(finding.kind))
            .Field("offset", finding.offset)
            .Field("bytes", finding.slots * journal::kSlotBytes)
            .EndObject();
      }
      json.EndArray().EndObject();
    }
    json.EndArray().Key("stderr_tails").BeginArray();
    for (const LastWords& one : words) {
      json.BeginObject()
          .Field("time", FormatTime(WallNs{one.time}))
          .Field("attempt_key", one.attempt_key)
          .Field("text", one.text)
          .EndObject();
    }
    json.EndArray().EndObject();
    return out + "\n";
  }

  std::string run_;
  std::optional<std::int64_t> lines_;
  Place place_;
};

}  // namespace

std::unique_ptr<Command> MakeRunsShow() { return std::make_unique<RunsShowCommand>(); }

}  // namespace headway::cli
