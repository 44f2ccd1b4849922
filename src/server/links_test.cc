#include "server/links.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/limits.h"
#include "base/sha256.h"
#include "base/test_scratch_dir.h"
#include "store/sqlite/record_store.h"

namespace headway::server {
namespace {

constexpr std::int64_t kDayNs = 24 * 3600 * kNanosPerSecond;

class LinksTest : public testing::Test {
 protected:
  LinksTest() {
    auto opened = store::OpenSqliteStore(dir_.path() + "/records.sqlite", {});
    HEADWAY_CHECK(opened.ok());
    store_ = *std::move(opened);
    runs_ = std::make_unique<RunRegistry>(store_.get(), nullptr, &clock_);
    Load();
    uid_ = MakeRun("r");
    admin_.name = "admin";
    admin_.permissions = Permissions::All();
  }

  void Load() {
    links_ = *Links::Load(store_.get(), &clock_);
    router_ = std::make_unique<ConnectRouter>([this](const HttpRequest& head) -> Result<Caller> {
      const Result<std::optional<Caller>> caller =
          links_->Find(Sha256(head.Header("authorization")));
      if (!caller.ok()) return caller.status();
      if (!*caller) return Status(Code::kUnauthenticated, "nobody");
      return **caller;
    });
    links_->AddTo(router_.get(), runs_.get());
    runs_->AddTo(router_.get());
  }

  RunUid MakeRun(const std::string& name) {
    store::RunRow run;
    run.uid = RandomUid<RunUid>();
    run.project = "p";
    run.name = name;
    run.created = clock_.Wall().ns;
    HEADWAY_CHECK(store_->CreateRun(run, {}).ok());
    return run.uid;
  }

  v1::CreateLinkResponse Make(std::int64_t lifetime_ns = 0) {
    v1::CreateLinkRequest request;
    request.set_project("p");
    request.set_run("r");
    request.set_lifetime_ns(lifetime_ns);
    return links_->Create(admin_, request).value();
  }

  int Read(const std::string& secret) const {
    HttpRequest request;
    request.method = "POST";
    request.path = "/headway.v1.RunService/GetRun";
    request.headers = {{"authorization", secret}, {"content-type", "application/json"}};
    return router_->Answer(request).status;
  }

  std::vector<std::string> Actions() const {
    std::vector<std::string> actions;
    const std::vector<store::AuditRow> rows = *store_->ListAudit(0, 100, "p");
    for (const store::AuditRow& row : rows) {
      actions.push_back(row.action);
    }
    return actions;
  }

  ScratchDir dir_;
  FakeClock clock_{WallNs{1'700'000'000'000'000'000}, MonoNs{0}};
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<RunRegistry> runs_;
  std::unique_ptr<Links> links_;
  std::unique_ptr<ConnectRouter> router_;
  RunUid uid_;
  Caller admin_;
};

TEST_F(LinksTest, EveryBitCounts) {
  const std::string secret = Make().secret();
  ASSERT_EQ(secret.size(), 8u + 64);
  EXPECT_EQ(Read(secret), 200);
  for (std::size_t i = 0; i < secret.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = secret;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      EXPECT_FALSE(links_->Find(Sha256(changed))->has_value()) << i << "." << bit;
      EXPECT_EQ(Read(changed), 401) << i << "." << bit;
    }
  }
}

TEST_F(LinksTest, WhoHasOneReadsOneRun) {
  const Caller caller = links_->Find(Sha256(Make().secret()))->value();
  EXPECT_EQ(caller.run_uid, uid_);
  EXPECT_TRUE(Permissions(Permission::kRunsGet).Include(caller.permissions));
  EXPECT_TRUE(runs_->Find(caller, "p", "r").ok());
  // A later one of its name is another run, however that is asked for.
  clock_.Advance(1);
  const RunUid later = MakeRun("r");
  EXPECT_EQ(runs_->Find(caller, "p", "r").status().code(), Code::kPermissionDenied);
  EXPECT_EQ(runs_->Find(caller, "p", ToHex(later)).status().code(), Code::kPermissionDenied);
  EXPECT_EQ(runs_->Find(caller, "p", ToHex(uid_))->uid, uid_);
  EXPECT_EQ(runs_->Find(caller, "p", runs_->Find(caller, "p", ToHex(uid_))->label)->uid, uid_);
}

TEST_F(LinksTest, TheyEndToTheNanosecond) {
  const v1::CreateLinkResponse week = Make();
  const v1::CreateLinkResponse longest = Make(limits::kLinkDaysMost * kDayNs);
  EXPECT_EQ(week.link().expires() - week.link().created(), 7 * kDayNs);
  clock_.Advance(7 * kDayNs - 1);
  EXPECT_EQ(Read(week.secret()), 200);
  clock_.Advance(1);
  EXPECT_EQ(Read(week.secret()), 401);
  EXPECT_EQ(Read(longest.secret()), 200);
  clock_.Advance(83 * kDayNs);
  EXPECT_EQ(Read(longest.secret()), 401);
}

TEST_F(LinksTest, UseIsWrittenDownOnceADay) {
  const std::string secret = Make(30 * kDayNs).secret();
  const auto uses = [this] {
    const std::vector<std::string> actions = Actions();
    return std::ranges::count(actions, "links.use");
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Read(secret), 200);
  EXPECT_EQ(uses(), 1);
  clock_.Advance(kDayNs - 1);
  Load();
  EXPECT_EQ(Read(secret), 200);
  EXPECT_EQ(uses(), 1);
  clock_.Advance(1);
  EXPECT_EQ(Read(secret), 200);
  EXPECT_EQ(Read(secret), 200);
  EXPECT_EQ(uses(), 2);
}

TEST_F(LinksTest, TheyEndWithTheRun) {
  const std::string secret = Make().secret();
  // As retention does, which asks no registry.
  ASSERT_TRUE(store_->DeleteRun(uid_, clock_.Wall().ns, {}).ok());
  EXPECT_NE(Read(secret), 200);
  v1::UndeleteRunRequest undelete;
  undelete.set_project("p");
  undelete.set_run(ToHex(uid_));
  ASSERT_TRUE(runs_->Undelete(admin_, undelete).ok());
  EXPECT_EQ(Read(secret), 401);
  EXPECT_EQ(Read(Make().secret()), 200);
}

TEST_F(LinksTest, OldOnesAreForgotten) {
  const v1::CreateLinkResponse old = Make();
  clock_.Advance((7 + limits::kLinkForgottenDays) * kDayNs);
  Make();
  EXPECT_EQ(store_->ListLinks()->size(), 2u);
  clock_.Advance(1);
  const v1::CreateLinkResponse kept = Make();
  EXPECT_EQ(store_->ListLinks()->size(), 2u);
  EXPECT_FALSE(links_->Find(Sha256(old.secret()))->has_value());
  EXPECT_EQ(Read(kept.secret()), 200);
  EXPECT_EQ(links_->List(admin_, {})->links_size(), 2);
}

}  // namespace
}  // namespace headway::server
