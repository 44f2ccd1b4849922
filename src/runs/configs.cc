#include "runs/configs.h"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "base/limits.h"
#include "journal/format.h"

namespace headway::runs {
namespace {

std::size_t HashOf(const FlatConfig& config) {
  const std::hash<std::string> hash;
  std::size_t sum = config.left_out;
  for (const ConfigEntry& entry : config.entries) {
    sum = sum * 31 + hash(entry.path);
    sum = sum * 31 + hash(entry.value);
  }
  return sum;
}

}  // namespace

std::shared_ptr<const FlatConfig> ConfigCollector::Share(FlatConfig config) {
  const std::size_t hash = HashOf(config);
  const auto [begin, end] = known_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (*it->second == config) return it->second;
  }
  return known_.emplace(hash, std::make_shared<const FlatConfig>(std::move(config)))->second;
}

Status ConfigCollector::Add(journal::JournalReader* reader, const NameTable& names,
                            std::int64_t attempt) {
  std::vector<Record> said;
  std::vector<Record> batch(1024);
  while (true) {
    const Result<std::size_t> got = reader->Next(batch);
    if (!got.ok()) return got.status();
    if (*got == 0) break;
    for (const Record& record : std::span(batch).subspan(0, *got)) {
      if (record.type == RecordType::kConfig) said.push_back(record);
    }
  }
  std::ranges::sort(said, {}, &Record::seq);  // what filled a hole comes late
  std::map<std::string, ConfigValue, std::less<>> merged;
  for (const Record& record : said) {
    const std::string config_class(names.Text(record.name));
    const auto tell = [&](const Status& why) {
      problems_.emplace_back(
          why.code(), reader->path() + ": the " + config_class + " configuration in record " +
                          std::to_string(record.seq) + " is left out: " + why.message());
    };
    const Result<std::string> json = reader->Payload(record.seq);
    if (!json.ok()) {
      tell(json.status());
      continue;
    }
    Result<ConfigValue> value = parse_(*json);
    if (!value.ok()) {
      tell(value.status());
      continue;
    }
    if (value->items.empty()) continue;  // an import knows that something was said, not what
    const auto [kept, fresh] = merged.try_emplace(config_class);
    if (fresh) {
      kept->second = *std::move(value);
    } else if (CountValues(kept->second) + CountValues(*value) > 2 * limits::kConfigValues) {
      tell({Code::kResourceExhausted, "with what was recorded before there are more than " +
                                          std::to_string(2 * limits::kConfigValues) + " values"});
    } else {
      Update(&kept->second, *std::move(value));
    }
  }
  if (merged.empty()) return OkStatus();
  const Writer writer = journal::ToModelWriter(reader->header());
  ConfigProcess process;
  process.uid = writer.uid;
  process.name = writer.name;
  process.rank = writer.rank;
  process.host = writer.host;
  process.pid = writer.pid;
  process.supervisor = writer.supervisor;
  process.attempt = attempt;
  for (const auto& [config_class, value] : merged) {
    process.configs.emplace(config_class, Share(Flatten(value)));
  }
  processes_.push_back(std::move(process));
  return OkStatus();
}

RunConfig ConfigCollector::Take() {
  known_.clear();
  return MakeRunConfig(std::exchange(processes_, {}));
}

Result<RunConfig> ReadConfigs(const Run& run, ledger::Ledger* ledger, ConfigParser parse,
                              std::vector<Status>* problems) {
  ConfigCollector collector(parse);
  const std::map<std::string, std::int64_t> attempts = AttemptsOf(run, ledger);
  for (const journal::JournalFile& file : run.journals) {
    NameTable names;
    Result<journal::JournalReader> reader =
        journal::JournalReader::Open(file.path, {.names = &names});
    if (!reader.ok()) {
      problems->push_back(reader.status());
      continue;
    }
    HEADWAY_RETURN_IF_ERROR(collector.Add(&*reader, names, attempts.at(ToHex(file.header.uid))));
  }
  for (const Status& problem : collector.problems()) problems->push_back(problem);
  RunConfig config = collector.Take();
  config.run = run.label;
  config.project = run.project;
  return config;
}

}  // namespace headway::runs
