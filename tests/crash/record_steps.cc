// Records N steps and ends: what the recorder asks of the kernel meanwhile is counted by
// check_syscalls.

#include <headway/recorder.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
  const std::int64_t steps = argc > 1 ? std::atoll(argv[1]) : 1;
  std::string error;
  headway::Recorder run = headway::Recorder::Open({.run = "syscalls", .resume = "never"}, &error);
  if (!run.enabled()) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  const headway_name_id loss = headway_name(run.handle(), "loss");
  for (std::int64_t i = 0; i < steps; ++i) {
    const headway::Step step = run.Step(i);
    const headway::Span loading = run.DataLoading();
    headway_log(run.handle(), loss, 1.0, i);
  }
  run.Finish();
  return run.dropped() == 0 ? 0 : 1;
}
