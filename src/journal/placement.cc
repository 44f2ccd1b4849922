#include "journal/placement.h"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"

namespace headway::journal {
namespace {

Placement OfType(std::uint64_t magic) {
  switch (magic) {
    case EXT4_SUPER_MAGIC:
    case 0x58465342:  // XFS
    case TMPFS_MAGIC:
    // Containers' root. Its upper layer is ext4, xfs or tmpfs; on another, fallocate(2) fails at
    // once or holds, and the writer notices which.
    case OVERLAYFS_SUPER_MAGIC: return Placement::kMapped;
    // Everything that may reach over a network, FUSE included (object stores, sshfs).
    case NFS_SUPER_MAGIC:
    case SMB_SUPER_MAGIC:
    case 0xff534d42:  // CIFS
    case 0xfe534d42:  // SMB2
    case 0x65735546:  // FUSE
    case 0x0bd00bd0:  // Lustre
    case 0x00c36400:  // Ceph
    case 0x47504653:  // GPFS
    case 0x19830326:  // BeeGFS
    case V9FS_MAGIC:
    case AFS_SUPER_MAGIC:
    case CODA_SUPER_MAGIC: return Placement::kNetwork;
    default: return Placement::kLocal;
  }
}

}  // namespace

Placement ExaminePlace(const std::string& path) {
  std::string at = path.empty() ? "." : path;
  struct statfs info;
  while (::statfs(at.c_str(), &info) != 0) {
    const std::size_t slash = at.rfind('/');
    if ((errno != ENOENT && errno != ENOTDIR) || at == "." || at == "/") return Placement::kLocal;
    at = slash == std::string::npos ? "." : slash == 0 ? "/" : at.substr(0, slash);
  }
  return OfType(static_cast<std::uint64_t>(info.f_type) & 0xffffffffu);
}

Place ChoosePlaceFor(Placement placement, const std::string& wanted, std::int64_t rank,
                     const std::string& node_local) {
  if (placement != Placement::kNetwork) return {wanted, ""};
  const std::string local =
      node_local.empty() ? "/var/tmp/headway-" + std::to_string(::geteuid()) : node_local;
  if (!MakePrivateDirectory(local).ok()) return {wanted, ""};
  if (ExaminePlace(local) == Placement::kNetwork) return {wanted, ""};
  return {local, rank <= 0 ? wanted : ""};
}

Place ChoosePlace(const std::string& wanted, std::int64_t rank, const std::string& node_local) {
  return ChoosePlaceFor(ExaminePlace(wanted), wanted, rank, node_local);
}

}  // namespace headway::journal
