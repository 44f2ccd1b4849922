#include "runs/question.h"

#include <algorithm>

#include "base/time_format.h"

namespace headway::runs {
namespace {

// `text` as a time; `otherwise` when there is none.
Result<std::int64_t> TimeOf(const std::optional<std::string>& text, std::optional<WallNs> start,
                            const std::string& name, std::int64_t otherwise) {
  if (!text || text->empty()) return otherwise;
  if (!start && text->starts_with('+')) {
    return Status(Code::kInvalidArgument,
                  name + ": " + *text + " counts from the run's start, and the run has not begun");
  }
  const Result<WallNs> time = ParseTime(*text, start);
  if (!time.ok()) return Status(time.status().code(), name + ": " + time.status().message());
  return time->ns;
}

}  // namespace

Result<ledger::Query> MakeQuery(const Question& question, ledger::Ledger* ledger, WallNs now) {
  ledger::Query query;
  query.now = now.ns;
  const bool window = question.from || question.to;
  if (window && question.last_ns) {
    return Status(Code::kInvalidArgument,
                  question.window_name + " and " + question.last_name + " exclude each other");
  }
  if (question.last_ns && *question.last_ns < 0) {
    return Status(Code::kInvalidArgument, question.last_name + " is below 0");
  }
  if (!window && !question.last_ns && !question.as_of) return query;
  std::optional<WallNs> start;
  if (const auto ns = ledger->MakeReport(query).start) start = WallNs{*ns};
  if (question.as_of) {
    if (question.as_of->empty()) {
      return Status(Code::kInvalidArgument, question.as_of_name + " must not be empty");
    }
    const auto as_of = TimeOf(question.as_of, start, question.as_of_name, 0);
    if (!as_of.ok()) return as_of.status();
    query.as_of = *as_of;
  }
  if (!window && !question.last_ns) return query;
  const Report whole = ledger->MakeReport(query);
  if (question.last_ns) {
    std::int64_t from = 0;
    if (__builtin_sub_overflow(whole.as_of, *question.last_ns, &from)) from = INT64_MIN;
    query.window = {from, whole.as_of};
    return query;
  }
  const auto from =
      TimeOf(question.from, start, question.window_name, start.value_or(WallNs{0}).ns);
  if (!from.ok()) return from.status();
  const auto to = TimeOf(question.to, start, question.window_name, whole.end.value_or(whole.as_of));
  if (!to.ok()) return to.status();
  const bool both = !question.from.value_or("").empty() && !question.to.value_or("").empty();
  if (both && *to < *from) {
    return Status(Code::kInvalidArgument, question.window_name + ": it ends before it begins: " +
                                              *question.from + ".." + *question.to);
  }
  query.window = {*from, std::max(*from, *to)};
  return query;
}

}  // namespace headway::runs
