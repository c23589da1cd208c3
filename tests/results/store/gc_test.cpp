#include "results/store/gc.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <map>

#include "harness/base/fs.hpp"
#include "results/store/acceptance.hpp"
#include "results/store/gated_nights.hpp"
#include "results/store/store.hpp"
#include "tests/results/stored_nights.hpp"

namespace nb {
namespace {

using test::StoredNights;

std::string day(int number) { return "2026-11-" + std::to_string(10 + number); }
std::string hour(int number) { return day(number) + "T03:00:00Z"; }

// n nights of the suite "smoke", each with what npubench nightly writes beside it.
void add_nights(const StoredNights& nights, int n) {
  for (int i = 0; i < n; ++i) {
    nights.add(day(i) + "/smoke", hour(i), 1 + .01 * i);
    ASSERT_TRUE(write_file(nights.path(day(i)) / "gate.log", "PASS\n"));
    ASSERT_TRUE(write_file(nights.path(day(i)) / "report/report.html", "<html>\n"));
  }
}

GcPlan plan_of(const StoredNights& nights, std::size_t keep_last) {
  auto plan = plan_gc(nights.index(), keep_last);
  EXPECT_TRUE(plan) << plan.error().message;
  return std::move(*plan);
}

std::vector<std::string> going(const GcPlan& plan) {
  std::vector<std::string> names;
  for (const GcTarget& target : plan.targets) names.push_back(target.name);
  return names;
}

std::map<std::string, std::string> keeping(const GcPlan& plan) {
  std::map<std::string, std::string> reasons;
  for (const GcRun& run : plan.runs)
    if (!run.keeps.empty()) reasons[run.name] = run.keeps;
  return reasons;
}

GcDone remove_all_of(const GcPlan& plan) {
  auto done = remove_planned(plan);
  EXPECT_TRUE(done) << done.error().message;
  return done ? std::move(*done) : GcDone();
}

TEST(Gc, NewestNightsOfASequenceStay) {
  const StoredNights nights;
  add_nights(nights, 5);
  const GcPlan plan = plan_of(nights, 2);
  EXPECT_EQ(going(plan), (std::vector{day(0), day(1), day(2)}));
  EXPECT_EQ(keeping(plan).at(day(4) + "/smoke"), "is one of the newest");
  EXPECT_GT(plan.targets[0].bytes, 100U);
  EXPECT_TRUE(fs::exists(nights.path(day(0)))) << "a plan removes nothing";
  const GcDone done = remove_all_of(plan);
  EXPECT_EQ(done.removed, going(plan));
  EXPECT_TRUE(done.failures.empty());
  EXPECT_FALSE(fs::exists(nights.path(day(2)))) << "with its report and logs";
  EXPECT_TRUE(fs::exists(nights.path(day(3)) / "report/report.html"));
  EXPECT_FALSE(fs::exists(nights.path(kRemovedFolder)));
  EXPECT_TRUE(going(plan_of(nights, 2)).empty());
}

// By the time that the records say, not by name or date of the file.
TEST(Gc, TimeIsThatOfTheNewestRecord) {
  const StoredNights nights;
  nights.add("n1/smoke", hour(9), 1);
  nights.add("n2/smoke", hour(1), 1);
  nights.add("n2/smoke", hour(2), 1, 2);
  EXPECT_EQ(going(plan_of(nights, 1)), std::vector<std::string>{"n2"});
}

TEST(Gc, EverySequenceIsCountedAlone) {
  const StoredNights nights;
  add_nights(nights, 3);
  nights.add(day(0) + "/seeds", hour(0), 1);
  nights.add("before/smoke", hour(0), 1);
  nights.add("after/smoke", hour(1), 1);
  nights.add("smoke", hour(0), 1);
  const GcPlan plan = plan_of(nights, 1);
  EXPECT_EQ(going(plan), (std::vector{day(0) + "/smoke", day(1)}))
      << "the first night's other suite is the newest of its own sequence";
  EXPECT_TRUE(keeping(plan).contains("before/smoke"));
  EXPECT_TRUE(keeping(plan).contains("smoke"));
}

TEST(Gc, WhatWasAcceptedOrIsJudgedAgainstStays) {
  const StoredNights nights;
  add_nights(nights, 7);
  const auto accept = [&](int number) {
    const auto run = read_run(nights.path(day(number) + "/smoke"));
    ASSERT_TRUE(run);
    ASSERT_TRUE(accept_run(*run, nights.folder(), "test", "first"));
  };
  accept(0);  // marked in the run
  accept(1);  // by the pointer alone
  fs::remove(nights.path(day(1) + "/smoke") / kAcceptedFile);
  ASSERT_TRUE(write_file(nights.path(day(2) + "/smoke/golden.json"), "{}"));
  GatedNight night;
  night.suite = "smoke";
  night.baseline = "results/nights/" + day(3) + "/smoke";
  ASSERT_TRUE(write_night(nights.folder(), night));
  night.baseline = nights.path(day(4) + "/smoke").string();
  ASSERT_TRUE(write_night(nights.folder(), night));
  nights.add("accepted/smoke", hour(0), 1);
  const auto reasons = keeping(plan_of(nights, 1));
  EXPECT_EQ(reasons.at(day(0) + "/smoke"), "has accepted.json");
  EXPECT_EQ(reasons.at(day(1) + "/smoke"), "was accepted");
  EXPECT_EQ(reasons.at(day(2) + "/smoke"), "has golden.json");
  EXPECT_FALSE(reasons.contains(day(3) + "/smoke")) << "a later night had another baseline";
  EXPECT_EQ(reasons.at(day(4) + "/smoke"), "the last gate judged against it");
  EXPECT_EQ(reasons.at("accepted/smoke"), "lies in accepted/");
  EXPECT_EQ(going(plan_of(nights, 1)), (std::vector{day(3), day(5)}));
}

// The gate was called in another folder.
TEST(Gc, ARelativeBaselineIsWhateverEndsSo) {
  const StoredNights nights;
  add_nights(nights, 3);
  GatedNight night;
  night.suite = "smoke";
  night.baseline = "../" + day(0) + "/./smoke";
  ASSERT_TRUE(write_night(nights.folder(), night));
  EXPECT_EQ(going(plan_of(nights, 1)), std::vector<std::string>{day(1)});
}

TEST(Gc, WhatCannotBeReadStaysAndIsNamed) {
  const StoredNights nights;
  add_nights(nights, 4);
  const fs::path run = nights.path(day(0) + "/smoke");
  const fs::path record = fs::directory_iterator(run)->path() / "record.json";
  ASSERT_TRUE(write_file(record, "{\"half"));
  ASSERT_TRUE(write_file(nights.path(day(1) + "/smoke/run.json"), "[1"));
  const auto reasons = keeping(plan_of(nights, 1));
  EXPECT_NE(reasons.at(day(0) + "/smoke").find(record.string()), std::string::npos);
  EXPECT_NE(reasons.at(day(1) + "/smoke").find("run.json"), std::string::npos);
  EXPECT_EQ(going(plan_of(nights, 1)), std::vector<std::string>{day(2)});
}

TEST(Gc, NothingGoesWhereTheAcceptedRunIsUnknown) {
  const StoredNights nights;
  add_nights(nights, 3);
  ASSERT_TRUE(write_file(nights.path("accepted/smoke.json"), "{\"schema\""));
  const GcPlan plan = plan_of(nights, 1);
  EXPECT_TRUE(plan.targets.empty());
  EXPECT_EQ(keeping(plan).at(day(0) + "/smoke").rfind("what was accepted cannot be read: ", 0), 0U);
}

TEST(Gc, ARunThatIsWorkedOnStays) {
  const StoredNights nights;
  add_nights(nights, 3);
  const fs::path lock = nights.path(day(0) + "/smoke/.locks/base-aaaaaaaa");
  ASSERT_TRUE(write_file(lock, "process 1\n"));
  const int descriptor = ::open(lock.c_str(), O_RDWR);
  ASSERT_EQ(::flock(descriptor, LOCK_EX), 0);
  const GcPlan plan = plan_of(nights, 1);
  EXPECT_EQ(keeping(plan).at(day(0) + "/smoke"), "is being worked on");
  EXPECT_EQ(going(plan), std::vector<std::string>{day(1)});
  ::close(descriptor);
  EXPECT_EQ(going(plan_of(nights, 1)), (std::vector{day(0), day(1)}));
}

TEST(Gc, FilesOfOthersKeepTheFolderOfANight) {
  const StoredNights nights;
  add_nights(nights, 3);
  ASSERT_TRUE(write_file(nights.path(day(0) + "/notes.txt"), "mine\n"));
  const GcPlan plan = plan_of(nights, 1);
  EXPECT_EQ(going(plan), (std::vector{day(0) + "/smoke", day(1)}));
  remove_all_of(plan);
  EXPECT_TRUE(fs::exists(nights.path(day(0) + "/notes.txt")));
  EXPECT_FALSE(fs::exists(nights.path(day(0) + "/smoke")));
}

TEST(Gc, WhatLiesBehindALinkStays) {
  const StoredNights nights, others;
  add_nights(nights, 2);
  others.add("n1/smoke", hour(0), 1);
  others.add("n2/smoke", hour(1), 1);
  fs::create_directory_symlink(others.folder(), nights.path("disk"));
  const auto reasons = keeping(plan_of(nights, 1));
  EXPECT_EQ(reasons.at("disk/n1/smoke").rfind("lies behind a link, in ", 0), 0U);
  remove_all_of(plan_of(nights, 1));
  EXPECT_TRUE(fs::exists(others.path("n1/smoke")));
}

// Between the plan and the removal.
TEST(Gc, WhatIsAcceptedMeanwhileStays) {
  const StoredNights nights;
  add_nights(nights, 4);
  const GcPlan plan = plan_of(nights, 1);
  ASSERT_TRUE(write_file(nights.path(day(0) + "/smoke/accepted.json"), "{}"));
  nights.add(day(1) + "/other", hour(9), 1);
  fs::remove_all(nights.path(day(2)));
  const GcDone done = remove_all_of(plan);
  EXPECT_TRUE(done.removed.empty());
  EXPECT_EQ(done.put_back, (std::vector<std::string>{day(0) + ": has accepted.json now",
                                                     day(1) + ": holds another run now, other"}));
  EXPECT_TRUE(fs::exists(nights.path(day(0) + "/smoke/accepted.json")));
}

TEST(Gc, WhatIsWorkedOnMeanwhileStays) {
  const StoredNights nights;
  add_nights(nights, 3);
  const GcPlan plan = plan_of(nights, 1);
  const fs::path lock = nights.path(day(0) + "/smoke/.locks/base-aaaaaaaa");
  ASSERT_TRUE(write_file(lock, "process 1\n"));
  const int descriptor = ::open(lock.c_str(), O_RDWR);
  ASSERT_EQ(::flock(descriptor, LOCK_EX), 0);
  const GcDone done = remove_all_of(plan);
  ::close(descriptor);
  EXPECT_EQ(done.removed, std::vector<std::string>{day(1)});
  EXPECT_EQ(done.put_back, std::vector<std::string>{day(0) + ": is being worked on"});
  EXPECT_TRUE(fs::exists(nights.path(day(0) + "/smoke")));
}

// <folder>/.removed/1/<night>: renamed, then killed.
TEST(Gc, AnInterruptedRemovalIsFinished) {
  const StoredNights nights;
  add_nights(nights, 3);
  const fs::path slot = nights.path(".removed/7");
  ASSERT_TRUE(make_folders(slot));
  fs::rename(nights.path(day(0)), slot / day(0));
  EXPECT_EQ(nights.index().runs().size(), 2U) << "what was to go is no run any more";
  const GcPlan plan = plan_of(nights, 1);
  EXPECT_TRUE(plan.has_leftovers);
  EXPECT_GT(plan.leftover_bytes, 100U);
  EXPECT_EQ(remove_all_of(plan).removed, std::vector<std::string>{day(1)});
  EXPECT_FALSE(fs::exists(nights.path(".removed")));
}

// Accepted after it was renamed: gate accept had opened the folder before.
TEST(Gc, AnAcceptedRunOfAnInterruptedRemovalGoesBack) {
  const StoredNights nights;
  add_nights(nights, 2);
  const fs::path slot = nights.path(".removed/7");
  ASSERT_TRUE(make_folders(slot / day(0)));
  fs::rename(nights.path(day(0) + "/smoke"), slot / day(0) / "smoke");
  ASSERT_TRUE(write_file(slot / day(0) / "smoke/accepted.json", "{}"));
  const GcDone done = remove_all_of(plan_of(nights, 1));
  EXPECT_EQ(done.put_back, std::vector<std::string>{day(0) + "/smoke: has accepted.json"});
  EXPECT_TRUE(fs::exists(nights.path(day(0) + "/smoke/accepted.json")));
  EXPECT_EQ(nights.index().runs().size(), 2U);
}

TEST(Gc, OneProcessRemovesAtATime) {
  const StoredNights nights;
  add_nights(nights, 2);
  ASSERT_TRUE(make_folders(nights.path(".removed")));
  const int descriptor = ::open(nights.path(".removed").c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(::flock(descriptor, LOCK_EX), 0);
  const auto done = remove_planned(plan_of(nights, 1));
  ::close(descriptor);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message.rfind("another npubench runs gc is at work in ", 0), 0U);
  EXPECT_TRUE(fs::exists(nights.path(day(0))));
}

}  // namespace
}  // namespace nb
