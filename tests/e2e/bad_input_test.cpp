// Every line of "bad input": one clear sentence (what, where, what to try), exit 64 or 4, nothing
// half-written.
#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "results/store/store.hpp"
#include "tests/e2e/bench.hpp"
#include "tests/support/data_dir.hpp"

namespace nb::test {
namespace {

std::vector<std::string> with_set(const std::string& change) { return {"--set", change}; }

TEST(BadInput, UnknownKeyInASuite) {
  const Bench bench;
  expect_sentence(bench.run(kSmallSuite, with_set("/stages/base/dept=2")), 64,
                  {"tests/e2e/small.json", "/stages/base", "dept", "did you mean \"depth\""});
  EXPECT_TRUE(fs::is_empty(bench.results()));
}

TEST(BadInput, UnknownDevice) {
  const Bench bench;
  expect_sentence(bench.run(kSmallSuite, with_set("/devices/0=ascend_910b4x")), 64,
                  {"/devices/0", "ascend_910b4x", "did you mean \"ascend_910b4\"", "list devices"});
  EXPECT_TRUE(fs::is_empty(bench.results()));
}

TEST(BadInput, SuiteThatIsNoJson) {
  const Bench bench;
  const TempDir folder;
  ASSERT_TRUE(write_file(folder / "s.json", "{\"name\": \"s\",\n  \"devices\": [}\n"));
  expect_sentence(bench.run((folder / "s.json").string()), 64, {"s.json", "2"});
}

TEST(BadInput, SuiteThatIsNotThere) {
  const Bench bench;
  expect_sentence(bench.run("suites/smok.json"), 64, {"suites/smok.json"});
}

TEST(BadInput, MissingDataFile) {
  const Bench bench;
  const TempDir empty;
  expect_sentence(bench.run("suites/real_small.json", {"--data-dir", empty.path().string()}), 64,
                  {"english_novels", empty.path().string()});
  EXPECT_TRUE(fs::is_empty(bench.results()));
}

TEST(BadInput, TruncatedDataFileNamesTheChecksum) {
  NB_NEEDS_DATA();
  const Bench bench;
  const TempDir copy;
  fs::create_directories(copy / "text");
  fs::copy(data_dir() / "text/english_novels", copy / "text/english_novels");
  fs::create_directory_symlink(data_dir() / "core", copy / "core");
  const fs::path file = copy / "text/english_novels/Doyle_Hound_1902.txt";
  fs::permissions(file, fs::perms::owner_write, fs::perm_options::add);
  fs::resize_file(file, fs::file_size(file) - 10);
  expect_sentence(bench.run("suites/real_small.json", {"--data-dir", copy.path().string()}), 64,
                  {"Doyle_Hound_1902.txt"});
  EXPECT_TRUE(fs::is_empty(bench.results()));
}

TEST(BadInput, AlteredDataFileNamesTheChecksum) {
  NB_NEEDS_DATA();
  const Bench bench;
  const TempDir copy;
  fs::create_directories(copy / "text");
  fs::copy(data_dir() / "text/english_novels", copy / "text/english_novels");
  fs::create_directory_symlink(data_dir() / "core", copy / "core");
  const fs::path file = copy / "text/english_novels/Doyle_Hound_1902.txt";
  fs::permissions(file, fs::perms::owner_write, fs::perm_options::add);
  auto text = read_file(file);
  ASSERT_TRUE(text);
  text->back() = text->back() == 'x' ? 'y' : 'x';
  ASSERT_TRUE(write_file(file, *text));
  expect_sentence(bench.run("suites/real_small.json", {"--data-dir", copy.path().string()}), 64,
                  {"Doyle_Hound_1902.txt", "SHA-256"});
}

TEST(BadInput, BatchArithmeticThatDoesNotDivide) {
  const Bench bench;
  expect_sentence(bench.run(kSmallSuite, with_set("/stages/base/total_batch_tokens=150")), 64,
                  {"/stages/base", "150", "64", "128 or 192"});
  expect_sentence(bench({"predict", "--device", "ascend_910b3", "--total-batch-tokens", "524289"}),
                  64, {"524289"});
}

TEST(BadInput, ValueOutOfRange) {
  const Bench bench;
  expect_sentence(bench.run(kSmallSuite, with_set("/stages/base/depth=0")), 64,
                  {"/stages/base/depth"});
}

// It failed the node with exit 64.
TEST(BadInput, CheckpointOfAnotherNodeIsPassedOver) {
  const Bench bench, other;
  const std::vector<std::string> one{"--set", R"(/devices=["ascend_910b3"])", "--quiet"};
  auto deeper = one;
  deeper.insert(deeper.end(), {"--set", "/stages/base/depth=3", "--set", "/evaluations=[]"});
  ASSERT_EQ(bench.run(kSmallSuite, one).exit_code, 0);
  const auto expected = outcome(bench.suite_folder());
  const auto foreign = other.run(kSmallSuite, deeper);
  ASSERT_EQ(foreign.exit_code, 0) << foreign.err;
  // The other model's checkpoint stands where this run would go on.
  const fs::path train = bench.node("train-base");
  fs::remove(train / "record.json");
  for (const auto& old : fs::directory_iterator(train / "checkpoints")) fs::remove(old.path());
  for (const auto& file : fs::directory_iterator(other.node("train-base") / "checkpoints"))
    fs::copy(file.path(), train / "checkpoints" / file.path().filename());
  const auto result = bench.run(kSmallSuite, one);
  expect_sentence(
      result, 0,
      {"train-base-ascend_910b3-s1: " + (train / "checkpoints").string(),
       ".safetensors: a checkpoint of another run: /model/", "; the training begins again\n"});
  EXPECT_EQ(first_difference(expected, outcome(bench.suite_folder())), "");
}

TEST(BadInput, CorruptSafetensorsHeaderIsPassedOver) {
  const Bench bench;
  const std::vector<std::string> one{"--set", R"(/devices=["ascend_910b3"])"};
  ASSERT_EQ(bench.run(kSmallSuite, one).exit_code, 0);
  const auto expected = outcome(bench.suite_folder());
  const fs::path train = bench.node("train-base");
  fs::remove(train / "record.json");
  for (const auto& file : fs::directory_iterator(train / "checkpoints")) {
    auto bytes = read_file(file.path());
    ASSERT_TRUE(bytes);
    bytes->replace(0, 8, "\xff\xff\xff\xff\xff\xff\xff\x7f");
    ASSERT_TRUE(write_file(file.path(), *bytes));
  }
  const auto again = bench.run(kSmallSuite, one);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(first_difference(expected, outcome(bench.suite_folder())), "");
  const auto log = read_file(train / "log.txt");
  ASSERT_TRUE(log);
  EXPECT_NE(log->find("header"), std::string::npos) << *log;
  EXPECT_NE(again.err.find("; the training begins again\n"), std::string::npos) << again.err;
}

TEST(BadInput, SimulatedOutOfMemorySpeaksTheDevicesWords) {
  const Bench bench;
  const std::vector<std::string> large{
      "predict",        "--device", "ascend_910b3",         "--depth", "20", "--cards", "8",
      "--device-batch", "64",       "--total-batch-tokens", "1048576"};
  expect_sentence(bench(large), 4, {"NPU out of memory", "the largest device batch that fits is"});
  auto gpu = large;
  gpu[2] = "h100_sxm";
  gpu[8] = "128";
  gpu[10] = "2097152";
  expect_sentence(bench(gpu), 4, {"CUDA out of memory", "the largest device batch that fits is"});
}

TEST(BadInput, TrainingThatDoesNotFitTheDeviceIsSaidBeforeWorkStarts) {
  const Bench bench;
  // `tiny` has 1 GiB; 65,536 rows of 32 tokens of width 128 fill it with one tensor.
  expect_sentence(bench.run(kSmallSuite, {"--set", R"(/devices=["tiny"])", "--set",
                                          "/stages/base/device_batch_size=65536", "--set",
                                          "/stages/base/total_batch_tokens=2097152"}),
                  4,
                  {"train-base-tiny-s1", "out of memory", "the largest device batch that fits is"});
  EXPECT_TRUE(fs::is_empty(bench.results()));
}

TEST(BadInput, UnwritableResultsFolder) {
  const Bench bench;
  ASSERT_TRUE(write_file(bench.results() / "file", "x"));
  expect_sentence(
      bench({"run", kSmallSuite, "--results-dir", (bench.results() / "file/below").string()}), 64,
      {"--results-dir"});
  // It was found when the model had been opened, as a folder ".locks" that could not be made.
  const std::string file = (bench.results() / "file").string();
  expect_sentence(
      bench({"eval", "--model", "oracle", "--task", "mw/facts", "--results-dir", file}), 64,
      {file + ": cannot be written (" + file + " is not a folder); give another --results-dir"});
}

// A shell's variable that nobody had set stood for the default: another device, all of the data.
TEST(BadInput, AnEmptyValueOfAFlagIsRefused) {
  const Bench bench;
  expect_sentence(bench.train({"--device", ""}), 64,
                  {"npubench: --device: its value is empty (npubench train --help)"});
  expect_sentence(bench.train({"--data", ""}), 64, {"--data: its value is empty"});
  expect_sentence(bench({"gate", "", "x"}), 64, {"RUNS: its value is empty"});
  expect_sentence(bench({"data", "list", "--data-dir", ""}), 64,
                  {"--data-dir: its value is empty"});
  EXPECT_TRUE(fs::is_empty(bench.results()));
}

TEST(BadInput, AFlagGivenTwiceOrWithoutItsValueSaysSo) {
  const Bench bench;
  expect_sentence(bench.train({"--seed", "1", "--seed", "2"}), 64,
                  {"npubench: --seed: given 2 times; give it once (npubench train --help)"});
  expect_sentence(bench.train({"--name"}), 64,
                  {"npubench: --name needs a value (npubench train --help)"});
  EXPECT_TRUE(fs::is_empty(bench.results()));
}

TEST(BadInput, OneDeviceTwiceIsNoComparison) {
  const Bench bench;
  ASSERT_EQ(bench.train().exit_code, 0);
  const std::string run = bench.suite_folder("train-d1").string();
  expect_sentence(bench({"gate", run, run + "/"}), 64, {"is given twice"});
  expect_sentence(bench({"compare", run, run}), 0, {"A and B are one run"});
  expect_sentence(bench({"compare", run, "--devices", "ascend_910b3", "ascend_910b3"}), 64,
                  {"--devices: ascend_910b3 is given twice"});
  // Nor is a run of which nothing can be read.
  ASSERT_TRUE(write_file(bench.node("train-base") / "record.json", "{"));
  expect_sentence(bench({"compare", bench.node("train-base").string(), run}), 64,
                  {"record.json:1:2: syntax error", "is replaced"});
}

// It printed "nothing wrong" and ended with 0.
TEST(BadInput, TextThatDoctorKnowsNothingOfIsNoHealth) {
  const Bench bench;
  const TempDir folder;
  const std::string letter = folder / "letter.txt";
  ASSERT_TRUE(write_file(letter, "Dear all,\nlunch is at noon.\n"));
  expect_sentence(bench({"doctor", letter}), 64,
                  {letter + ": nothing of a kind that is known; doctor reads logs", "rank tables"});
  expect_sentence(bench({"doctor", letter, "--json"}), 64, {"nothing of a kind that is known"});
  fs::create_directory(folder / "none");
  expect_sentence(bench({"doctor", (folder / "none").string()}), 64, {"none: empty; doctor reads"});
  // Beside what is known it is said to be unknown.
  const std::string log = folder / "log.txt";
  ASSERT_TRUE(write_file(log, "step 00001/00100 | loss: 3.1 | dt: 100.00ms\n"));
  const auto both = bench({"doctor", letter, log});
  EXPECT_EQ(both.exit_code, 0) << both.err;
  EXPECT_NE(both.out.find(letter + ": no known kind of text\n"), std::string::npos) << both.out;
}

TEST(BadInput, UnreadableBaselineIsFoundBeforeWorkStarts) {
  const Bench bench;
  expect_sentence(bench.run(kSmallSuite, {"--baseline", "/nowhere"}), 64, {"/nowhere"});
  EXPECT_TRUE(fs::is_empty(bench.results()));
}

}  // namespace
}  // namespace nb::test
