#include "results/store/store.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "tests/results/fake_run.hpp"

namespace nb {
namespace {

using test::FakeRun;

Record small_record(const std::string& name, char key) {
  Record record;
  record.kind = "dataset";
  record.name = name;
  record.node_key = std::string(64, key);
  record.metrics = {test::metric_of("rows", 10, "1", Direction::kNone)};
  return record;
}

TEST(Store, FolderNamesAreSafeAndShort) {
  const std::string key = "0123456789abcdef";
  EXPECT_EQ(node_folder("r", "smoke", "base/ascend_910b3 seed1", key),
            fs::path("r/smoke/base_ascend_910b3_seed1-01234567"));
  EXPECT_EQ(node_folder("r", "..", "../x", key), fs::path("r/_../_.._x-01234567"));
}

TEST(Store, RecordsAreSortedAndRead) {
  FakeRun run;
  run.add_training("h100_sxm", 1, 1.5);
  run.add_training("ascend_910b3", 2, 1.5);
  run.add_training("ascend_910b3", 1, 1.5);
  run.add_prediction("h100_sxm", 1e8, 1e9);
  const RunRecords read = run.read();
  ASSERT_EQ(read.records.size(), 4U);
  EXPECT_TRUE(read.damaged.empty());
  EXPECT_EQ(read.records[0].record.kind, "predict");
  EXPECT_EQ(describe(read.records[1].record), "train base on ascend_910b3, seed 1");
  EXPECT_EQ(describe(read.records[2].record), "train base on ascend_910b3, seed 2");
  for (const StoredRecord& stored : read.records) EXPECT_TRUE(verify_artifacts(stored));
}

TEST(Store, IsAppendOnly) {
  const test::TempDir dir;
  const auto folder = dir / "s/n-aaaaaaaa";
  ASSERT_TRUE(write_record(folder, small_record("n", 'a')));
  EXPECT_TRUE(write_record(folder, small_record("n", 'a')))
      << "the same results may be written again";
  Record other = small_record("n", 'a');
  other.metrics[0].value = 11;
  const auto refused = write_record(folder, other);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("metrics/rows/value: 10.0 and 11.0"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(read_record(folder)->metrics[0].value, 10);
  EXPECT_FALSE(write_record(folder, small_record("n", 'b'))) << "another node's folder";
}

TEST(Store, FailedRecordsMayBeReplaced) {
  const test::TempDir dir;
  Record failed = small_record("n", 'a');
  failed.status = "failed";
  failed.error = "disk full";
  failed.metrics.clear();
  ASSERT_TRUE(write_record(dir / "f", failed));
  EXPECT_TRUE(write_record(dir / "f", small_record("n", 'a')));
  EXPECT_EQ(read_record(dir / "f")->status, "ok");
}

TEST(Store, ARecordAppearsWholeOrNotAtAll) {
  const test::TempDir dir;
  fail_writes_after(1, ENOSPC);
  const auto written = write_record(dir / "f", small_record("n", 'a'));
  fail_writes_after(0, 0);
  EXPECT_FALSE(written);
  EXPECT_FALSE(has_record(dir / "f"));
}

TEST(Store, AMissingArtifactStopsTheRecord) {
  const test::TempDir dir;
  Record record = small_record("n", 'a');
  record.artifacts["steps.csv"] = "";
  EXPECT_FALSE(write_record(dir / "f", record));
  record.artifacts = {{"../elsewhere", ""}};
  EXPECT_FALSE(write_record(dir / "f", record));
}

TEST(Store, DamageIsFoundAndNamed) {
  FakeRun run;
  run.add_training("h100_sxm", 1, 1.5);
  const RunRecords read = run.read();
  const StoredRecord& stored = read.records.at(0);
  ASSERT_TRUE(append_file(stored.folder / "steps.csv", "60,1,\n"));
  auto checked = verify_artifacts(stored);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find("steps.csv: damaged"), std::string::npos);
  fs::remove(stored.folder / "steps.csv");
  checked = verify_artifacts(stored);
  ASSERT_FALSE(checked);
  EXPECT_NE(
      checked.error().message.find("steps.csv: the record lists this file, but it is missing"),
      std::string::npos);
}

TEST(Store, UnreadableRecordsAreListedNotSkipped) {
  FakeRun run;
  run.add_training("h100_sxm", 1, 1.5);
  ASSERT_TRUE(write_file(run.suite_folder() / "torn-11111111/record.json", "{\"schema\": 1,"));
  ASSERT_TRUE(make_folders(run.suite_folder() / "unfinished-22222222"));
  ASSERT_TRUE(make_folders(run.suite_folder() / "report"));  // no node's name
  const RunRecords read = run.read();
  EXPECT_EQ(read.records.size(), 1U);
  ASSERT_EQ(read.damaged.size(), 2U);
  EXPECT_NE(read.damaged[0].find("torn-11111111"), std::string::npos);
  EXPECT_NE(read.damaged[1].find("did not finish"), std::string::npos);
}

TEST(Store, EditedRecordsAreDamagedAndNamedWithTheirPath) {
  FakeRun run;
  const Record record = run.add_training("h100_sxm", 1, 1.5);
  const fs::path path = run.folder_of(record) / "record.json";
  Json json = *read_json(path);
  json["metrics"][1]["value"] = 0.75;
  ASSERT_TRUE(write_json(path, json));
  const RunRecords read = run.read();
  EXPECT_TRUE(read.records.empty());
  ASSERT_EQ(read.damaged.size(), 1U);
  EXPECT_TRUE(read.damaged[0].starts_with(path.string() + ": damaged or edited"))
      << read.damaged[0];
}

// It was a run with nothing in it, and a report of nothing was written.
TEST(Store, AFolderWithoutRecordsIsNoRun) {
  const test::TempDir dir;
  const auto run = read_run(dir.path());
  ASSERT_FALSE(run.has_value());
  EXPECT_EQ(
      run.error().message,
      dir.path().string() + ": holds no records; give a suite's folder in the results folder");
  EXPECT_EQ(
      read_run(dir / "none").error().message,
      (dir / "none").string() + ": does not exist; give a suite's folder in the results folder");
}

// Root may read everything: while it lives, a root is nobody.
class NotRoot {
 public:
  NotRoot() : before_(::geteuid()) {
    if (before_ == 0) {
      EXPECT_EQ(::seteuid(65534), 0);
    }
  }
  ~NotRoot() { EXPECT_EQ(::seteuid(before_), 0); }
  NotRoot(const NotRoot&) = delete;
  NotRoot& operator=(const NotRoot&) = delete;

 private:
  uid_t before_;
};

// It was a node that did not finish.
TEST(Store, ARecordThatNobodyMayReadIsNotMissing) {
  const NotRoot user;
  const test::TempDir dir;
  const fs::path node = dir / "s/n-aaaaaaaa";
  ASSERT_TRUE(write_record(node, small_record("n", 'a')));
  ASSERT_TRUE(write_run_list(dir / "s", {"n-aaaaaaaa"}));
  for (const fs::path& closed : {node / "record.json", node}) {
    fs::permissions(closed, fs::perms::none);
    const auto run = read_run(dir / "s");
    fs::permissions(closed, fs::perms::owner_all);
    ASSERT_TRUE(run.has_value()) << run.error().message;
    ASSERT_EQ(run->damaged.size(), 1U);
    EXPECT_EQ(run->damaged[0],
              "cannot read " + (node / "record.json").string() + ": Permission denied");
  }
}

// A node's own folder without its record was a run without records.
TEST(Store, ANodesFolderWithoutAReadableRecordIsDamaged) {
  const test::TempDir dir;
  const fs::path node = dir / "s/train-x-11111111";
  ASSERT_TRUE(make_folders(node / "checkpoints"));
  auto run = read_run(node);
  ASSERT_TRUE(run);
  ASSERT_EQ(run->damaged.size(), 1U);
  EXPECT_EQ(run->damaged[0], node.string() +
                                 ": has no record.json; the node did not finish; run the command "
                                 "that made it again: it resumes");
  ASSERT_TRUE(make_folders(node / "record.json"));
  run = read_run(node);
  ASSERT_TRUE(run);
  ASSERT_EQ(run->damaged.size(), 1U);
  EXPECT_EQ(nothing_found(*run, "nothing").value().message,
            "cannot read " + (node / "record.json").string() + ": Is a directory");
  EXPECT_EQ(nothing_found(RunRecords{}, "nothing").value().message, "nothing");
}

TEST(Store, OfTwoRecordsOfANodeTheLaterCounts) {
  const test::TempDir dir;
  Record old = small_record("n", 'a'), late = small_record("n", 'b');
  old.environment = Json{{"finished_at", "2026-01-01T00:00:00Z"}};
  late.environment = Json{{"finished_at", "2026-01-02T00:00:00Z"}};
  ASSERT_TRUE(write_record(dir / "s/n-aaaaaaaa", old));
  ASSERT_TRUE(write_record(dir / "s/n-bbbbbbbb", late));
  auto run = read_run(dir / "s");
  ASSERT_TRUE(run);
  ASSERT_EQ(run->records.size(), 1U);
  EXPECT_EQ(run->records[0].record.node_key[0], 'b');
  ASSERT_EQ(run->notes.size(), 1U);
  EXPECT_EQ(text_of(run->notes[0]),
            "n-aaaaaaaa: skipped: superseded by n-bbbbbbbb, which has the same name, device and "
            "seed");
  // The list of the last run decides before dates do.
  ASSERT_TRUE(write_run_list(dir / "s", {"n-aaaaaaaa", "gone-cccccccc"}));
  run = read_run(dir / "s");
  ASSERT_TRUE(run);
  ASSERT_EQ(run->records.size(), 1U);
  EXPECT_EQ(run->records[0].record.node_key[0], 'a');
  ASSERT_EQ(run->damaged.size(), 1U);
  EXPECT_NE(run->damaged[0].find("gone-cccccccc"), std::string::npos);
}

TEST(Store, ASupersededEvaluationOfOtherWeightsSaysSo) {
  const test::TempDir dir;
  for (const char key : {'a', 'b'}) {
    Record record = small_record("base.mw", key);
    record.kind = "eval";
    record.subject["weights"] = std::string(64, key);
    record.environment = Json{{"finished_at", std::string("2026-01-01T00:00:0") + key}};
    ASSERT_TRUE(write_record(dir / "eval" / (std::string("n-") + std::string(8, key)), record));
  }
  const auto run = read_run(dir / "eval");
  ASSERT_TRUE(run);
  ASSERT_EQ(run->notes.size(), 1U);
  EXPECT_EQ(text_of(run->notes[0]),
            "n-aaaaaaaa: skipped: superseded by n-bbbbbbbb, which has the same name, device and "
            "seed but evaluated other weights; name its folder to see it");
}

TEST(Store, ARecordIsFoundByItsKeyWhateverTheLastRunListed) {
  const test::TempDir dir;
  const fs::path suite = dir / "s";
  for (const char key : {'a', 'b'})
    ASSERT_TRUE(write_record(node_folder(dir.path(), "s", "n", std::string(64, key)),
                             small_record("n", key)));
  ASSERT_TRUE(write_run_list(suite, {"n-bbbbbbbb"}));
  const auto found = find_record(suite, std::string(64, 'a'));
  ASSERT_TRUE(found.has_value()) << found.error().message;
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ((*found)->folder, suite / "n-aaaaaaaa");
  EXPECT_EQ((*found)->record.node_key, std::string(64, 'a'));
  EXPECT_FALSE(find_record(suite, std::string(64, 'c'))->has_value());
  EXPECT_FALSE(find_record(suite, "aaaaaaaa" + std::string(56, 'f'))->has_value());
  EXPECT_FALSE(find_record(dir / "nowhere", std::string(64, 'a')).has_value());
}

TEST(Store, FindsTheOnlySuiteAndAsksAmongSeveral) {
  const test::TempDir dir;
  ASSERT_TRUE(write_record(dir / "one/n-aaaaaaaa", small_record("n", 'a')));
  ASSERT_TRUE(read_run(dir.path()));
  EXPECT_EQ(read_run(dir.path())->records.size(), 1U);
  EXPECT_EQ(read_run(dir / "one/")->path.filename(), "one");
  EXPECT_EQ(read_run(dir / "one/n-aaaaaaaa")->records.size(), 1U);
  ASSERT_TRUE(write_record(dir / "two/n-aaaaaaaa", small_record("n", 'a')));
  const auto several = read_run(dir.path());
  ASSERT_FALSE(several);
  EXPECT_NE(several.error().message.find("holds 2 suites"), std::string::npos);
  EXPECT_EQ(*list_suites(dir.path()), (std::vector<std::string>{"one", "two"}));
  EXPECT_FALSE(read_run(dir / "nowhere"));
}

}  // namespace
}  // namespace nb
