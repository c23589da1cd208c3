#include "results/gate/gate_history.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "harness/base/fs.hpp"
#include "tests/results/fake_run.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

using test::FakeRun;
using test::TempDir;

GatedNight night_of(const std::string& digest, std::vector<std::string> open,
                    const std::string& suite = "nightly") {
  GatedNight night;
  night.suite = suite;
  night.digest = digest;
  night.when = "2026-11-0" + digest + "T00:00:00Z";
  night.night = open.empty() ? "PASS" : "INCONCLUSIVE";
  night.open = std::move(open);
  return night;
}

TEST(GateHistory, TheThirdNightRunningIsAnAlert) {
  const std::vector<GatedNight> two = {night_of("1", {"a", "b"}), night_of("2", {"a"})};
  const auto alerts = alerts_of(two, night_of("3", {"a", "b"}));
  ASSERT_EQ(alerts.size(), 1U) << "b could tell on the second night";
  EXPECT_NE(text_of(alerts[0]).find(
                "ALERT: a could not tell for the 3rd night running, since 2026-11-01"),
            std::string::npos)
      << text_of(alerts[0]);
  EXPECT_TRUE(alerts_of({}, night_of("1", {"a"})).empty());
  EXPECT_TRUE(alerts_of({night_of("1", {"a"})}, night_of("2", {"a"})).empty());
}

// Gating one run twice is not two nights, another suite's nights are not these.
TEST(GateHistory, ANightCountsOnce) {
  EXPECT_TRUE(alerts_of({night_of("1", {"a"}), night_of("1", {"a"}), night_of("2", {"a"})},
                        night_of("2", {"a"}))
                  .empty());
  EXPECT_TRUE(alerts_of({night_of("1", {"a"}, "other"), night_of("2", {"a"}, "other")},
                        night_of("3", {"a"}))
                  .empty());
}

TEST(GateHistory, HalfALineOfAKilledProcessIsLeftOut) {
  const TempDir dir;
  ASSERT_TRUE(write_night(dir.path(), night_of("1", {"a"})));
  ASSERT_TRUE(append_file(dir / "gates.jsonl", "{\"schema\":\"npubench.nig"));
  ASSERT_TRUE(write_night(dir.path(), night_of("2", {"a"})));
  ASSERT_TRUE(append_file(dir / "gates.jsonl", "{\"schema\":\"npubench.night/9\",\"new\":1}\n"));
  const auto nights = read_nights(dir.path());
  ASSERT_TRUE(nights) << nights.error().message;
  ASSERT_EQ(nights->size(), 2U);
  EXPECT_EQ((*nights)[1].digest, "2");
  EXPECT_TRUE(read_nights(dir / "none")->empty());
}

GatedNight named(const std::string& name, const std::string& digest, const std::string& suite) {
  GatedNight night = night_of(digest, {"a"}, suite);
  night.name = name;
  return night;
}

// One night was counted three times: run, gate and gate --json each wrote a line.
// Damaged bytes, other JSON, and a night of other types: an exception of the JSON library once.
TEST(GateHistory, DamagedLinesAreLeftOutAndWrongNightsNamed) {
  const TempDir dir;
  const fs::path file = dir / "gates.jsonl";
  ASSERT_TRUE(write_file(file, std::string("{\"schema\": 222222}\n\"en0]}\n\"x\x0fx\"]}1open0]}\n"
                                           "\x01\0\n\xff\xff\0\"0\xff\n[]\nnull\n5\n",
                                           62)));
  ASSERT_TRUE(write_night(dir.path(), night_of("1", {"a"})));
  const auto nights = read_nights(dir.path());
  ASSERT_TRUE(nights) << nights.error().message;
  EXPECT_EQ(nights->size(), 1U);
  ASSERT_TRUE(append_file(file, "{\"schema\":\"npubench.night/1\",\"suite\":[]}\n"));
  const auto wrong = read_nights(dir.path());
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("/suite: expected a string"), std::string::npos)
      << wrong.error().message;
}

// A night without line end is one; what is no night there is refused before another is written.
TEST(GateHistory, TheLastLineCountsWithoutItsEnd) {
  const TempDir dir;
  ASSERT_TRUE(write_night(dir.path(), night_of("1", {"a"})));
  std::string text = read_file(dir / "gates.jsonl").value();
  text.pop_back();
  ASSERT_TRUE(write_file(dir / "gates.jsonl", text));
  EXPECT_EQ(read_nights(dir.path()).value().size(), 1U);
  ASSERT_TRUE(write_night(dir.path(), night_of("2", {"a"})));
  EXPECT_EQ(read_nights(dir.path()).value().size(), 2U);
  ASSERT_TRUE(write_file(dir / "gates.jsonl", R"({"schema":"npubench.night/1","suite":[]})"));
  EXPECT_FALSE(read_nights(dir.path()));
}

TEST(GateHistory, ANightThatIsRepeatedReplacesItsLine) {
  const TempDir dir;
  ASSERT_TRUE(write_night(dir.path(), named("n1", "1", "nightly")));
  ASSERT_TRUE(append_file(dir / "gates.jsonl", "{\"half\":\n"));
  ASSERT_TRUE(write_night(dir.path(), night_of("1", {"a"})));
  ASSERT_TRUE(write_night(dir.path(), named("n2", "2", "nightly")));
  ASSERT_TRUE(write_night(dir.path(), named("n1", "3", "nightly")));
  ASSERT_TRUE(write_night(dir.path(), named("n1", "4", "other")));
  ASSERT_TRUE(write_night(dir.path(), night_of("1", {"a"})));
  std::string digests;
  const auto nights = read_nights(dir.path());
  for (const GatedNight& night : nights.value()) digests += night.digest;
  EXPECT_EQ(digests, "31241") << "a gate by hand has no name, and no line is replaced";
  const std::string text = read_file(dir / "gates.jsonl").value();
  EXPECT_NE(text.find("{\"half\":\n"), std::string::npos) << "nothing else is changed";
}

// Killed between its line and its last word, and called again.
TEST(GateHistory, AGateByHandThatSaysTheSameAgainHasOneLine) {
  const TempDir dir;
  GatedNight first = night_of("1", {"a"});
  first.when = "2026-11-01T03:00:00Z";
  GatedNight again = first;
  again.when = "2026-11-01T03:05:00Z";
  ASSERT_TRUE(write_night(dir.path(), first));
  ASSERT_TRUE(write_night(dir.path(), night_of("9", {}, "other")));
  const std::string before = read_file(dir / "gates.jsonl").value();
  ASSERT_TRUE(write_night(dir.path(), again));
  EXPECT_EQ(read_file(dir / "gates.jsonl").value(), before);
  GatedNight other = first;
  other.night = "REGRESSED";
  ASSERT_TRUE(write_night(dir.path(), other));
  ASSERT_TRUE(write_night(dir.path(), again));
  EXPECT_EQ(read_nights(dir.path())->size(), 4U) << "said between";
}

// The nights after it are not the nights before it.
TEST(GateHistory, ARepeatedNightIsJudgedAfterThoseBeforeItsLine) {
  const std::vector<GatedNight> nights = {named("n1", "1", "nightly"), named("n2", "2", "nightly"),
                                          named("n3", "3", "nightly")};
  EXPECT_EQ(nights_before(nights, named("n2", "9", "nightly")).size(), 1U);
  EXPECT_EQ(nights_before(nights, named("n4", "9", "nightly")).size(), 3U);
  EXPECT_EQ(nights_before(nights, night_of("9", {})).size(), 3U);
}

// A line that was appended while another process wrote the file anew was lost.
TEST(GateHistory, NightsWrittenAtOnceAreAllThere) {
  const TempDir dir;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer)
    writers.emplace_back([&, writer] {
      for (int i = 0; i < 25; ++i)
        EXPECT_TRUE(write_night(dir.path(),
                                writer == 0 ? named("n", std::to_string(i), "nightly")
                                            : night_of(std::to_string(100 * writer + i), {"a"})));
    });
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(read_nights(dir.path())->size(), 3 * 25U + 1);
}

// 400 items of which many flip both ways: can't tell, three nights, each another run.
TEST(GateHistory, RemembersNightsAndAlerts) {
  const TempDir dir;
  FakeRun base("nightly");
  base.add_evaluation("ascend_910b3", 1, "w", {{"mw/facts", 400, test::even}});
  std::vector<Sentence> alerts;
  for (int i = 0; i < 3; ++i) {
    FakeRun candidate("nightly");
    candidate.add_evaluation(
        "ascend_910b3", 1, "w",
        {{"mw/facts", 400,
          [i](int item) { return item < 40 + 4 * i ? item % 4 < 2 : item % 2 == 0; },
          [](int item) {
            return std::vector<float>{-1.5F, item % 2 == 0 ? -1.49F : -1.51F};
          }}});
    GateResult result = gate(base.read(), candidate.read());
    for (TaskVerdict& v : result.verdicts)
      if (v.test == "items") v.verdict = Verdict::kInconclusive;
    result.alerts = {verbatim("of this night alone")};
    ASSERT_TRUE(remember_night(dir.path(), base.read(), candidate.read(), result));
    alerts = result.alerts;
    ASSERT_EQ(alerts.size(), i == 2 ? 2U : 1U);
    EXPECT_EQ(alerts.front(), verbatim("of this night alone"));
  }
  EXPECT_EQ(read_nights(dir.path())->size(), 3U);
}

}  // namespace
}  // namespace nb
