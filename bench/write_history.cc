#include <charconv>
#include <cstdio>
#include <cstring>

#include "bench/history.h"
#include "bench/measure.h"

// Usage: write_history DIR RUN STEPS EVALUATIONS RESTARTS
int main(int argc, char** argv) {
  using headway::bench::History;
  History history;
  bool good = argc == 6;
  for (int i = 3; good && i < argc; ++i) {
    std::int64_t* const fields[] = {&history.steps, &history.evaluations, &history.restarts};
    const char* const end = argv[i] + std::strlen(argv[i]);
    good = std::from_chars(argv[i], end, *fields[i - 3]).ptr == end;
  }
  if (!good) {
    std::fprintf(stderr, "Usage: write_history DIR RUN STEPS EVALUATIONS RESTARTS\n");
    return 1;
  }
  history.run = argv[2];
  const auto written = headway::bench::WriteHistory(argv[1], history);
  if (!written.ok()) {
    std::fprintf(stderr, "write_history: %s\n", written.status().ToString().c_str());
    return 1;
  }
  std::printf("{\"records\": %llu, \"bytes\": %llu}\n",
              static_cast<unsigned long long>(written->records),
              static_cast<unsigned long long>(written->bytes));
  return 0;
}
