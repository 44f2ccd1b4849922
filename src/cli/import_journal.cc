#include "cli/import_journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/time_format.h"
#include "cli/place.h"
#include "journal/directory.h"
#include "journal/reader.h"

namespace headway::cli {
namespace {

constexpr std::size_t kPartBytes = std::size_t{1} << 20;

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

// What is no whole record is a problem, or the end of the import.
Status Judge(const journal::ReadSummary& summary, const std::string& name, bool strict,
             std::vector<JournalProblem>* problems) {
  std::vector<JournalProblem> found;
  for (const journal::Finding& finding : summary.findings) {
    if (finding.kind == journal::FindingKind::kInProgress) continue;
    found.push_back({name, finding.offset, finding.slots * journal::kSlotBytes,
                     std::string(journal::FindingCode(finding.kind)),
                     journal::FindingText(finding)});
  }
  if (summary.damaged_counter) {
    found.push_back({name, journal::kLiveDroppedOffset, sizeof(std::uint64_t), "journal_damage",
                     "the count of dropped records at byte " +
                         std::to_string(journal::kLiveDroppedOffset) + " is damaged"});
  }
  if (strict && !found.empty()) {
    HEADWAY_RETURN_IF_ERROR(summary.Check(name));
    return {Code::kDataLoss,
            name + ": " + found.front().sentence + "; import without --strict to leave it out"};
  }
  problems->insert(problems->end(), found.begin(), found.end());
  return OkStatus();
}

// Whether the file at `path` holds `head` and then what follows it in `input`. Moves nothing; false
// for what can't be read twice.
bool IsTheSame(const Input& input, const std::string& head, const std::string& path) {
  struct stat info;
  if (::fstat(input.fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  const off_t at = ::lseek(input.fd.get(), 0, SEEK_CUR);
  const Result<UniqueFd> there = OpenForReading(path);
  if (at < 0 || !there.ok()) return false;
  std::string mine(kPartBytes, '\0');
  std::string theirs(std::max(kPartBytes, head.size()), '\0');
  const auto begin = static_cast<std::uint64_t>(at);
  Result<std::size_t> got = ReadAt(there->get(), theirs.data(), head.size(), 0, path);
  if (!got.ok() || *got != head.size() || theirs.compare(0, *got, head) != 0) return false;
  for (std::uint64_t done = 0;; done += *got) {
    got = ReadAt(input.fd.get(), mine.data(), mine.size(), begin + done, input.name);
    const Result<std::size_t> other =
        ReadAt(there->get(), theirs.data(), mine.size(), head.size() + done, path);
    if (!got.ok() || !other.ok() || *got != *other) return false;
    if (std::memcmp(mine.data(), theirs.data(), *got) != 0) return false;
    if (*got < mine.size()) return true;
  }
}

}  // namespace

Result<ImportedRun> CopyJournal(Input* input, const JournalTarget& target,
                                std::vector<JournalProblem>* problems) {
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

  ImportedRun made;
  made.name = header->run;
  made.project = header->project;
  made.uid = header->run_uid;
  made.journals = 1;
  made.journal = header->uid;
  const auto known = journal::ListJournals(target.dir, header->project, header->run);
  if (!known.ok()) return known.status();
  for (const journal::JournalFile& file : *known) {
    if (file.header.uid != header->uid || !IsTheSame(*input, head, file.path)) continue;
    // Nothing is written then, not even for a moment: the directory may be read-only.
    const Result<journal::ReadSummary> summary = Summarise(file.path, &made.start);
    if (!summary.ok()) return summary.status();
    HEADWAY_RETURN_IF_ERROR(Judge(*summary, input->name, target.strict, problems));
    made.records = summary->records;
    made.unchanged = true;
    return made;
  }

  const Result<Staging> staging = Staging::Make(target.dir);
  if (!staging.ok()) return staging.status();
  std::string name = FileName(*header);
  const std::string path = JoinPath(staging->path(), name);
  {
    const UniqueFd out = OpenFile(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (!out.ok()) return ErrnoStatus(errno, "create", path);
    off_t size = 0;
    for (std::string part = std::move(head); !part.empty();) {
      // Space that was reserved, or a hole, takes none here either.
      if (part.find_first_not_of('\0') == std::string::npos) {
        ::lseek(out.get(), static_cast<off_t>(part.size()), SEEK_CUR);
      } else {
        HEADWAY_RETURN_IF_ERROR(WriteAll(out.get(), part, path));
      }
      size += static_cast<off_t>(part.size());
      Result<std::string> next = ReadPart(input);
      if (!next.ok()) return next.status();
      part = *std::move(next);
    }
    if (::ftruncate(out.get(), size) != 0) return ErrnoStatus(errno, "extend", path);
  }
  const Result<journal::ReadSummary> summary = Summarise(path, &made.start);
  if (!summary.ok()) return summary.status();
  made.records = summary->records;
  HEADWAY_RETURN_IF_ERROR(Judge(*summary, input->name, target.strict, problems));

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
