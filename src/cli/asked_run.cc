#include "cli/asked_run.h"

#include <utility>

#include "cli/remote.h"

namespace headway::cli {
namespace {

class LocalRun final : public AskedRun {
 public:
  LocalRun(OpenRun open, const ledger::Query& query) : open_(std::move(open)), query_(query) {}

  Result<Report> MakeReport() override { return cli::MakeReport(&open_, query_); }
  Result<Report> MakeCompatReport() override { return cli::MakeCompatReport(&open_, query_); }
  Result<std::vector<TimelineInterval>> Timeline() override {
    return open_.loaded.ledger.Timeline(query_);
  }
  Result<std::vector<TimelineInterval>> WholeTimeline() override {
    return open_.loaded.ledger.Timeline({});
  }
  Result<std::vector<StepSummary>> Steps() override { return open_.loaded.ledger.Steps(query_); }
  Result<RunRecords> Records() override {
    std::vector<Status> problems;  // told when it was opened
    return runs::ReadRecords(open_.run, &problems);
  }

 private:
  OpenRun open_;
  ledger::Query query_;
};

}  // namespace

Result<std::unique_ptr<AskedRun>> Ask(const Context& context, Place* place,
                                      const std::string& label, const TimeOptions& times) {
  HEADWAY_RETURN_IF_ERROR(ResolveServer(place));
  if (!place->server.empty()) return AskServer(*place, label, times);
  Result<OpenRun> open = Open(context, place, label);
  if (!open.ok()) return open.status();
  const Result<ledger::Query> query = MakeQuery(times, &*open);
  if (!query.ok()) return query.status();
  return std::unique_ptr<AskedRun>(std::make_unique<LocalRun>(*std::move(open), *query));
}

Result<RunRecords> AskRecords(const Context& context, Place* place, const std::string& label) {
  HEADWAY_RETURN_IF_ERROR(ResolveServer(place));
  if (!place->server.empty()) {
    const Result<std::unique_ptr<AskedRun>> run = Ask(context, place, label, {});
    if (!run.ok()) return run.status();
    return (*run)->Records();
  }
  const Result<runs::Run> run = FindRun(place, label);
  if (!run.ok()) return run.status();
  std::vector<Status> problems;
  Result<RunRecords> records = runs::ReadRecords(*run, &problems);
  TellProblems(problems);
  return records;
}

}  // namespace headway::cli
