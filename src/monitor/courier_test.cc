#include "monitor/courier.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace headway::monitor {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

/// What a sink has seen, and what it is to do; outlives it.
struct Script {
  std::atomic<int> puts{0};
  std::atomic<int> deliveries{0};
  std::atomic<int> finishes{0};
  std::atomic<int> failing{0};  // so many deliveries fail
  std::atomic<bool> throws{false};
  std::atomic<std::int64_t> takes_ns{0};  // a delivery
};

class ScriptedSink final : public Sink {
 public:
  explicit ScriptedSink(Script* script) : script_(script) {}
  std::string Destination() const override { return "a test"; }
  DestinationKind Kind() const override { return DestinationKind::kFile; }
  Status Put(const Sample&) override {
    ++script_->puts;
    if (script_->throws) throw std::runtime_error("thrown");
    return OkStatus();
  }
  Status Deliver(MonoNs deadline) override {
    ++script_->deliveries;
    const MonoNs until = std::min(deadline, SystemClock::MonoNow() + script_->takes_ns);
    while (SystemClock::MonoNow() < until) std::this_thread::yield();
    if (script_->failing <= 0) return OkStatus();
    --script_->failing;
    return {Code::kUnavailable, "no answer"};
  }
  Status Finish(MonoNs deadline) override {
    ++script_->finishes;
    return Deliver(deadline);
  }

 private:
  Script* script_;
};

MonoNs In(std::int64_t ns) { return SystemClock::MonoNow() + ns; }

TEST(CourierTest, DeliversWhatItIsHandedBeforeItEnds) {
  Script script;
  Courier courier(std::make_unique<ScriptedSink>(&script), kNanosPerSecond);
  for (int i = 0; i < 3; ++i) courier.Post(std::make_shared<Sample>());
  courier.Close(In(10 * kNanosPerSecond));
  EXPECT_TRUE(courier.WaitForEnd(In(10 * kNanosPerSecond)));
  EXPECT_EQ(script.puts, 3);
  EXPECT_EQ(courier.state().samples, 3);
  EXPECT_TRUE(courier.state().delivered.has_value());
  EXPECT_EQ(courier.state().error, "");
}

TEST(CourierTest, TriesAgainInTheTimeThatIsLeft) {
  Script script;
  script.failing = 2;
  Courier courier(std::make_unique<ScriptedSink>(&script), kNanosPerSecond);
  courier.Post(std::make_shared<Sample>());
  courier.Close(In(10 * kNanosPerSecond));
  EXPECT_TRUE(courier.WaitForEnd(In(10 * kNanosPerSecond)));
  EXPECT_GE(script.deliveries, 3);
  EXPECT_EQ(script.puts, 1);
}

TEST(CourierTest, EndsInTimeAndSaysWhatIsAmiss) {
  Script script;
  script.failing = 1'000'000;
  Courier courier(std::make_unique<ScriptedSink>(&script), kNanosPerSecond);
  courier.Post(std::make_shared<Sample>());
  const MonoNs until = In(300 * kMillisecond);
  courier.Close(until);
  EXPECT_TRUE(courier.WaitForEnd(until + 5 * kNanosPerSecond));
  EXPECT_EQ(courier.state().error, "no answer");
  EXPECT_GT(courier.state().failures, 0);
  EXPECT_TRUE(courier.state().failed.has_value());
}

TEST(CourierTest, SendsTheLastSampleInTheTimeThereIs) {
  Script script;
  script.takes_ns = 60 * kNanosPerSecond;  // or until its deadline
  script.failing = 1'000'000;
  Courier courier(std::make_unique<ScriptedSink>(&script), 60 * kNanosPerSecond);
  courier.Close(In(200 * kMillisecond), std::make_shared<Sample>());
  EXPECT_TRUE(courier.WaitForEnd(In(20 * kNanosPerSecond)));
  EXPECT_EQ(courier.state().samples, 1);
  EXPECT_EQ(courier.state().error, "no answer");
  EXPECT_EQ(courier.state().code, Code::kUnavailable);
}

/// Delivers when it may.
class HeldSink final : public Sink {
 public:
  explicit HeldSink(std::atomic<bool>* held) : held_(held) {}
  std::string Destination() const override { return "a test"; }
  DestinationKind Kind() const override { return DestinationKind::kFile; }
  Status Put(const Sample&) override { return OkStatus(); }
  Status Deliver(MonoNs) override {
    while (*held_) std::this_thread::yield();
    return OkStatus();
  }

 private:
  std::atomic<bool>* held_;
};

TEST(CourierTest, OfSamplesThatWaitTheLastAloneHoldsTheLog) {
  std::atomic<bool> held{true};
  Courier courier(std::make_unique<HeldSink>(&held), kNanosPerSecond);
  std::weak_ptr<const Sample> first;
  {
    const auto sample = std::make_shared<const Sample>();
    first = sample;
    courier.Post(sample);
  }
  while (!first.expired()) std::this_thread::yield();  // it has been taken; the others wait
  std::vector<std::weak_ptr<const compat::EntryLog>> logs;
  for (const std::int64_t edition : {1, 1, 1, 2, 2}) {
    auto sample = std::make_shared<Sample>();
    sample->log = std::make_shared<const compat::EntryLog>();
    sample->log_edition = edition;
    logs.emplace_back(sample->log);
    courier.Post(std::move(sample));
  }
  std::vector<bool> kept;
  for (const auto& log : logs) kept.push_back(!log.expired());
  EXPECT_EQ(kept, (std::vector<bool>{false, false, true, false, true}));
  held = false;
  courier.Close(In(10 * kNanosPerSecond));
  EXPECT_TRUE(courier.WaitForEnd(In(10 * kNanosPerSecond)));
}

TEST(CourierTest, NeverMakesAnyoneWait) {
  Script script;
  script.takes_ns = 400 * kMillisecond;
  Courier courier(std::make_unique<ScriptedSink>(&script), 400 * kMillisecond);
  courier.Post(std::make_shared<Sample>());
  while (script.deliveries == 0) std::this_thread::yield();
  const MonoNs begin = SystemClock::MonoNow();
  for (int i = 0; i < 150; ++i) courier.Post(std::make_shared<Sample>());
  EXPECT_FALSE(courier.WaitForEnd(In(kMillisecond)));
  EXPECT_LT(SystemClock::MonoNow() - begin, 300 * kMillisecond);
  courier.Close(In(10 * kNanosPerSecond));
  EXPECT_TRUE(courier.WaitForEnd(In(10 * kNanosPerSecond)));
  // The oldest ones have made room.
  EXPECT_EQ(courier.state().missed, 50);
  EXPECT_EQ(script.puts, 101);
}

TEST(CourierTest, TheLastRoundIsOneOfItsOwn) {
  for (int i = 0; i < 20; ++i) {
    Script script;
    script.takes_ns = 3 * kMillisecond;
    Courier courier(std::make_unique<ScriptedSink>(&script), kNanosPerSecond);
    courier.Post(std::make_shared<Sample>());
    while (script.deliveries == 0) std::this_thread::yield();
    courier.Close(In(10 * kNanosPerSecond));  // while it is at it
    EXPECT_TRUE(courier.WaitForEnd(In(10 * kNanosPerSecond)));
    EXPECT_GE(script.finishes, 1);
  }
}

TEST(CourierTest, WhatASinkThrowsIsAnErrorOfItsOwn) {
  Script script;
  script.throws = true;
  Courier courier(std::make_unique<ScriptedSink>(&script), kNanosPerSecond);
  courier.Post(std::make_shared<Sample>());
  courier.Close(In(10 * kNanosPerSecond));
  EXPECT_TRUE(courier.WaitForEnd(In(10 * kNanosPerSecond)));
  EXPECT_EQ(courier.state().error, "thrown");
}

}  // namespace
}  // namespace headway::monitor
