#include "cli/import_journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/time_format.h"
#include "cli/place.h"
#include "journal/directory.h"
#include "journal/reader.h"

namespace headway::cli {
namespace {

Status WriteAll(int fd, std::string_view data, const std::string& path) {
  while (!data.empty()) {
    const ssize_t wrote = ::write(fd, data.data(), data.size());
    if (wrote < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(errno, "write", path);
    }
    data.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return OkStatus();
}

Result<journal::Header> HeaderOf(const std::string& data, const std::string& name) {
  return journal::DecodeHeader(reinterpret_cast<const std::byte*>(data.data()), data.size(), name);
}

RunUid RenamedUid(const RunUid& run, const journal::Header& header) {
  std::string text = "headway-renamed-1\n" + ToHex(run);
  for (const std::string& part : {header.project, header.run}) {
    text += "\n" + std::to_string(part.size()) + ":" + part;
  }
  return DeriveUid<RunUid>(text);
}

// The same journal under other names. What changes while it is written stays as it is.
void Rename(const journal::Header& header, std::string* data) {
  const std::array<std::byte, journal::kHeaderBytes> bytes = journal::EncodeHeader(header);
  std::memcpy(data->data(), bytes.data(), journal::kLiveOffset);
}

std::string FileName(const journal::Header& header) {
  std::string who = header.rank >= 0 ? "r" + std::to_string(header.rank) : "u";
  if (header.origin == journal::Origin::kSupervisor) who = "s";
  if (header.origin == journal::Origin::kImport) who = "i";
  return FormatCompactTime(header.anchor.wall) + "-" + who + "-" + ToHex(header.uid) +
         std::string(journal::kFileSuffix);
}

// How far the records of a journal go; 0 when it can't be read.
Result<journal::ReadSummary> Summarise(const std::string& path, std::int64_t* start) {
  NameTable names;
  Result<journal::JournalReader> reader = journal::JournalReader::Open(path, {.names = &names});
  if (!reader.ok()) return reader.status();
  std::vector<Record> batch(1024);
  bool first = true;
  while (true) {
    const Result<std::size_t> got = reader->Next(batch);
    if (!got.ok()) return got.status();
    if (*got == 0) return reader->summary();
    if (first) *start = batch.front().time_ns;
    first = false;
  }
}

}  // namespace

Result<ImportedRun> CopyJournal(Input* input, const JournalTarget& target,
                                std::vector<Status>* problems) {
  std::string head;
  while (head.size() < journal::kHeaderBytes) {
    const Result<std::string> part = ReadPart(input);
    if (!part.ok()) return part.status();
    if (part->empty()) break;
    head += *part;
  }
  Result<journal::Header> header = HeaderOf(head, input->name);
  if (!header.ok()) return header.status();
  const journal::Header before = *header;
  if (target.project) header->project = *target.project;
  if (target.run) header->run = *target.run;
  HEADWAY_RETURN_IF_ERROR(CheckName("the run's name", header->run));
  HEADWAY_RETURN_IF_ERROR(CheckName("the project", header->project));
  if (header->run != before.run || header->project != before.project) {
    // Another name makes another run of it, the same one for all journals of that run: the run that
    // it was taken from, which may be here too, stays as it is.
    header->run_uid = RenamedUid(before.run_uid, *header);
    Rename(*header, &head);
  }

  const Result<Staging> staging = Staging::Make(target.dir);
  if (!staging.ok()) return staging.status();
  std::string name = FileName(*header);
  const std::string path = JoinPath(staging->path(), name);
  {
    const UniqueFd out(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!out.ok()) return ErrnoStatus(errno, "create", path);
    for (std::string part = std::move(head); !part.empty();) {
      HEADWAY_RETURN_IF_ERROR(WriteAll(out.get(), part, path));
      Result<std::string> next = ReadPart(input);
      if (!next.ok()) return next.status();
      part = *std::move(next);
    }
  }
  ImportedRun made;
  made.name = header->run;
  made.project = header->project;
  made.uid = header->run_uid;
  made.journals = 1;
  const Result<journal::ReadSummary> summary = Summarise(path, &made.start);
  if (!summary.ok()) return summary.status();
  made.records = summary->records;
  if (const Status damage = summary->Check(input->name); !damage.ok()) {
    if (target.strict) return damage;
    problems->push_back(damage);
  }

  const auto known = journal::ListJournals(target.dir, header->project, header->run);
  if (!known.ok()) return known.status();
  for (const journal::JournalFile& file : *known) {
    if (file.header.uid != header->uid) continue;
    std::int64_t start = 0;
    const Result<journal::ReadSummary> old = Summarise(file.path, &start);
    if (old.ok() && old->records >= summary->records) {
      made.unchanged = true;
      return made;
    }
    // The longer copy takes the place of the shorter one.
    const std::string old_name = file.path.substr(file.path.rfind('/') + 1);
    if (old_name != name) {
      if (::rename(path.c_str(), JoinPath(staging->path(), old_name).c_str()) != 0) {
        return ErrnoStatus(errno, "rename", path);
      }
      name = old_name;
    }
  }
  HEADWAY_RETURN_IF_ERROR(staging->Publish(name, target.dir, header->project, header->run));
  return made;
}

}  // namespace headway::cli
