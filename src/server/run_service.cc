#include "server/run_service.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "base/limits.h"
#include "diagnose/advice.h"
#include "ledger/compat/report.h"
#include "runs/question.h"
#include "server/time_selection.h"
#include "wire/report.h"

namespace headway::server {
namespace {

constexpr int kRowsPageDefault = 1'000;

Result<Report> ReportBy(v1::Accounting accounting, ledger::Ledger* ledger,
                        const ledger::Query& query) {
  switch (accounting) {
    case v1::ACCOUNTING_UNSPECIFIED:
    case v1::ACCOUNTING_EXACT: return ledger->MakeReport(query);
    case v1::ACCOUNTING_COMPAT: return compat::MakeReport(ledger, query);
    default: break;
  }
  return Status(Code::kInvalidArgument,
                "this server knows no accounting " + std::to_string(accounting));
}

// Where a page begins, and as of when all pages are.
struct PageToken {
  std::int64_t as_of = 0;
  std::uint64_t index = 0;

  std::string Text(std::string_view question) const {
    const std::string place = std::to_string(as_of) + "/" + std::to_string(index);
    return place + "/" + std::to_string(Mark(place, question));
  }

  // Of another question it is no token. No secret: what it could tell may be asked for anyway.
  static std::uint32_t Mark(std::string_view place, std::string_view question) {
    return Crc32c(place.data(), place.size(), Crc32c(question.data(), question.size()));
  }
};

Status BadToken() {
  return {Code::kInvalidArgument, "the page_token is none of an answer to this question"};
}

Result<PageToken> ParseToken(const std::string& text, std::string_view question) {
  PageToken token;
  std::uint32_t mark = 0;
  const char* const end = text.data() + text.size();
  const auto as_of = std::from_chars(text.data(), end, token.as_of);
  if (as_of.ec != std::errc() || as_of.ptr == end) return BadToken();
  const auto index = std::from_chars(as_of.ptr + 1, end, token.index);
  if (index.ec != std::errc() || index.ptr == end) return BadToken();
  const auto last = std::from_chars(index.ptr + 1, end, mark);
  if (last.ec != std::errc() || last.ptr != end || token.Text(question) != text) return BadToken();
  return token;
}

}  // namespace

void RunService::AddTo(ConnectRouter* router) {
  router->Add<v1::GetReportRequest, v1::Report>(
      "headway.v1.RunService.GetReport", Permission::kRunsGet, Scope::kOneRun,
      [this](const Caller& caller, const auto& request) { return GetReport(caller, request); });
  router->Add<v1::GetReportRequest, v1::GetAdviceResponse>(
      "headway.v1.RunService.GetAdvice", Permission::kRunsGet, Scope::kOneRun,
      [this](const Caller& caller, const auto& request) { return GetAdvice(caller, request); });
  router->Add<v1::ListIntervalsRequest, v1::ListIntervalsResponse>(
      "headway.v1.RunService.ListIntervals", Permission::kRunsGet, Scope::kOneRun,
      [this](const Caller& caller, const auto& request) { return ListIntervals(caller, request); });
  router->Add<v1::ListStepsRequest, v1::ListStepsResponse>(
      "headway.v1.RunService.ListSteps", Permission::kRunsGet, Scope::kOneRun,
      [this](const Caller& caller, const auto& request) { return ListSteps(caller, request); });
}

Result<v1::Report> RunService::GetReport(const Caller& caller,
                                         const v1::GetReportRequest& request) {
  const Result<Report> report = MakeReport(caller, request);
  if (!report.ok()) return report.status();
  return wire::ToProto(*report);
}

Result<v1::GetAdviceResponse> RunService::GetAdvice(const Caller& caller,
                                                    const v1::GetReportRequest& request) {
  const Result<Report> report = MakeReport(caller, request);
  if (!report.ok()) return report.status();
  v1::GetAdviceResponse response;
  for (const diagnose::Advice& piece : diagnose::Advise(*report)) {
    v1::Advice* const advice = response.add_advice();
    advice->set_code(piece.code);
    advice->set_text(piece.text);
    advice->set_ns(piece.ns);
  }
  return response;
}

Result<Report> RunService::MakeReport(const Caller& caller, const v1::GetReportRequest& request) {
  const Result<store::RunRow> run =
      registry_->Find(caller, ProjectOf(request.project()), request.run());
  if (!run.ok()) return run.status();
  Result<Report> report = ledgers_->Look(run->uid, [&](RunLedger& found) -> Result<Report> {
    ledger::Ledger* const ledger = found.ledger();
    const auto query = runs::MakeQuery(ToQuestion(request.time()), ledger, clock_->Wall());
    if (!query.ok()) return query.status();
    return ReportBy(request.accounting(), ledger, *query);
  });
  if (!report.ok()) return report.status();
  report->run = run->label;
  report->project = run->project;
  return report;
}

template <typename Request, typename Row, typename Rows>
Result<std::string> RunService::Page(const Caller& caller, const Request& request,
                                     LastList<Row>* last,
                                     std::vector<Row> (ledger::Ledger::*list)(const ledger::Query&),
                                     Rows* out) {
  const Result<std::size_t> size =
      PageSize(request.page_size(), kRowsPageDefault,
               caller.json ? limits::kRowsPageJson : limits::kRowsPage);
  if (!size.ok()) return size.status();
  const Result<store::RunRow> run =
      registry_->Find(caller, ProjectOf(request.project()), request.run());
  if (!run.ok()) return run.status();
  // Which list it is, of what.
  const std::string question_text =
      request.GetTypeName() + "/" + ToHex(run->uid) + "/" + request.time().SerializeAsString();
  PageToken token;
  if (!request.page_token().empty()) {
    const Result<PageToken> parsed = ParseToken(request.page_token(), question_text);
    if (!parsed.ok()) return parsed.status();
    token = *parsed;
  }
  const auto key = [&] { return std::to_string(token.as_of) + "/" + question_text; };
  std::shared_ptr<const std::vector<Row>> rows;
  if (!request.page_token().empty()) {
    const std::lock_guard lock(last->mutex);
    if (last->key == key()) rows = last->rows;
  }
  if (rows == nullptr) {
    Result<std::vector<Row>> listed =
        ledgers_->Look(run->uid, [&](RunLedger& found) -> Result<std::vector<Row>> {
          ledger::Ledger* const ledger = found.ledger();
          runs::Question question = ToQuestion(request.time());
          if (!request.page_token().empty()) question.as_of = "@" + std::to_string(token.as_of);
          const auto query = runs::MakeQuery(question, ledger, clock_->Wall());
          if (!query.ok()) return query.status();
          if (request.page_token().empty()) token.as_of = ledger->MakeReport(*query).as_of;
          return (ledger->*list)(*query);
        });
    if (!listed.ok()) return listed.status();
    rows = std::make_shared<const std::vector<Row>>(*std::move(listed));
  }
  std::uint64_t i = token.index;
  for (; i < rows->size() && i - token.index < *size; ++i) *out->Add() = wire::ToProto((*rows)[i]);
  const bool more = i < rows->size();
  {
    const std::lock_guard lock(last->mutex);
    if (more) {
      last->key = key();
      last->rows = rows;
    } else if (last->key == key()) {
      last->key.clear();
      last->rows.reset();
    }
  }
  token.index = i;
  return more ? token.Text(question_text) : std::string();
}

Result<v1::ListIntervalsResponse> RunService::ListIntervals(
    const Caller& caller, const v1::ListIntervalsRequest& request) {
  v1::ListIntervalsResponse response;
  Result<std::string> next =
      Page(caller, request, &intervals_, &ledger::Ledger::Timeline, response.mutable_intervals());
  if (!next.ok()) return next.status();
  response.set_next_page_token(*std::move(next));
  return response;
}

Result<v1::ListStepsResponse> RunService::ListSteps(const Caller& caller,
                                                    const v1::ListStepsRequest& request) {
  v1::ListStepsResponse response;
  Result<std::string> next =
      Page(caller, request, &steps_, &ledger::Ledger::Steps, response.mutable_steps());
  if (!next.ok()) return next.status();
  response.set_next_page_token(*std::move(next));
  return response;
}

}  // namespace headway::server
