#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>

#include "cli/bar.h"
#include "model/text.h"

namespace headway::cli {
namespace {

constexpr std::int64_t kPatienceNs = kNanosPerSecond;
constexpr std::int64_t kRedrawNs = kNanosPerSecond / 10;

void WriteError(const std::string& text) {
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

void Progress::Update(double share) {
  if (!terminal_.interactive) return;
  const MonoNs now = SystemClock::MonoNow();
  if (now - begin_ < kPatienceNs || now - drawn_ < kRedrawNs) return;
  drawn_ = now;
  visible_ = true;
  const std::string head = Shorten(what_, static_cast<std::size_t>(terminal_.width / 2)) + " ";
  const std::string tail = " " + ShowPercent(std::clamp(share, 0.0, 1.0));
  const int room = terminal_.width - 12 - static_cast<int>(DisplayWidth(head));
  const auto width = static_cast<std::size_t>(std::max(5, room));
  WriteError("\r" + head + PadRight(Bar(share, width), width) + tail + "\x1b[K");
}

void Progress::Clear() {
  if (visible_) WriteError("\r\x1b[K");
  visible_ = false;
}

}  // namespace headway::cli
