#include "base/background.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/files.h"

namespace headway {

void StayInBackground() {
  // Of a core that others would fill it gets a thirtieth. Less, and it would never come to an end
  // on a machine whose cores are all busy.
  ::setpriority(PRIO_PROCESS, 0, 15);
  // Where sessions are scheduled against each other (autogroups), niceness counts within one only.
  const UniqueFd group = OpenFile("/proc/self/autogroup", O_WRONLY);
  if (group.ok()) (void)!::write(group.get(), "15", 2);
}

}  // namespace headway
