// What ranks report of a fault, row by row of the table of must-shows.
#include "harness/faults/rank_events.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace nb {
namespace {

constexpr int kRanks = 8;

FaultOutcome outcome(std::string_view fault, Launcher launcher = Launcher::kNone,
                     const std::map<std::string, std::string>& environment = {},
                     const std::string& profile = "ascend_910b3",
                     std::optional<double> group_timeout_s = {}) {
  const auto device = load_profile(profile);
  EXPECT_TRUE(device.has_value());
  const auto limits = read_limits(environment, group_timeout_s, *device, "test");
  EXPECT_TRUE(limits.has_value());
  const auto parsed = parse_rank_fault(fault, "");
  EXPECT_TRUE(parsed.has_value()) << (parsed ? "" : parsed.error().message);
  FaultSite site;
  site.count = 16512;
  return outcome_of(*parsed, *limits, launcher, kRanks, site);
}

std::set<int> ranks_with(const FaultOutcome& out, std::string_view code, double after_s) {
  std::set<int> ranks;
  for (const RankEvent& event : out.events)
    if (event.code == code && event.after_s == after_s) ranks.insert(event.rank);
  return ranks;
}
std::set<int> all_but(int rank) {
  std::set<int> ranks;
  for (int r = 0; r < kRanks; ++r)
    if (r != rank) ranks.insert(r);
  return ranks;
}
bool reports(const FaultOutcome& out, std::string_view code) {
  return std::ranges::any_of(out.events, [&](const RankEvent& e) { return e.code == code; });
}

TEST(RankEvents, LateRankZeroIsWaitedForByThoseThatAskIt) {
  const FaultOutcome out = outcome("late:rank=0,seconds=500,at=start");
  EXPECT_EQ(out.first_rank, 0);
  EXPECT_EQ(ranks_with(out, "EI0015", 120), all_but(0));
  EXPECT_EQ(ranks_with(out, "EI0015", 640), std::set<int>{0});
  EXPECT_NE(out.events.back().text.find("connected 1 of 8, connected rankinfo [0]. Failed to "
                                        "connect agent[1,2,3,4,5,6,7,]."),
            std::string::npos)
      << out.events.back().text;
}

TEST(RankEvents, TypeThatDiffersLaterStandsInTheLogsOfThatRank) {
  const FaultOutcome out = outcome("mismatch:rank=2,what=dtype,step=4");
  for (int rank = 0; rank < kRanks; ++rank)
    EXPECT_EQ(out.ranks[static_cast<std::size_t>(rank)].dtype, rank == 2 ? "bf16" : "fp32");
}

TEST(RankEvents, KilledWithoutALauncher) {
  const FaultOutcome out = outcome("kill:rank=3,step=20");
  EXPECT_EQ(out.first_rank, 3);
  EXPECT_EQ(ranks_with(out, "LOST", 30), all_but(3));
  EXPECT_EQ(ranks_with(out, "EI0002", 1836), all_but(3));
  EXPECT_EQ(out.ranks[3].exitcode, -9);
  EXPECT_EQ(out.ends_s, 1836);
  for (const RankEvent& event : out.events)
    EXPECT_EQ(event.text.find("rank:[3] in 1836 s") != std::string::npos, event.code == "EI0002")
        << event.code << " " << event.text;
  EXPECT_EQ(seen_text(out), "EI0002 on 7 ranks, nothing on rank 3");
}

TEST(RankEvents, KilledUnderTorchrun) {
  const FaultOutcome out = outcome("kill:rank=3,step=20", Launcher::kTorchrun);
  EXPECT_EQ(ranks_with(out, "SIGTERM", 5), all_but(3));
  EXPECT_FALSE(reports(out, "EI0002"));
  EXPECT_EQ(out.ranks[3].exitcode, -9);
  EXPECT_EQ(out.ranks[0].exitcode, -15);
}

TEST(RankEvents, LongerLimitLosesMore) {
  const FaultOutcome out =
      outcome("kill:rank=3,step=20", Launcher::kNone, {{"HCCL_EXEC_TIMEOUT", "7200"}});
  EXPECT_EQ(ranks_with(out, "EI0002", 7200), all_but(3));
  EXPECT_EQ(out.ends_s, 7200);
}

TEST(RankEvents, RankThatEndsEarlyStopsNobodyUnderTorchrun) {
  const FaultOutcome out = outcome("exit:rank=5,step=20", Launcher::kTorchrun);
  EXPECT_EQ(ranks_with(out, "EI0002", 1836), all_but(5));
  EXPECT_EQ(out.ranks[5].exitcode, 0);
}

TEST(RankEvents, LateAtTheStart) {
  EXPECT_FALSE(outcome("late:rank=5,seconds=119,at=start").stops);
  const FaultOutcome out = outcome("late:rank=5,seconds=141,at=start");
  EXPECT_EQ(ranks_with(out, "EI0015", 140), std::set<int>{0});
  EXPECT_EQ(ranks_with(out, "EI0015", 120), (std::set<int>{1, 2, 3, 4, 6, 7}));
  EXPECT_EQ(out.first_rank, 5);
  EXPECT_NE(out.events.back().text.find("connect server"), std::string::npos);
  const auto root = std::ranges::find(out.events, 0, &RankEvent::rank);
  ASSERT_NE(root, out.events.end());
  EXPECT_NE(root->text.find("need connect rankNum is [8], connected 7 of 8"), std::string::npos)
      << root->text;
  EXPECT_NE(root->text.find("agent[5,]"), std::string::npos) << root->text;
}

TEST(RankEvents, LateAtTheFirstCollective) {
  EXPECT_FALSE(outcome("late:rank=5,seconds=119,at=first").stops);
  const FaultOutcome out = outcome("late:rank=5,seconds=121,at=first");
  EXPECT_EQ(ranks_with(out, "EI0006", 120), (std::set<int>{4, 6}));
  EXPECT_FALSE(reports(out, "EI0002"));
}

TEST(RankEvents, LateLater) {
  EXPECT_FALSE(outcome("late:rank=5,seconds=1835,step=20").stops);
  const FaultOutcome out = outcome("late:rank=5,seconds=1837,step=20");
  EXPECT_EQ(ranks_with(out, "EI0002", 1836), all_but(5));
  EXPECT_EQ(ranks_with(out, "EI0002", 1837 + 1836), std::set<int>{5});
  EXPECT_EQ(out.ranks[5].launched_s, 1837);
  EXPECT_FALSE(
      outcome("late:rank=5,seconds=1837,step=20", Launcher::kNone, {{"HCCL_EXEC_TIMEOUT", "3600"}})
          .stops);
}

TEST(RankEvents, MismatchAtFirstUseAndLater) {
  const FaultOutcome first = outcome("mismatch:rank=2,what=count");
  EXPECT_EQ(ranks_with(first, "EI0005", 0), (std::set<int>{1, 2, 3}));
  EXPECT_EQ(ranks_with(first, "EI0006", 120), (std::set<int>{0, 4, 5, 6, 7}));
  EXPECT_NE(first.events.front().text.find("count, local end 16512, remote end 8256"),
            std::string::npos);
  const FaultOutcome later = outcome("mismatch:rank=2,what=count,step=20");
  EXPECT_EQ(ranks_with(later, "EI0002", 1836).size(), 8U);
  EXPECT_EQ(later.ranks[2].count, 8256);
  EXPECT_EQ(later.ranks[3].count, 16512);
}

TEST(RankEvents, OrderOfCalls) {
  const FaultOutcome out = outcome("order:rank=1,step=20");
  EXPECT_EQ(ranks_with(out, "EI0002", 1836).size(), 8U);
  EXPECT_EQ(out.ranks[1].op, "all_gather");
  const auto stuck = std::ranges::find(out.events, "STUCK", &RankEvent::code);
  ASSERT_NE(stuck, out.events.end());
  EXPECT_TRUE(stuck->after_s >= 612 && stuck->after_s <= 1224);
}

TEST(RankEvents, LinkDown) {
  const FaultOutcome out = outcome("link:ranks=6-7,state=down,from=20");
  EXPECT_EQ(ranks_with(out, "EI0013", 30), (std::set<int>{6, 7}));
  EXPECT_EQ(ranks_with(out, "CQE", 30).size(), 6U);
  EXPECT_EQ(ranks_with(out, "EI0002", 1836).size(), 6U);
}

TEST(RankEvents, Ports) {
  const FaultOutcome device = outcome("port:which=device,rank=2");
  EXPECT_EQ(ranks_with(device, "EI0019", 0), std::set<int>{2});
  EXPECT_EQ(ranks_with(device, "EI0006", 120), (std::set<int>{1, 3}));
  const FaultOutcome host = outcome("port:which=host");
  EXPECT_NE(host.first_text.find("socket type[2]"), std::string::npos);
  EXPECT_NE(host.first_text.find("ret[7]"), std::string::npos);
  EXPECT_NE(outcome("port:which=master").first_text.find("errno: 98"), std::string::npos);
}

TEST(RankEvents, ClocksOfTheEnvironment) {
  EXPECT_EQ(ranks_with(outcome("kill:rank=3,step=2", Launcher::kNone,
                               {{"HCCL_EXEC_TIMEOUT", "600"}}, "ascend_910a"),
                       "EI0002", 544),
            all_but(3));
  EXPECT_TRUE(
      outcome("kill:rank=3,step=2", Launcher::kNone, {{"HCCL_EXEC_TIMEOUT", "0"}}).never_ends);
  const FaultOutcome watched =
      outcome("kill:rank=3,step=2", Launcher::kNone, {}, "ascend_910b3", 600);
  EXPECT_EQ(ranks_with(watched, "WATCHDOG", 600), all_but(3));
  EXPECT_FALSE(reports(watched, "EI0002"));
  EXPECT_EQ(ranks_with(outcome("kill:rank=3,step=2", Launcher::kNone, {}, "ascend_910b3", 1800),
                       "EI0002", 1836),
            all_but(3));
}

TEST(RankEvents, OfNccl) {
  const FaultOutcome out = outcome("kill:rank=3,step=2", Launcher::kNone, {}, "h100_sxm");
  EXPECT_EQ(ranks_with(out, "WATCHDOG", 600), all_but(3));
  EXPECT_EQ(ranks_with(out, "CLOSED", 0), all_but(3));
  EXPECT_FALSE(reports(out, "LOST"));
}

TEST(Limits, OutsideTheRangeOfTheirVariableAreRefused) {
  const auto device = load_profile("ascend_910b3");
  const auto limits = read_limits({{"HCCL_CONNECT_TIMEOUT", "60"}}, {}, *device, "s.json");
  ASSERT_FALSE(limits.has_value());
  EXPECT_EQ(limits.error().code, ErrorCode::kRun);
  EXPECT_EQ(limits.error().message,
            "EI0001: Value 60 for environment variable HCCL_CONNECT_TIMEOUT is invalid. Expected "
            "value: [120, 7200].");
  EXPECT_FALSE(read_limits({{"HCCL_EXEC_TIMEOUT", "30m"}}, {}, *device, "").has_value());
  const auto unknown = read_limits({{"HCCL_EXEC_TIMEOUTS", "1"}}, {}, *device, "s.json");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_NE(unknown.error().message.find("did you mean \"HCCL_EXEC_TIMEOUT\""), std::string::npos);
  const auto near = read_limits({{"HCCL_EXEC_TIMEOUT", "120"}}, {}, *device, "");
  EXPECT_NE(near->warnings.front().find("ENV133"), std::string::npos);
}

TEST(RankFault, ThatCannotBeReadOrMetIsRefused) {
  const auto error = [](std::string_view text) {
    const auto fault = parse_rank_fault(text, "--fault");
    if (!fault) return fault.error().message;
    const auto met = check_rank_fault(*fault, {8, 100, 10, 10, true}, "--fault");
    return met ? std::string("fine") : met.error().message;
  };
  EXPECT_EQ(error("kill:rank=3,step=20"), "fine");
  EXPECT_NE(error("kil:rank=3,step=20").find("did you mean \"kill\""), std::string::npos);
  EXPECT_NE(error("kill:rank=8,step=20").find("there is no rank 8"), std::string::npos);
  EXPECT_NE(error("kill:rank=3,step=100").find("there is no step 100"), std::string::npos);
  EXPECT_NE(error("kill:rank=3").find("step"), std::string::npos);
  EXPECT_NE(error("kill:rank=3,stepp=1").find("write kill:rank=R,step=N"), std::string::npos);
  EXPECT_NE(error("kill:rank=3,rank=3,step=1").find("twice"), std::string::npos);
  EXPECT_NE(error("kill:rank=3,step=5,phase=evaluate").find("would change nothing"),
            std::string::npos);
  EXPECT_NE(error("kill:rank=3,step=5,phase=lunch").find("phase"), std::string::npos);
  EXPECT_NE(error("slow:rank=3,factor=1").find("would change nothing"), std::string::npos);
  EXPECT_NE(error("late:rank=3,seconds=5").find("at=start"), std::string::npos);
  EXPECT_NE(error("link:ranks=7-6,state=down").find("ranks=6-7"), std::string::npos);
  EXPECT_NE(error("link:ranks=6-8,state=down").find("there is no rank 8"), std::string::npos);
  EXPECT_NE(error("link:ranks=6-7,state=slow").find("factor"), std::string::npos);
  EXPECT_NE(error("port:which=device").find("has a rank"), std::string::npos);
  EXPECT_NE(error("second_best:copa").find("is of an evaluation"), std::string::npos);
}

}  // namespace
}  // namespace nb
