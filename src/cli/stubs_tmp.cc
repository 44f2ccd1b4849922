#include "cli/commands.h"
namespace headway::cli {
std::unique_ptr<Command> MakeDoctor() { return nullptr; }
}
