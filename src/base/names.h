#pragma once

#include <string_view>

#include "base/status.h"

/// Which names there can be: of projects, runs, jobs and attempts. Pure. `what` begins the message:
/// "the run's name".

namespace headway {

/// InvalidArgument unless a journal can hold `name`: at most `limits::kNameBytes` of UTF-8. For
/// what was recorded already, perhaps by someone else.
Status CheckStoredName(std::string_view what, std::string_view name);

/// InvalidArgument unless `name` can be given to what is recorded from now on: as above, and
/// without control characters and invisible ones (marks of format and direction), which make two
/// names look the same. Joiners and variation selectors may stand beside what is not ASCII, as
/// some scripts and emoji need them. The empty name passes: it stands for none.
Status CheckNewName(std::string_view what, std::string_view name);

/// The same where there has to be one.
Status CheckGivenName(std::string_view what, std::string_view name);

/// `text` as one word of a POSIX shell, quoted if need be.
std::string ShellWord(std::string_view text);

}  // namespace headway
