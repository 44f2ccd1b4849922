#include "journal/placement.h"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

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

Placement ExaminePlace(const std::string& path, const PlaceRules& rules) {
  if (rules.file_system == "network") return Placement::kNetwork;
  if (rules.file_system == "local") return Placement::kLocal;
  return ExaminePlace(path);
}

std::string NodeLocalDirectory(const PlaceRules& rules) {
  if (!rules.node_local.empty()) return rules.node_local;
  return "/var/tmp/headway-" + std::to_string(::geteuid());
}

Place ChoosePlaceFor(Placement placement, const std::string& wanted, std::int64_t rank,
                     const PlaceRules& rules) {
  if (placement != Placement::kNetwork) return {wanted, ""};
  const std::string local = NodeLocalDirectory(rules);
  if (!MakePrivateDirectory(local).ok()) return {wanted, ""};
  if (ExaminePlace(local) == Placement::kNetwork) return {wanted, ""};
  if (rank > 0) return {local, ""};
  // Whoever copies it there may have another working directory.
  std::error_code error;
  const std::string absolute = std::filesystem::absolute(wanted, error).string();
  return {local, error ? wanted : absolute};
}

Place ChoosePlace(const std::string& wanted, std::int64_t rank, const PlaceRules& rules) {
  return ChoosePlaceFor(ExaminePlace(wanted, rules), wanted, rank, rules);
}

}  // namespace headway::journal
