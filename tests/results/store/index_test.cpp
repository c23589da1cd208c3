#include "results/store/index.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "results/store/sqlite.hpp"
#include "tests/results/fake_run.hpp"

namespace nb {
namespace {

Record night_record(double value, const std::string& day, char key) {
  Record record;
  record.kind = "train";
  record.name = "base";
  record.device = "h100_sxm";
  record.seed = 1;
  record.node_key = std::string(64, key);
  record.environment = Json{{"finished_at", day + "T03:00:00Z"}};
  record.metrics = {test::metric_of("val_bpb", value, "bit/byte", Direction::kLower)};
  return record;
}

// nights/<day>/smoke/base-aaaaaaaa
struct Nights {
  test::TempDir dir;
  fs::path node(const std::string& day) const { return dir / day / "smoke" / "base-aaaaaaaa"; }
  void add(const std::string& day, double value) const {
    ASSERT_TRUE(write_record(node(day), night_record(value, day, 'a')));
    ASSERT_TRUE(write_run_list(node(day).parent_path(), {"base-aaaaaaaa"}));
  }
  RunIndex open(RunIndex::Mode mode = RunIndex::Mode::kUpdate) const {
    auto index = RunIndex::open(dir.path(), mode);
    EXPECT_TRUE(index) << index.error().message;
    return std::move(*index);
  }
};

std::vector<double> values_of(const RunIndex& index) {
  std::vector<double> values;
  for (const IndexedMetric& metric : index.metric("val_bpb"))
    values.push_back(*metric.metric.value);
  std::sort(values.begin(), values.end());
  return values;
}

TEST(Index, ReadsOnlyWhatIsNew) {
  const Nights nights;
  nights.add("2026-11-01", 1.5);
  nights.add("2026-11-02", 1.25);
  EXPECT_EQ(nights.open().records_read(), 2U);
  EXPECT_EQ(nights.open().records_read(), 0U);
  nights.add("2026-11-03", 1);
  const RunIndex index = nights.open();
  EXPECT_EQ(index.records_read(), 1U);
  EXPECT_TRUE(index.notes().empty());
  EXPECT_EQ(values_of(index), (std::vector<double>{1, 1.25, 1.5}));
  ASSERT_EQ(index.runs().size(), 3U);
  EXPECT_EQ(index.runs()[0].name, "2026-11-01/smoke");
  EXPECT_EQ(index.records()[2].finished_at, "2026-11-03T03:00:00Z");
}

TEST(Index, RecordsThatChangeOrVanishAreNotRemembered) {
  const Nights nights;
  nights.add("2026-11-01", 1.5);
  nights.add("2026-11-02", 1.25);
  nights.open();
  const fs::path record = nights.node("2026-11-01") / "record.json";
  std::string text = *read_file(record);
  text.replace(text.find("1.5"), 3, "1.4");  // of the same size
  ASSERT_TRUE(fs::remove(record));
  ASSERT_TRUE(write_file(record, text));
  fs::remove_all(nights.dir / "2026-11-02");
  const RunIndex index = nights.open();
  ASSERT_EQ(index.records().size(), 1U);
  EXPECT_NE(index.records()[0].damage.find("damaged or edited"), std::string::npos)
      << index.records()[0].damage;
  EXPECT_TRUE(index.metric("val_bpb").empty());
}

TEST(Index, IsMadeAnewFromRecordsWhateverHappensToIt) {
  const Nights nights;
  nights.add("2026-11-01", 1.5);
  nights.add("2026-11-02", 1.25);
  nights.open();
  const fs::path path = nights.dir / kIndexFile;
  const std::string good = *read_file(path);
  std::string flipped = good;
  flipped[flipped.find("h100_sxm")] ^= 1;
  for (const std::string& bad : {std::string(), good.substr(0, good.size() / 2), flipped,
                                 std::string("not a database"), good + "x"}) {
    ASSERT_TRUE(write_file(path, bad));
    const RunIndex index = nights.open();
    EXPECT_EQ(index.records_read(), 2U);
    ASSERT_EQ(index.notes().size(), 1U);
    EXPECT_EQ(index.notes()[0],
              path.string() + ": was damaged; it has been made anew from the records");
    EXPECT_EQ(values_of(index), (std::vector<double>{1.25, 1.5}));
    EXPECT_TRUE(nights.open().notes().empty()) << "it is whole again";
  }
  fs::remove(path);
  EXPECT_TRUE(nights.open().notes().empty()) << "a missing one is no damage";
  EXPECT_EQ(nights.open(RunIndex::Mode::kRebuild).records_read(), 2U);
}

constexpr std::string_view kSeal = "\nnpubench index, sha256 ";

std::string sealed(const std::string& database) {
  return database + std::string(kSeal) + sha256_hex(database) + "\n";
}

// The database of an index file after these statements.
std::string after(const std::string& file, const char* sql) {
  Database database(std::string_view(file).substr(0, file.size() - kSeal.size() - 65));
  database.run(sql);
  return database.bytes();
}

// SQLite's error ended the command, with a source line of ours; or the rows were believed.
TEST(Index, ASealDoesNotMakeAnIndexOfForeignContent) {
  const Nights nights;
  nights.add("2026-11-01", 1.5);
  nights.add("2026-11-02", 1.25);
  nights.open();
  const fs::path path = nights.dir / kIndexFile;
  const std::string good = *read_file(path);
  const std::string database = good.substr(0, good.size() - kSeal.size() - 65);
  ASSERT_EQ(sealed(database), good);
  std::string no_magic = database;
  no_magic[3] = 'k';
  std::string torn = database;
  torn.replace(4096, 2048, 2048, '\xff');
  for (const std::string& foreign :
       {no_magic, torn, std::string("text"), database.substr(0, database.size() / 2),
        std::string(8192, '\0'), after(good, "DROP TABLE metrics"),
        after(good, "DROP INDEX records_by_folder"),
        after(good, "ALTER TABLE records RENAME COLUMN modified_ns TO modified"),
        after(good, "CREATE TABLE more(a)"),
        after(good, "CREATE TRIGGER t AFTER DELETE ON records BEGIN DELETE FROM metrics; END"),
        after(good, "UPDATE metrics SET clock = 9"),
        after(good, "UPDATE metrics SET value = 9e999"),
        after(good, "UPDATE metrics SET name = x'00'"),
        after(good, "UPDATE metrics SET record = 77 WHERE record = 1"),
        after(good, "UPDATE records SET inode = 'x'"), after(good, "UPDATE records SET run = NULL"),
        after(good, "UPDATE records SET seed = 1.5")}) {
    ASSERT_TRUE(write_file(path, sealed(foreign)));
    const RunIndex index = nights.open();
    EXPECT_EQ(index.records_read(), 2U);
    EXPECT_EQ(index.notes(),
              std::vector<std::string>{path.string() +
                                       ": is no index that this program wrote; it has been made "
                                       "anew from the records"});
    EXPECT_EQ(values_of(index), (std::vector<double>{1.25, 1.5}));
    EXPECT_TRUE(nights.open().notes().empty()) << "it is whole again";
  }
  ASSERT_TRUE(write_file(path, sealed(after(good, "PRAGMA user_version = 7"))));
  EXPECT_EQ(nights.open().notes(),
            std::vector<std::string>{path.string() +
                                     ": is of version 7, not 1; it has been made anew from the "
                                     "records"});
}

TEST(Index, NoSealedBytesEndTheProgram) {
  const Nights nights;
  nights.add("2026-11-01", 1.5);
  nights.open();
  const fs::path path = nights.dir / kIndexFile;
  const std::string good = *read_file(path);
  const std::string database = good.substr(0, good.size() - kSeal.size() - 65);
  std::mt19937 draw(20240824);
  for (int i = 0; i < 400; ++i) {
    std::string wrong = database;
    for (int k = 0; k <= i % 4; ++k) {
      char& one = wrong[draw() % (i % 2 == 0 ? wrong.size() : 4096)];
      one = static_cast<char>(one ^ (1 << draw() % 8));
    }
    std::ofstream(path, std::ios::binary) << sealed(wrong);
    const RunIndex index = nights.open();
    ASSERT_EQ(index.records().size(), 1U);
    ASSERT_LE(index.metric("val_bpb").size(), 1U);
    ASSERT_LE(index.metrics().size(), 1U);
    ASSERT_LE(index.notes().size(), 1U);
  }
}

TEST(Index, AFullDiskCostsTheIndexOnly) {
  const Nights nights;
  nights.add("2026-11-01", 1.5);
  fail_writes_after(1, ENOSPC);
  const RunIndex index = nights.open();
  fail_writes_after(0, 0);
  EXPECT_EQ(values_of(index), std::vector<double>{1.5});
  ASSERT_EQ(index.notes().size(), 1U);
  EXPECT_EQ(index.notes()[0],
            "cannot write " + (nights.dir / kIndexFile).string() +
                ": No space left on device; the records have been read instead, as they will be "
                "next time");
  EXPECT_TRUE(nights.open().notes().empty());
}

TEST(Index, ARunFolderIsNotWrittenTo) {
  const Nights nights;
  nights.add("2026-11-01", 1.5);
  const fs::path run = nights.dir / "2026-11-01" / "smoke";
  const auto index = RunIndex::open(run);
  ASSERT_TRUE(index);
  EXPECT_EQ(index->runs().at(0).name, "smoke");
  EXPECT_EQ(values_of(*index), std::vector<double>{1.5});
  EXPECT_FALSE(fs::exists(run / kIndexFile));
}

TEST(Index, FoldersThatCannotBeReadAreNamed) {
  const test::TempDir dir;
  EXPECT_EQ(RunIndex::open(dir / "none").error().message,
            (dir / "none").string() + ": does not exist; give a folder of runs");
  const auto index = RunIndex::open(dir.path());
  ASSERT_TRUE(index);
  EXPECT_TRUE(index->runs().empty());
  EXPECT_TRUE(fs::is_empty(dir.path())) << "nothing to remember";
}

TEST(Index, ReadersAndWritersAtOnceLoseNothing) {
  const Nights nights;
  std::vector<std::thread> threads;
  for (int writer = 0; writer < 4; ++writer)
    threads.emplace_back([&, writer] {
      for (int i = 0; i < 10; ++i) {
        nights.add("2026-1" + std::to_string(writer) + "-" + std::to_string(10 + i), i);
        EXPECT_TRUE(RunIndex::open(nights.dir.path()));
      }
    });
  for (std::thread& thread : threads) thread.join();
  const RunIndex index = nights.open();
  EXPECT_EQ(index.metric("val_bpb").size(), 40U);
  EXPECT_TRUE(index.notes().empty());
}

TEST(RunTree, FindsRunsAtAnyDepthOnceEach) {
  const Nights nights;
  nights.add("2026-11-01", 1.5);
  ASSERT_TRUE(write_record(nights.dir / "nightly-20261102" / "base-aaaaaaaa",
                           night_record(1, "2026-11-02", 'a')));
  ASSERT_TRUE(make_folders(nights.dir / "nightly-20261102" / "eval-bbbbbbbb" / "items"));
  ASSERT_TRUE(make_folders(nights.dir / "nightly-20261102" / "report"));
  ASSERT_TRUE(write_file(nights.dir / "2026-11-01/smoke/accepted.json", "{}"));
  fs::create_directory_symlink("2026-11-01", nights.dir / "latest");
  fs::create_directory_symlink("..", nights.dir / "2026-11-01" / "round");
  const auto runs = find_runs(nights.dir.path());
  ASSERT_TRUE(runs);
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_EQ((*runs)[0].name, "2026-11-01/smoke");
  EXPECT_EQ((*runs)[0].kept_by, "accepted.json");
  const RunFolder& second = (*runs)[1];
  EXPECT_EQ(second.name, "nightly-20261102");
  EXPECT_EQ(second.kept_by, "");
  ASSERT_EQ(second.nodes.size(), 2U) << "with the one that did not finish, without the report";
  EXPECT_TRUE(second.nodes[0].record);
  EXPECT_EQ(second.nodes[1].name, "eval-bbbbbbbb");
  EXPECT_FALSE(second.nodes[1].record);
}

TEST(RunTree, NodesThatRunJsonDoesNotListAreOfEarlierRuns) {
  const Nights nights;
  nights.add("2026-11-02", 1.5);
  const fs::path run = nights.node("2026-11-02").parent_path();
  ASSERT_TRUE(write_record(run / "base-bbbbbbbb", night_record(1, "2026-11-01", 'b')));
  ASSERT_TRUE(write_run_list(run, {"base-aaaaaaaa", "eval-cccccccc"}));
  const auto runs = find_runs(nights.dir.path());
  ASSERT_TRUE(runs);
  ASSERT_EQ(runs->at(0).nodes.size(), 3U);
  EXPECT_TRUE(runs->at(0).nodes[0].is_listed);
  EXPECT_FALSE(runs->at(0).nodes[1].is_listed);
  EXPECT_FALSE(runs->at(0).nodes[2].record) << "listed, and not there yet";
}

TEST(RunTree, NamesThatDifferInDigitsAreOneSequence) {
  EXPECT_EQ(sequence_of("nights/2026-11-24"), "#-#-#");
  EXPECT_EQ(sequence_of("nights/2026-11-24/nightly"), "nightly");
  EXPECT_EQ(sequence_of("night-0007"), sequence_of("night-12"));
}

}  // namespace
}  // namespace nb
