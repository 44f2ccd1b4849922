// Records a small training run from C++.
//
//   example_recorder [STEPS]           writes to $HEADWAY_DIR or ~/.headway
//   headway goodput example            shows where the time went
//
// Needs the public headers and libheadway_recorder only.

#include <headway/recorder.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

// Stands for real work: a few sweeps of gradient descent on y = 3x + 1. Returns the loss.
double TrainStep(const std::vector<double>& xs, double* slope, double* offset) {
  double loss = 0;
  for (int sweep = 0; sweep < 200; ++sweep) {
    double slope_gradient = 0, offset_gradient = 0;
    loss = 0;
    for (const double x : xs) {
      const double error = *slope * x + *offset - (3 * x + 1);
      loss += error * error;
      slope_gradient += 2 * error * x;
      offset_gradient += 2 * error;
    }
    const auto count = static_cast<double>(xs.size());
    *slope -= 1e-3 * slope_gradient / count;
    *offset -= 1e-3 * offset_gradient / count;
  }
  return loss;
}

std::vector<double> LoadBatch(std::int64_t step) {
  std::vector<double> xs(4096);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    xs[i] = std::sin(static_cast<double>(step) + 0.1 * static_cast<double>(i));
  }
  return xs;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t steps = argc > 1 ? std::atoll(argv[1]) : 50;
  std::string error;
  headway::Recorder run =
      headway::Recorder::Open({.run = "example", .heartbeat = true, .hook_sigterm = true}, &error);
  // Training goes on without a recorder; every call below is then a branch.
  if (!run.enabled()) std::fprintf(stderr, "not recorded: %s\n", error.c_str());
  run.Config(R"({"learning_rate": 1e-3, "batch": 4096})");

  double slope = 0, offset = 0;
  {
    const headway::Span prep = run.TrainingPrep();
    LoadBatch(0);
  }
  for (std::int64_t i = 0; i < steps; ++i) {
    std::vector<double> batch;
    {
      const headway::Span loading = run.DataLoading();
      batch = LoadBatch(i);
    }
    const headway::Step step = run.Step(i, /*blocking=*/true);
    run.Log("loss", TrainStep(batch, &slope, &offset), i);
    if (i % 20 == 19) {
      const headway::Span save = run.CheckpointSave(i);
      run.CheckpointSaved(i);
    }
    if (i % 25 == 24) {
      const headway::Span eval = run.Custom("eval");
      LoadBatch(-i);
    }
  }
  run.Finish();
  std::printf("y = %.3f x + %.3f, recorded in %s\n", slope, offset, run.journal_path());
}
