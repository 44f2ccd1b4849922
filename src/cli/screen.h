#pragma once

#include <string_view>

#include "cli/output.h"

namespace headway::cli {

/// Screen: a page of a terminal that is drawn again and again in the same place, beside what is
/// there, which comes back when it is left. One thread.
class Screen {
 public:
  explicit Screen(Output* out) : out_(out) {}
  ~Screen() { Leave(); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  void Enter();
  /// Gives the terminal back, with its cursor.
  void Leave();
  /// Draws lines, of which those beyond `rows` are left out; what is longer than the terminal is
  /// wide is cut by it.
  void Draw(std::string_view lines, int rows);

 private:
  Output* out_;
  bool entered_ = false;
};

/// The rows of the terminal at descriptor `fd`; 24 where it says nothing.
int RowsOf(int fd);

}  // namespace headway::cli
