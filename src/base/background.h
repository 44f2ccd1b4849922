#pragma once

namespace headway {

/// Makes this process, and what it starts, take little time from others: it runs when they leave
/// some, and beyond that 3 % of a core. Call it after setsid(2), whose session the kernel may give
/// a share of its own, and before there are threads.
void StayInBackground();

}  // namespace headway
