#include <string>
#include <vector>

#include "cli/commands.h"

int main(int argc, char** argv) {
  return headway::cli::Main(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
