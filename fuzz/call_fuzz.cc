#include <headway/v1/journal_service.pb.h>
#include <headway/v1/run_service.pb.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/limits.h"
#include "server/connect.h"
#include "server/journal_service.h"
#include "server/run_ledger.h"
#include "store/record_store.h"

// Whatever a body holds, a call is answered, and what a journal's pieces hold can be read as a run
// afterwards. The first byte chooses the method and how the body is sent.

namespace headway::server {
namespace {

/// Keeps what it gets until the end of a call.
class FleetingStore : public store::RecordStore {
 public:
  Status Append(std::span<const store::Batch> batches) override {
    for (const store::Batch& batch : batches) {
      Kept& kept = journals_[batch.identity.uid];
      HEADWAY_CHECK(batch.first_slot * store::kSlotBytes <= kept.slots.size());
      kept.journal.identity = batch.identity;
      const std::size_t at = batch.first_slot * store::kSlotBytes;
      if (kept.slots.size() < at + batch.slots.size()) kept.slots.resize(at + batch.slots.size());
      kept.slots.replace(at, batch.slots.size(), batch.slots);
      kept.journal.state = {.slots = kept.slots.size() / store::kSlotBytes,
                            .counters = batch.counters,
                            .writer = batch.writer,
                            .heard = batch.heard};
    }
    return OkStatus();
  }
  Result<store::Journal> FindJournal(const JournalUid& uid) override {
    const auto found = journals_.find(uid);
    if (found == journals_.end()) return Status(Code::kNotFound, "none");
    return found->second.journal;
  }
  Result<std::string> ReadSlots(const JournalUid& uid, std::uint64_t first,
                                std::uint64_t count) override {
    const std::string& slots = journals_.at(uid).slots;
    const std::uint64_t there = slots.size() / store::kSlotBytes;
    if (first >= there) return std::string();
    return slots.substr(first * store::kSlotBytes,
                        std::min(count, there - first) * store::kSlotBytes);
  }
  Result<bool> WasPurged(const RunUid&) override { return false; }
  Result<std::vector<store::Journal>> ListJournals(const RunUid& uid) override {
    std::vector<store::Journal> all;
    for (const auto& [journal_uid, kept] : journals_) {
      if (kept.journal.identity.run_uid == uid) all.push_back(kept.journal);
    }
    return all;
  }
  Result<std::uint64_t> StoredBytes(const RunUid&) override { return std::uint64_t{0}; }

  std::vector<RunUid> Runs() const {
    std::vector<RunUid> runs;
    for (const auto& [uid, kept] : journals_) runs.push_back(kept.journal.identity.run_uid);
    return runs;
  }

 private:
  struct Kept {
    store::Journal journal;
    std::string slots;
  };
  std::map<JournalUid, Kept> journals_;
};

constexpr std::array<const char*, 3> kPaths = {"/headway.v1.JournalService/AppendJournals",
                                               "/headway.v1.RunService/GetReport",
                                               "/headway.v1.RunService/ListSteps"};

void Call(const std::uint8_t* data, std::size_t size) {
  FleetingStore store;
  const FakeClock clock;
  JournalService journals(&store, &clock);
  ConnectRouter router([](const HttpRequest&) -> Result<Caller> {
    return Caller{.name = "x", .permissions = Permissions::All()};
  });
  journals.AddTo(&router);
  router.Add<v1::GetReportRequest, v1::Report>(
      "headway.v1.RunService.GetReport", Permission::kRunsGet, Scope::kByRequest,
      [](const Caller&, const v1::GetReportRequest&) -> Result<v1::Report> {
        return v1::Report();
      });
  router.Add<v1::ListStepsRequest, v1::ListStepsResponse>(
      "headway.v1.RunService.ListSteps", Permission::kRunsGet, Scope::kByRequest,
      [](const Caller&, const v1::ListStepsRequest&) -> Result<v1::ListStepsResponse> {
        return v1::ListStepsResponse();
      });
  HttpRequest request;
  request.method = "POST";
  request.path = kPaths[(data[0] & 0x0f) % kPaths.size()];
  request.headers = {
      {"content-type", (data[0] & 0x40) != 0 ? "application/json" : "application/proto"}};
  if ((data[0] & 0x80) != 0) request.headers.emplace_back("content-encoding", "zstd");
  request.body.assign(reinterpret_cast<const char*>(data) + 1, size - 1);
  const HttpResponse answer = router.Answer(request);
  HEADWAY_CHECK(answer.status == 200 || answer.body.starts_with("{\"code\":\""));
  for (const RunUid& uid : store.Runs()) {
    RunLedger run(&store, nullptr, {.clock = &clock}, uid);
    HEADWAY_CHECK(run.Refresh().ok());
    run.ledger()->MakeReport();
  }
}

}  // namespace
}  // namespace headway::server

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 0) headway::server::Call(data, size);
  return 0;
}
