#include "cli/screen.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <string>
#include <utility>

namespace headway::cli {
namespace {

// The other page, no cursor, no wrapping; and back.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
constexpr std::string_view kLeave = "\x1b[?7h\x1b[?25h\x1b[?1049l";

}  // namespace

void Screen::Enter() {
  if (std::exchange(entered_, true)) return;
  *out_ << kEnter;
}

void Screen::Leave() {
  if (!std::exchange(entered_, false)) return;
  *out_ << kLeave;
  out_->Flush().IgnoreError();  // whoever writes next is told
}

void Screen::Draw(std::string_view lines, int rows) {
  std::string text = "\x1b[H";
  for (int row = 0; row < rows && !lines.empty(); ++row) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    if (row > 0) text += "\r\n";
    text.append(lines.substr(0, end)).append("\x1b[K");
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  *out_ << text << "\x1b[J";
  out_->Flush().IgnoreError();
}

int RowsOf(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

}  // namespace headway::cli
