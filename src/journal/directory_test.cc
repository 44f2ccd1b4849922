#include "journal/directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "journal/placement.h"
#include "journal/test_files.h"

namespace headway::journal {
namespace {

class DirectoryTest : public testing::Test {
 protected:
  // A finished journal with the given records of (type, a).
  RunUid Write(const std::string& run, RunUid uid, std::int64_t wall_seconds,
               const std::vector<std::pair<RecordType, std::int64_t>>& records,
               std::int64_t rank = 0, Origin origin = Origin::kRecorder) {
    WriterOptions options;
    FakeClock clock(WallNs{wall_seconds * kNanosPerSecond});
    options.clock = &clock;
    options.header.project = "p";
    options.header.run = run;
    options.header.run_uid = uid;
    options.header.rank = rank;
    options.header.origin = origin;
    options.header.attempt_key = key_;
    options.header.world_size = 2;
    EXPECT_TRUE(MakeAndOpenDirectory(dir_.path(), {"journals", "p", MakePathComponent(run)}).ok());
    auto writer = JournalWriter::Create(RunDirectory(dir_.path(), "p", run), options);
    EXPECT_TRUE(writer.ok()) << writer.status().ToString();
    for (const auto& [type, a] : records) {
      (*writer)->Append(MetaHigh(type, 0), (*writer)->Now(), a, 0);
    }
    return uid;
  }
  Result<RunChoice> Choose(const std::string& run, Resume resume = Resume::kAuto,
                           const std::string& job_id = "", std::int64_t attempt_index = -1) {
    RunRequest request;
    request.dirs = {dir_.path() + "/elsewhere", dir_.path()};
    request.project = "p";
    request.run = run;
    request.resume = resume;
    request.job_id = job_id;
    request.attempt_index = attempt_index;
    return ChooseRun(request);
  }

  ScratchDir dir_;
  std::string key_;  // of what is written next
  const RunUid a_ = DeriveUid<RunUid>("a");
  const RunUid b_ = DeriveUid<RunUid>("b");
};

TEST_F(DirectoryTest, ListsWhatIsThere) {
  EXPECT_TRUE(ListProjects(dir_.path())->empty());
  const std::string odd = "../x y";
  const std::string longest(256, 'z');
  Write("r", a_, 20, {});
  Write("r", a_, 10, {});
  Write(odd, a_, 1, {});
  Write(longest, a_, 1, {});
  EXPECT_EQ(*ListProjects(dir_.path()), std::vector<std::string>{"p"});
  EXPECT_EQ(*ListRuns(dir_.path(), "p"), (std::vector<std::string>{odd, "r", longest}));
  EXPECT_TRUE(ListRuns(dir_.path(), "q")->empty());
  const auto journals = ListJournals(dir_.path(), "p", "r");
  ASSERT_EQ(journals->size(), 2u);
  EXPECT_LT((*journals)[0].header.anchor.wall, (*journals)[1].header.anchor.wall);
}

TEST_F(DirectoryTest, DescribesWhatIsNoJournal) {
  Write("r", a_, 1, {});
  const std::string directory = RunDirectory(dir_.path(), "p", "r");
  WriteBytes(directory + "/broken.hwj", "");
  WriteBytes(directory + "/notes.txt", "");
  WriteBytes(directory + "/.hidden.hwj", "");
  std::vector<Status> problems;
  EXPECT_EQ(ListJournals(dir_.path(), "p", "r", &problems)->size(), 1u);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].message().find("broken.hwj"), std::string::npos);
}

TEST_F(DirectoryTest, AutoContinuesUnlessTheEndWasClean) {
  EXPECT_FALSE(Choose("r")->continued);
  Write("r", a_, 10, {{RecordType::kStepStart, 1}});
  EXPECT_EQ(Choose("r")->uid, a_);
  EXPECT_TRUE(Choose("r")->continued);
  EXPECT_FALSE(Choose("other")->continued);
  Write("r", a_, 20, {{RecordType::kStepStart, 2}, {RecordType::kJobEnd, 1}});
  EXPECT_EQ(Choose("r")->uid, a_);  // failed
  Write("r", a_, 30, {{RecordType::kStepStart, 3}, {RecordType::kJobEnd, 0}});
  EXPECT_NE(Choose("r")->uid, a_);
  EXPECT_FALSE(Choose("r")->continued);
  Write("r", b_, 40, {{RecordType::kStepStart, 1}});
  EXPECT_EQ(Choose("r")->uid, b_);
}

TEST_F(DirectoryTest, TheLeadDecidesWhetherTheEndWasClean) {
  Write("r", a_, 10, {{RecordType::kJobEnd, 0}}, 0);
  Write("r", a_, 11, {{RecordType::kStepStart, 3}}, 1);
  EXPECT_NE(Choose("r")->uid, a_);
  Write("s", a_, 10, {{RecordType::kStepStart, 3}}, 0);
  Write("s", a_, 11, {{RecordType::kJobEnd, 0}}, 1);
  EXPECT_EQ(Choose("s")->uid, a_);
}

TEST_F(DirectoryTest, ALateRankJoinsTheRunOfTheOthers) {
  const auto choose = [this](std::int64_t rank, std::int64_t world_size, std::int64_t now_seconds) {
    RunRequest request;
    request.dirs = {dir_.path()};
    request.project = "p";
    request.run = "r";
    request.rank = rank;
    request.world_size = world_size;
    request.now = WallNs{now_seconds * kNanosPerSecond};
    return ChooseRun(request)->uid;
  };
  Write("r", a_, 1000, {{RecordType::kJobEnd, 0}}, 0);  // of a world of 2
  EXPECT_EQ(choose(1, 2, 1010), a_);
  EXPECT_NE(choose(0, 2, 1010), a_);  // has been there: a new run
  EXPECT_NE(choose(1, 3, 1010), a_);  // another world
  EXPECT_NE(choose(1, 2, 1700), a_);  // too late
  EXPECT_NE(choose(-1, 2, 1010), a_);
  Write("r", a_, 1020, {{RecordType::kJobEnd, 0}}, 1);
  EXPECT_NE(choose(1, 2, 1030), a_);
}

TEST_F(DirectoryTest, AJournalAndItsCopyAreOne) {
  // The copy lags behind: it has not got the end yet.
  Write("r", a_, 1000, {{RecordType::kStepStart, 1}, {RecordType::kJobEnd, 0}}, 0);
  const std::string path = ListJournals(dir_.path(), "p", "r")->front().path;
  const ScratchDir other;
  ASSERT_TRUE(MakeAndOpenDirectory(other.path(), {"journals", "p", "r"}).ok());
  WriteBytes(RunDirectory(other.path(), "p", "r") + path.substr(path.rfind('/')),
             ReadBytes(path).substr(0, SlotOffset(1)));
  RunRequest request;
  request.project = "p";
  request.run = "r";
  request.now = WallNs{1010 * kNanosPerSecond};
  for (const bool copy_first : {true, false}) {
    request.dirs = {copy_first ? other.path() : dir_.path(),
                    copy_first ? dir_.path() : other.path()};
    request.rank = -1;
    EXPECT_FALSE(ChooseRun(request)->continued) << "it has ended";
  }
  Write("r", a_, 1001, {{RecordType::kJobEnd, 0}}, 1);
  request.rank = 1;
  request.world_size = 2;
  EXPECT_FALSE(ChooseRun(request)->continued) << "rank 0 has not started twice";
}

TEST_F(DirectoryTest, ContinuedMeansThatThereWasAnEarlierAttempt) {
  RunRequest request;
  request.dirs = {dir_.path()};
  request.project = "p";
  request.run = "r";
  request.run_uid = a_;
  request.rank = 0;
  request.attempt_key = "key#0";
  EXPECT_FALSE(ChooseRun(request)->continued);
  key_ = "key#0";
  Write("r", a_, 10, {{RecordType::kHeartbeat, 0}}, -1, Origin::kSupervisor);
  EXPECT_FALSE(ChooseRun(request)->continued) << "its own supervisor";
  Write("r", a_, 10, {}, 1);
  EXPECT_FALSE(ChooseRun(request)->continued) << "another rank of this attempt";
  Write("r", a_, 10, {}, 0);
  EXPECT_TRUE(ChooseRun(request)->continued) << "the key was used before";
  request.rank = 2;
  EXPECT_FALSE(ChooseRun(request)->continued);
  key_ = "key#1";
  Write("r", a_, 20, {}, 1);
  EXPECT_TRUE(ChooseRun(request)->continued);
  request.attempt_key = "";
  EXPECT_TRUE(ChooseRun(request)->continued);
}

TEST_F(DirectoryTest, APreemptedRunIsContinued) {
  Write("r", a_, 10, {{RecordType::kNotice, 15}, {RecordType::kJobEnd, 0}});
  EXPECT_EQ(Choose("r")->uid, a_);
}

TEST_F(DirectoryTest, AJobNamesItsRunWhereverItLands) {
  const RunUid of_job = RunUidOfJob("p", "r", "slurm:c/7");
  EXPECT_EQ(Choose("r", Resume::kAuto, "slurm:c/7")->uid, of_job);
  EXPECT_EQ(ToHex(of_job), "890d471dd91c837091812aa7e6768299") << "part of the format";
  Write("r", a_, 10, {{RecordType::kStepStart, 1}});
  EXPECT_EQ(Choose("r", Resume::kAuto, "slurm:c/7")->uid, of_job);
  EXPECT_NE(RunUidOfJob("p", "r", "slurm:c/8"), of_job);
  EXPECT_NE(RunUidOfJob("p", "rs", "lurm:c/7"), of_job);
}

TEST_F(DirectoryTest, MustAndNever) {
  EXPECT_EQ(Choose("r", Resume::kMust).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(Choose("r", Resume::kMust, "j", 0).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(Choose("r", Resume::kMust, "j", 2)->uid, RunUidOfJob("p", "r", "j"));
  Write("r", a_, 10, {{RecordType::kJobEnd, 0}});
  EXPECT_EQ(Choose("r", Resume::kMust)->uid, a_);
  EXPECT_EQ(Choose("r", Resume::kMust, "j")->uid, a_);
  EXPECT_NE(Choose("r", Resume::kNever)->uid, a_);
  EXPECT_NE(Choose("r", Resume::kNever)->uid, Choose("r", Resume::kNever)->uid);
}

TEST_F(DirectoryTest, ASupervisorsUidSettlesIt) {
  RunRequest request;
  request.dirs = {dir_.path()};
  request.project = "p";
  request.run = "r";
  request.run_uid = b_;
  request.resume = Resume::kNever;
  EXPECT_EQ(ChooseRun(request)->uid, b_);
}

TEST(ResumeTest, Parses) {
  EXPECT_EQ(*ParseResume(""), Resume::kAuto);
  EXPECT_EQ(*ParseResume("auto"), Resume::kAuto);
  EXPECT_EQ(*ParseResume("must"), Resume::kMust);
  EXPECT_EQ(*ParseResume("never"), Resume::kNever);
  EXPECT_EQ(ParseResume("Must").status().code(), Code::kInvalidArgument);
}

TEST(PlacementTest, KnownFileSystems) {
  EXPECT_EQ(ExaminePlace("/dev/shm"), Placement::kMapped);
  EXPECT_EQ(ExaminePlace("/dev/shm/not/there/yet"), Placement::kMapped);
  EXPECT_EQ(ExaminePlace("/proc"), Placement::kLocal);
}

TEST(PlacementTest, NetworkPlacesAreWrittenNodeLocally) {
  const ScratchDir dir("/dev/shm");
  const std::string node = dir.path() + "/local";
  const PlaceRules local = {.node_local = node};
  const Place lead = ChoosePlaceFor(Placement::kNetwork, "/nfs/runs", 0, local);
  EXPECT_EQ(lead.dir, node);
  EXPECT_EQ(lead.destination, "/nfs/runs");
  const Place other = ChoosePlaceFor(Placement::kNetwork, "/nfs/runs", 5, local);
  EXPECT_EQ(other.dir, node);
  EXPECT_EQ(other.destination, "");
  // Whoever copies it there may have another working directory.
  const Place relative = ChoosePlaceFor(Placement::kNetwork, "runs", 0, local);
  EXPECT_EQ(relative.destination, std::filesystem::current_path().string() + "/runs");
  EXPECT_EQ(ChoosePlaceFor(Placement::kMapped, "/ext4", 5, local).dir, "/ext4");
  EXPECT_EQ(ChoosePlaceFor(Placement::kLocal, "/zfs", 5, local).dir, "/zfs");
  ASSERT_EQ(::chmod(node.c_str(), 0755), 0);  // open to others: not trusted
  EXPECT_EQ(ChoosePlaceFor(Placement::kNetwork, "/nfs/runs", 0, local).dir, "/nfs/runs");
}

TEST(PlacementTest, TheUsersWordOutweighsTheFileSystem) {
  const ScratchDir dir("/dev/shm");
  EXPECT_EQ(ExaminePlace(dir.path(), {.file_system = "network"}), Placement::kNetwork);
  EXPECT_EQ(ExaminePlace(dir.path(), {.file_system = "local"}), Placement::kLocal);
  EXPECT_EQ(ExaminePlace(dir.path(), {.file_system = "elsewhere"}), Placement::kMapped);
  const std::string node = dir.path() + "/node";
  const Place place = ChoosePlace(dir.path(), 0, {.file_system = "network", .node_local = node});
  EXPECT_EQ(place.dir, node);
  EXPECT_EQ(place.destination, dir.path());
}

}  // namespace
}  // namespace headway::journal
