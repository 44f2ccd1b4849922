// Records a small training run from C++: a program of its own, with the public header and
// libheadway_recorder.so only.
//
//   recorder_example [STEPS]           writes to $HEADWAY_DIR or ~/.headway
//   headway goodput example            shows where the time went

#include <headway/recorder.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

std::vector<double> LoadBatch(std::int64_t step) {
  std::vector<double> xs(4096);
  for (std::size_t i = 0; i < xs.size(); ++i) xs[i] = std::sin(0.1 * static_cast<double>(i + step));
  return xs;
}

// Stands for real work: gradient descent on y = 3x. Returns the loss.
double TrainStep(const std::vector<double>& xs, double* slope) {
  double loss = 0, gradient = 0;
  for (const double x : xs) {
    const double error = *slope * x - 3 * x;
    loss += error * error;
    gradient += 2 * error * x;
  }
  *slope -= 1e-2 * gradient / static_cast<double>(xs.size());
  return loss;
}

int main(int argc, char** argv) {
  const std::int64_t steps = argc > 1 ? std::atoll(argv[1]) : 500;
  std::string error;
  headway::Recorder run =
      headway::Recorder::Open({.run = "example", .heartbeat = true, .hook_sigterm = true}, &error);
  // Training goes on without a recorder; every call below is then a branch.
  if (!run.enabled()) std::fprintf(stderr, "not recorded: %s\n", error.c_str());
  run.Config(R"({"learning_rate": 1e-2, "batch": 4096})");

  double slope = 0;
  for (std::int64_t i = 0; i < steps; ++i) {
    headway::Span loading = run.DataLoading();  // ends with its scope, or earlier
    const std::vector<double> batch = LoadBatch(i);
    loading.End();
    const headway::Step step = run.Step(i, /*blocking=*/true);
    run.Log("loss", TrainStep(batch, &slope), i);
    if (i % 100 == 99) {
      const headway::Span save = run.CheckpointSave(i);
      run.CheckpointSaved(i);
    }
  }
  std::printf("y = %.3f x, recorded in %s\n", slope, run.journal_path());
  return slope > 0 ? 0 : 1;  // how main() ends is how the job ends
}
