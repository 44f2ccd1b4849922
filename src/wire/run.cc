#include "wire/run.h"

#include <limits>

#include "wire/report.h"

namespace headway::wire {
namespace {

static_assert(static_cast<int>(RunPhase::kStopped) == v1::RunPhase_MAX);
static_assert(static_cast<int>(RunState::kInterrupted) + 1 == v1::RunState_MAX);

}  // namespace

void Fill(const RunDetails& details, v1::Run* run) {
  run->set_group(details.group);
  run->mutable_labels()->insert(details.labels.begin(), details.labels.end());
  run->set_phase(static_cast<v1::RunPhase>(details.phase));
  run->set_orchestrator(details.orchestrator);
  if (details.workload != Workload()) {
    run->mutable_workload()->set_kind(details.workload.kind);
    run->mutable_workload()->set_namespace_(details.workload.name_space);
    run->mutable_workload()->set_name(details.workload.name);
  }
  run->set_artifacts_uri(details.artifacts);
  run->set_error_details(details.error);
  for (const std::string& tool : details.tools) run->add_tools(tool);
  run->mutable_software_configs()->insert(details.software.begin(), details.software.end());
  run->mutable_system_configs()->insert(details.system.begin(), details.system.end());
  run->set_accelerators(details.accelerators);
}

RunDetails DetailsOf(const v1::Run& run) {
  RunDetails details;
  details.group = run.group();
  details.labels.insert(run.labels().begin(), run.labels().end());
  if (v1::RunPhase_IsValid(run.phase())) details.phase = static_cast<RunPhase>(run.phase());
  details.orchestrator = run.orchestrator();
  details.workload = {.kind = run.workload().kind(),
                      .name_space = run.workload().namespace_(),
                      .name = run.workload().name()};
  details.artifacts = run.artifacts_uri();
  details.error = run.error_details();
  details.tools.assign(run.tools().begin(), run.tools().end());
  details.software.insert(run.software_configs().begin(), run.software_configs().end());
  details.system.insert(run.system_configs().begin(), run.system_configs().end());
  details.accelerators = run.accelerators();
  return details;
}

void Fill(const RunSummary& summary, v1::Run* run) {
  run->set_summary_time(summary.as_of);
  run->set_state(static_cast<v1::RunState>(static_cast<int>(summary.state) + 1));
  if (summary.start) run->set_start(*summary.start);
  if (summary.end) run->set_end(*summary.end);
  run->set_elapsed_ns(summary.elapsed_ns);
  if (summary.goodput) run->set_goodput(*summary.goodput);
  run->set_attempts(static_cast<std::int32_t>(summary.attempts));
  if (summary.last_step) run->set_last_step(*summary.last_step);
}

void Fill(const RunDigest& digest, v1::RunDigest* message) {
  for (int i = 0; i < kCategoryCount; ++i) {
    const std::int64_t ns = digest.ns[static_cast<std::size_t>(i)];
    if (ns == 0) continue;
    v1::CategoryTotal* const total = message->add_categories();
    total->set_category(ToProto(static_cast<Category>(i)));
    total->set_ns(ns);
  }
  message->set_disruptions(digest.disruptions);
  for (const std::uint8_t goodput : digest.goodput) {
    message->add_goodput(goodput == RunDigest::kNoGoodput
                             ? std::numeric_limits<float>::quiet_NaN()
                             : static_cast<float>(goodput) / RunDigest::kGoodputScale);
  }
}

RunSummary SummaryOf(const v1::Run& run) {
  RunSummary summary;
  summary.as_of = run.summary_time();
  if (v1::RunState_IsValid(run.state()) && run.state() != 0) {
    summary.state = static_cast<RunState>(run.state() - 1);
  }
  summary.start = run.start();
  if (run.has_end()) summary.end = run.end();
  summary.elapsed_ns = run.elapsed_ns();
  if (run.has_goodput()) summary.goodput = run.goodput();
  summary.attempts = run.attempts();
  if (run.has_last_step()) summary.last_step = run.last_step();
  return summary;
}

}  // namespace headway::wire
