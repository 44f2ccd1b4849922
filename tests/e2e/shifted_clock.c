// Preloaded in tests: a machine whose wall clock is off. By how many nanoseconds stands in the file
// of 8 bytes that SHIFTED_CLOCK names; whoever writes to it steps the clock of all its processes.
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t* shift;

__attribute__((constructor)) static void Map(void) {
  const char* const path = getenv("SHIFTED_CLOCK");
  const int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void* const page = mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, file, 0);
  if (page != MAP_FAILED) shift = page;
  close(file);
}

int clock_gettime(clockid_t id, struct timespec* now) {
  const int result = (int)syscall(SYS_clock_gettime, id, now);
  if (result != 0 || shift == NULL || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)) {
    return result;
  }
  const int64_t billion = 1000000000;
  const int64_t ns = now->tv_sec * billion + now->tv_nsec + *shift;
  now->tv_sec = ns / billion;
  now->tv_nsec = ns % billion;
  return 0;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  (void)zone;
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  now->tv_sec = at.tv_sec;
  now->tv_usec = at.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* to) {
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  if (to != NULL) *to = at.tv_sec;
  return at.tv_sec;
}
