#include "monitor/deferred_sink.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace headway::monitor {
namespace {

using Times = std::vector<std::int64_t>;

/// Remembers what it was given.
class Remembering final : public Sink {
 public:
  Remembering(Times* times, int* logs) : times_(times), logs_(logs) {}
  std::string Destination() const override { return "memory"; }
  DestinationKind Kind() const override { return DestinationKind::kOtlp; }
  Status Put(const Sample& sample) override {
    times_->push_back(sample.time_ns);
    *logs_ += sample.log != nullptr ? 1 : 0;
    return OkStatus();
  }

 private:
  Times* times_;
  int* logs_;
};

Sample At(std::int64_t time_ns) {
  Sample sample;
  sample.time_ns = time_ns;
  sample.log = std::make_shared<const compat::EntryLog>();
  return sample;
}

TEST(DeferredSinkTest, WhatCameBeforeItWasOpenIsPutInOrder) {
  Times times;
  int logs = 0;
  int tries = 0;
  DeferredSink sink("memory", DestinationKind::kOtlp, [&](MonoNs) -> Result<std::unique_ptr<Sink>> {
    if (++tries == 1) return Status(Code::kUnavailable, "not yet");
    return std::unique_ptr<Sink>(std::make_unique<Remembering>(&times, &logs));
  });
  for (std::int64_t i = 0; i < 3; ++i) ASSERT_TRUE(sink.Put(At(i)).ok());
  EXPECT_EQ(sink.Deliver(MonoNs{1}).code(), Code::kUnavailable);
  EXPECT_TRUE(times.empty());
  ASSERT_TRUE(sink.Put(At(3)).ok());
  ASSERT_TRUE(sink.Deliver(MonoNs{1}).ok());
  EXPECT_EQ(times, (Times{0, 1, 2, 3}));
  EXPECT_EQ(logs, 1);  // the last one holds the others
  ASSERT_TRUE(sink.Put(At(4)).ok());
  ASSERT_TRUE(sink.Finish(MonoNs{1}).ok());
  EXPECT_EQ(times.size(), 5U);
}

TEST(DeferredSinkTest, KeepsTheLatestHundred) {
  Times times;
  int logs = 0;
  DeferredSink sink("memory", DestinationKind::kOtlp, [&](MonoNs) -> Result<std::unique_ptr<Sink>> {
    return std::unique_ptr<Sink>(std::make_unique<Remembering>(&times, &logs));
  });
  for (std::int64_t i = 0; i < 250; ++i) ASSERT_TRUE(sink.Put(At(i)).ok());
  ASSERT_TRUE(sink.Deliver(MonoNs{1}).ok());
  ASSERT_EQ(times.size(), 100U);
  EXPECT_EQ(times.front(), 150);
  EXPECT_EQ(times.back(), 249);
}

TEST(DeferredSinkTest, NothingWaitsForADestinationThatIsNowhere) {
  DeferredSink sink("memory", DestinationKind::kOtlp, [](MonoNs) -> Result<std::unique_ptr<Sink>> {
    return std::unique_ptr<Sink>();
  });
  for (int look = 0; look < 4; ++look) {
    EXPECT_EQ(sink.Destination(), "memory");
    ASSERT_TRUE(sink.Put(At(look)).ok());
    ASSERT_TRUE(sink.Deliver(MonoNs{1}).ok());
  }
  EXPECT_EQ(sink.Destination(), "memory" + std::string(DeferredSink::kOff));
  ASSERT_TRUE(sink.Put(At(5)).ok());
  ASSERT_TRUE(sink.Finish(MonoNs{1}).ok());
}

TEST(DeferredSinkTest, ADestinationThatIsFoundLaterGetsAllOfIt) {
  Times times;
  int logs = 0;
  int looks = 0;
  DeferredSink sink("memory", DestinationKind::kOtlp, [&](MonoNs) -> Result<std::unique_ptr<Sink>> {
    if (++looks < 4) return std::unique_ptr<Sink>();
    return std::unique_ptr<Sink>(std::make_unique<Remembering>(&times, &logs));
  });
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(times.empty());
    ASSERT_TRUE(sink.Put(At(i)).ok());
    ASSERT_TRUE(sink.Deliver(MonoNs{1}).ok());
  }
  EXPECT_EQ(times, (Times{0, 1, 2, 3}));
}

TEST(DeferredSinkTest, AtTheEndIsTheLastLook) {
  DeferredSink sink("memory", DestinationKind::kOtlp, [](MonoNs) -> Result<std::unique_ptr<Sink>> {
    return std::unique_ptr<Sink>();
  });
  ASSERT_TRUE(sink.Put(At(1)).ok());
  ASSERT_TRUE(sink.Finish(MonoNs{1}).ok());
  EXPECT_EQ(sink.Destination(), "memory" + std::string(DeferredSink::kOff));
}

}  // namespace
}  // namespace headway::monitor
