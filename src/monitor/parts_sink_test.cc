#include "monitor/parts_sink.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace headway::monitor {
namespace {

/// Who has which part, and what was put: "a:whole".
struct Service {
  std::map<std::string, std::string> taken;
  std::vector<std::string> puts;
  Status sends;
};

class PartSink final : public Sink {
 public:
  PartSink(Service* service, std::string who, std::string what)
      : service_(service), who_(std::move(who)), what_(std::move(what)) {
    service_->taken[what_] = who_;
  }
  ~PartSink() override { service_->taken.erase(what_); }
  std::string Destination() const override { return what_; }
  DestinationKind Kind() const override { return DestinationKind::kCloudMonitoring; }
  std::int64_t RejectedPoints() const override { return 2; }
  Status Put(const Sample&) override {
    service_->puts.push_back(who_ + ":" + what_);
    return OkStatus();
  }
  Status Deliver(MonoNs) override { return service_->sends; }

 private:
  Service* service_;
  const std::string who_, what_;
};

Result<std::unique_ptr<PartsSink>> Open(Service* service, const std::string& who,
                                        const std::vector<std::string>& whats) {
  std::vector<PartsSink::Part> parts;
  for (const std::string& what : whats) {
    parts.push_back({what, [=]() -> Result<std::unique_ptr<Sink>> {
                       if (what == "bad") return Status(Code::kInvalidArgument, "bad");
                       if (service->taken.contains(what)) {
                         return Status(Code::kFailedPrecondition, "taken");
                       }
                       return std::unique_ptr<Sink>(std::make_unique<PartSink>(service, who, what));
                     }});
  }
  return PartsSink::Open("there", DestinationKind::kCloudMonitoring, std::move(parts));
}

TEST(PartsSinkTest, APartGoesByOneMonitorAtATime) {
  Service service;
  auto a = Open(&service, "a", {"whole", "60s"});
  auto b = Open(&service, "b", {"60s", "600s"});
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_TRUE((*a)->Put({}).ok());
  const Status left = (*b)->Put({});
  EXPECT_EQ(left.code(), Code::kAlreadyExists);
  EXPECT_NE(left.message().find("sends 60s there"), std::string::npos) << left.message();
  EXPECT_EQ(service.puts, (std::vector<std::string>{"a:whole", "a:60s", "b:600s"}));
  EXPECT_TRUE((*b)->Deliver({}).ok());  // nothing of it waits
  EXPECT_EQ((*b)->RejectedPoints(), 2);

  a->reset();
  service.puts.clear();
  EXPECT_TRUE((*b)->Put({}).ok());
  EXPECT_EQ(service.puts, (std::vector<std::string>{"b:60s", "b:600s"}));
}

TEST(PartsSinkTest, OtherErrorsAreErrors) {
  Service service;
  EXPECT_EQ(Open(&service, "a", {"whole", "bad"}).status().code(), Code::kInvalidArgument);
  auto sink = Open(&service, "a", {"whole"});
  ASSERT_TRUE(sink.ok());
  service.sends = {Code::kUnavailable, "no answer"};
  EXPECT_EQ((*sink)->Finish({}).code(), Code::kUnavailable);
}

}  // namespace
}  // namespace headway::monitor
