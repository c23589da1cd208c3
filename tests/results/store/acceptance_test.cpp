#include "results/store/acceptance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "results/gate/gate.hpp"
#include "tests/results/fake_run.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

using test::even;
using test::FakeRun;

std::size_t lines_of(const fs::path& path) {
  const std::string text = read_file(path).value_or("");
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(Acceptance, IsReadBackAsTheRunThatItWas) {
  FakeRun run("nightly");
  run.add_training("ascend_910b3", 1, 1.5);
  run.add_evaluation("ascend_910b3", 1, "w", {{"mw/facts", 40, even}});
  const fs::path home = run.suite_folder().parent_path();
  EXPECT_EQ(gate_home(run.suite_folder()), fs::weakly_canonical(home));
  EXPECT_FALSE(find_accepted(home, "nightly")->has_value());
  const auto accepted = accept_run(run.read(), home, "someone", "first night");
  ASSERT_TRUE(accepted) << accepted.error().message;
  EXPECT_EQ(accepted->run, "nightly");
  EXPECT_EQ(accepted->nodes.size(), 2U);
  EXPECT_EQ(accepted->digest, *run_digest(run.read()));
  const auto found = find_accepted(home, "nightly");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->why, "first night");
  for (const fs::path& pointer :
       {home / "accepted" / "nightly.json", run.suite_folder() / "accepted.json"}) {
    const auto read = read_accepted(pointer);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->records.size(), 2U);
    EXPECT_EQ(gate(*read, run.read()).exit_code, 0);
  }
}

// The next night writes other nodes into the same folder; the accepted ones stay what they are.
TEST(Acceptance, StaysWhenTheFolderIsWrittenAgain) {
  FakeRun run("nightly");
  const Record old = run.add_evaluation("ascend_910b3", 1, "w", {{"mw/facts", 40, even}});
  const fs::path home = run.suite_folder().parent_path();
  ASSERT_TRUE(accept_run(run.read(), home, "someone", "why"));
  const Record fresh = run.add_evaluation(
      "ascend_910b3", 1, "w", {{"mw/facts", 40, [](int i) { return i < 30; }}}, [](Record& record) {
        record.environment = Json{{"finished_at", "2027-01-01T00:00:00Z"}};
      });
  const auto accepted = read_accepted(home / "accepted" / "nightly.json");
  ASSERT_TRUE(accepted);
  ASSERT_EQ(accepted->records.size(), 1U);
  EXPECT_EQ(accepted->records[0].record.node_key, old.node_key);
  EXPECT_EQ(run.read().records[0].record.node_key, fresh.node_key);
}

TEST(Acceptance, HistoryOnlyGrows) {
  FakeRun run("nightly");
  run.add_training("ascend_910b3", 1, 1.5);
  const fs::path home = run.suite_folder().parent_path();
  ASSERT_TRUE(accept_run(run.read(), home, "someone", "once"));
  const std::string before = *read_file(home / "accepted" / "history.jsonl");
  ASSERT_TRUE(accept_run(run.read(), home, "someone else", "again"));
  const std::string after = *read_file(home / "accepted" / "history.jsonl");
  EXPECT_TRUE(after.starts_with(before));
  EXPECT_EQ(lines_of(home / "accepted" / "history.jsonl"), 2U);
  EXPECT_EQ((*find_accepted(home, "nightly"))->who, "someone else");
}

// Killed after its line in the history and called again: there were two lines of one decision.
TEST(Acceptance, KilledAndRepeatedIsOneLine) {
  FakeRun run("nightly");
  run.add_training("ascend_910b3", 1, 1.5);
  const fs::path home = run.suite_folder().parent_path();
  const fs::path history = home / "accepted" / "history.jsonl";
  const fs::path pointer = home / "accepted" / "nightly.json";
  ASSERT_TRUE(accept_run(run.read(), home, "someone", "why"));
  const std::string line = *read_file(history);
  fs::remove(pointer);
  fs::remove(run.suite_folder() / "accepted.json");
  ASSERT_TRUE(accept_run(run.read(), home, "someone", "why"));
  EXPECT_EQ(*read_file(history), line);
  EXPECT_EQ(Json::parse(*read_file(pointer)), Json::parse(line)) << "with the time of the line";
  EXPECT_TRUE(fs::exists(run.suite_folder() / "accepted.json"));

  ASSERT_TRUE(accept_run(run.read(), home, "someone", "another reason"));
  ASSERT_TRUE(accept_run(run.read(), home, "someone", "why"));
  EXPECT_EQ(lines_of(history), 3U) << "back to an earlier decision is a decision";
  run.add_training("ascend_910b3", 2, 1.5);
  ASSERT_TRUE(accept_run(run.read(), home, "someone", "why"));
  EXPECT_EQ(lines_of(history), 4U) << "other records";
}

TEST(Acceptance, HalfALineOfAKilledProcessDoesNotSpoilTheNext) {
  FakeRun run("nightly");
  run.add_training("ascend_910b3", 1, 1.5);
  const fs::path home = run.suite_folder().parent_path();
  const fs::path history = home / "accepted" / "history.jsonl";
  ASSERT_TRUE(append_file(history, "{\"schema\":\"npub"));
  ASSERT_TRUE(accept_run(run.read(), home, "someone", "once"));
  EXPECT_TRUE(read_file(history)->starts_with("{\"schema\":\"npub\n{\""));
}

TEST(Acceptance, ChangedOrMissingRecordsAreDamage) {
  FakeRun run("nightly");
  const Record training = run.add_training("ascend_910b3", 1, 1.5);
  const Record other = run.add_evaluation("ascend_910b3", 1, "w", {{"mw/facts", 40, even}});
  const fs::path home = run.suite_folder().parent_path();
  ASSERT_TRUE(accept_run(run.read(), home, "someone", "why"));
  ASSERT_TRUE(append_file(run.folder_of(training) / "record.json", " "));
  fs::remove(run.folder_of(other) / "record.json");
  const auto read = read_accepted(home / "accepted" / "nightly.json");
  ASSERT_TRUE(read);
  ASSERT_EQ(read->damaged.size(), 2U);
  EXPECT_NE((read->damaged[0] + read->damaged[1]).find("changed since it was accepted"),
            std::string::npos);
  EXPECT_EQ(gate(*read, run.read()).exit_code, 4);
}

TEST(Acceptance, RefusesWhatIsNoBaseline) {
  FakeRun run("nightly"), failed("nightly");
  run.add_training("ascend_910b3", 1, 1.5);
  const fs::path home = run.suite_folder().parent_path();
  const auto refused = [&](const RunRecords& records, const std::string& who,
                           const std::string& why) {
    const auto result = accept_run(records, home, who, why);
    return result ? std::string("accepted") : result.error().message;
  };
  EXPECT_NE(refused(run.read(), "someone", "").find("--why"), std::string::npos);
  EXPECT_NE(refused(run.read(), "", "why").find("--who"), std::string::npos);
  failed.add_training("ascend_910b3", 1, 1.5, 0, [](Record& record) {
    record.status = "failed";
    record.error = "out of memory";
  });
  EXPECT_NE(refused(failed.read(), "someone", "why").find("out of memory"), std::string::npos);
  EXPECT_FALSE(fs::exists(home / "accepted"));
  // An edited list of nodes does not pass for what was accepted.
  ASSERT_TRUE(accept_run(run.read(), home, "someone", "why"));
  Json json = *read_json(home / "accepted" / "nightly.json");
  json["nodes"].clear();
  ASSERT_TRUE(write_json(home / "accepted" / "nightly.json", json));
  const auto edited = read_accepted(home / "accepted" / "nightly.json");
  ASSERT_FALSE(edited);
  EXPECT_NE(edited.error().message.find("was edited"), std::string::npos);
}

}  // namespace
}  // namespace nb
