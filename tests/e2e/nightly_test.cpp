// npubench nightly as a nightly job calls it.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/base/file_lock.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

constexpr const char* kSuite = NB_SOURCE_DIR "/tests/e2e/shortest.json";

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Threads that keep the cores busy, two for each.
class Load {
 public:
  Load() {
    for (unsigned i = 0; i < 2 * std::max(2U, std::thread::hardware_concurrency()); ++i)
      threads_.emplace_back([this] {
        while (!ends_.load(std::memory_order_relaxed)) {
        }
      });
  }
  ~Load() {
    ends_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

 private:
  std::atomic<bool> ends_ = false;
  std::vector<std::thread> threads_;
};

class Nightly : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(NB_EMULATOR)
    GTEST_SKIP() << "skipped: a night starts its steps without an emulator";
#endif
  }
  const fs::path& nights() const { return bench_.results(); }
  SubprocessResult nightly(std::vector<std::string> arguments,
                           std::chrono::milliseconds limit = std::chrono::minutes(5)) const {
    arguments.insert(arguments.begin(), {"nightly", "--nights", nights().string()});
    return bench_(arguments, limit);
  }
  SubprocessResult night(const std::string& name, std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"--name", name});
    if (std::ranges::none_of(more, [](const auto& word) { return word.ends_with(".json"); }))
      more.emplace_back(kSuite);
    return nightly(more);
  }
  void accept(const std::string& name) const {
    const auto accepted =
        bench_({"gate", "accept", (nights() / name / "shortest").string(), "--results-dir",
                nights().string(), "--why", "looked at", "--who", "test"});
    ASSERT_EQ(accepted.exit_code, 0) << accepted.err;
  }
  // Results of two machines, the second 15 points worse.
  void write_results() const {
    std::string gpu = "item,outcome\n", npu = gpu;
    for (int i = 0; i < 200; ++i) {
      gpu += "q" + std::to_string(i) + (i % 4 != 0 ? ",1\n" : ",0\n");
      npu += "q" + std::to_string(i) + (i % 4 != 0 && i % 5 != 1 ? ",1\n" : ",0\n");
    }
    ASSERT_TRUE(write_file(nights() / "from/gpu/toy.csv", gpu));
    ASSERT_TRUE(write_file(nights() / "from/npu/toy.csv", npu));
    ASSERT_TRUE(write_file(nights() / "from/gpu_again/toy.csv", gpu));
  }
  SubprocessResult import_night(const std::string& name, const std::string& second,
                                std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"--name", name, "--import", (nights() / "from/gpu").string(),
                             "--import", (nights() / "from" / second).string()});
    return nightly(more);
  }
  // Names of the nights in the history, in its order.
  std::vector<std::string> remembered() const {
    std::vector<std::string> names;
    const std::string text = read_file(nights() / "gates.jsonl").value_or("");
    for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != text.npos; begin = end + 1)
      names.push_back(Json::parse(text.substr(begin, end - begin)).at("name"));
    return names;
  }
  const Bench bench_;
};

TEST_F(Nightly, FirstNightIsReportedAndSecondIsJudgedAgainstTheAcceptedOne) {
  const auto first = night("n1");
  ASSERT_EQ(first.exit_code, 0) << first.out << first.err;
  EXPECT_TRUE(says(first.out, "no baseline yet")) << first.out;
  EXPECT_TRUE(says(first.out, "gate accept " + (nights() / "n1/shortest").string()));
  EXPECT_TRUE(fs::exists(nights() / "n1/report/report.html"));
  EXPECT_TRUE(remembered().empty());

  accept("n1");
  const auto second = night("n2", {"--lang", "zh"});
  ASSERT_EQ(second.exit_code, 0) << second.out << second.err;
  EXPECT_TRUE(second.out.starts_with("PASS (exit 0): ")) << second.out;
  EXPECT_LT(std::ranges::count(second.out, '\n'), 25) << "one screen";
  EXPECT_TRUE(says(second.out, "run       9 executed, 0 reused, 0 failed, 0 skipped"));
  EXPECT_EQ(*read_file(nights() / "n2/summary.txt"), second.out);
  EXPECT_TRUE(says(*read_file(nights() / "n2/report/report.html"), "PASS（退出码 0）"));
  EXPECT_EQ(Json::parse(*read_file(nights() / "n2/gate.json")).at("night"), "PASS");
  EXPECT_TRUE(says(*read_file(nights() / "n2/gate.xml"), "<testsuite name=\"npubench gate\""));
  EXPECT_TRUE(says(second.err, "gate       begins, see " + (nights() / "n2/gate.log").string()))
      << second.err;
  EXPECT_EQ(remembered(), std::vector<std::string>{"n2"});
}

// The gate's, not the last step's: the report is written all the same.
TEST_F(Nightly, ExitCodeIsTheGates) {
  ASSERT_EQ(night("n1").exit_code, 0);
  accept("n1");
  std::string suite = *read_file(kSuite);
  const std::string depth = "\"depth\": 1,";
  suite.replace(suite.find(depth), depth.size(), depth + " \"matrix_lr\": 0.5,");
  ASSERT_TRUE(write_file(nights() / "hot/shortest.json", suite));
  const auto judged = night("n2", {(nights() / "hot/shortest.json").string()});
  EXPECT_EQ(judged.exit_code, 1) << judged.out << judged.err;
  EXPECT_TRUE(says(judged.out, "matrix_lr 0.02 → 0.5")) << judged.out;
  EXPECT_TRUE(says(judged.out, "exit      1"));
  EXPECT_TRUE(fs::exists(nights() / "n2/report/report.html"));
}

// The report judged by the built-in policy, whatever the gate was told.
TEST_F(Nightly, TheReportJudgesByThePolicyOfTheNight) {
  write_results();
  ASSERT_TRUE(write_file(nights() / "policy.json", R"({"margins": {"items": 0.9}})"));
  const auto judged =
      import_night("n1", "npu", {"--policy", (nights() / "policy.json").string(), "--strict"});
  const std::string verdict = judged.out.substr(0, judged.out.find(": "));
  EXPECT_NE(judged.exit_code, 1) << judged.out << judged.err;
  EXPECT_TRUE(says(*read_file(nights() / "n1/report/report.md"), verdict)) << judged.out;
}

// Two machines' files: what the second lost against the first is the night's verdict.
TEST_F(Nightly, ImportedNightsAreJudgedSideBySide) {
  write_results();
  const auto worse = import_night("n1", "npu");
  EXPECT_EQ(worse.exit_code, 1) << worse.out << worse.err;
  EXPECT_TRUE(says(worse.out, "REGRESSED")) << worse.out;
  const std::string html = *read_file(nights() / "n1/report/report.html");
  EXPECT_TRUE(says(html, "B is worse on")) << "the first screen says what differs";
  EXPECT_TRUE(says(html, "id=items-data")) << "the items that flipped";
  const auto same = import_night("n2", "gpu_again", {"--json"});
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
  const Json json = Json::parse(same.out);
  EXPECT_EQ(json.at("schema"), "npubench.nightly/1");
  EXPECT_EQ(json.at("verdict"), "PASS");
  EXPECT_EQ(json.at("steps").size(), 5U);
}

// On a busy machine the script lost options: 11 to 31 of 40 calls had no gate.xml, or wrote their
// line of the history elsewhere, or twice.
TEST_F(Nightly, UnderLoadEveryNightHasItsFilesAndOneLine) {
  const Load busy;
  write_results();
  std::vector<std::string> names;
  for (int i = 0; i < 5; ++i) {
    names.push_back("n" + std::to_string(i));
    EXPECT_EQ(import_night(names.back(), i % 2 == 0 ? "npu" : "gpu_again").exit_code,
              i % 2 == 0 ? 1 : 0);
    for (const char* file : {"gate.xml", "gate.json", "summary.txt", "report/report.html"})
      EXPECT_TRUE(fs::exists(nights() / names.back() / file)) << names.back() << " " << file;
  }
  EXPECT_EQ(remembered(), names);
  const std::string before = *read_file(nights() / "gates.jsonl");
  EXPECT_EQ(import_night("n2", "gpu_again").exit_code, 0);
  EXPECT_EQ(remembered(), names) << "a night that is repeated replaces its line";
  EXPECT_NE(*read_file(nights() / "gates.jsonl"), before) << "PASS in place of REGRESSED";
}

int processes_of(const std::string& word) {
  int count = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored))
    if (const auto command = read_file(entry.path() / "cmdline"))
      if (says(*command, word)) ++count;
  return count;
}

// A step without its night would go on for hours, and the next night would meet it.
TEST_F(Nightly, AKilledNightLeavesNothingRunning) {
  std::string suite = *read_file(kSuite);
  const std::string short_run = "\"iterations\": 3,";
  suite.replace(suite.find(short_run), short_run.size(), "\"iterations\": 5000000,");
  ASSERT_TRUE(write_file(nights() / "long/shortest.json", suite));
  const auto killed = nightly({(nights() / "long/shortest.json").string(), "--name", "n1"},
                              std::chrono::seconds(4));
  EXPECT_TRUE(killed.timed_out) << killed.err;
  EXPECT_TRUE(fs::exists(nights() / "n1/run.log")) << "killed before its first step";
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (processes_of(nights().string()) > 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(processes_of(nights().string()), 0);
}

TEST_F(Nightly, AKilledNightResumesAndIsOneLine) {
  ASSERT_EQ(night("n1").exit_code, 0);
  accept("n1");
  for (const int after_ms : {30, 200, 500, 900})
    (void)nightly({kSuite, "--name", "n2"}, std::chrono::milliseconds(after_ms));
  const auto last = night("n2");
  EXPECT_EQ(last.exit_code, 0) << last.out << last.err;
  EXPECT_EQ(remembered(), std::vector<std::string>{"n2"});
  EXPECT_EQ(first_damage(nights() / "n2/shortest"), "");
}

// Of a repeated night that fails, the earlier verdict must not stand beside the failure.
TEST_F(Nightly, ARepeatedNightForgetsWhatItSaidBefore) {
  write_results();
  ASSERT_EQ(import_night("n1", "gpu_again").exit_code, 0);
  ASSERT_TRUE(write_file(nights() / "from/gpu_again/toy.csv", "nothing that is known"));
  const auto failed = import_night("n1", "gpu_again");
  EXPECT_EQ(failed.exit_code, 64) << failed.out;
  EXPECT_TRUE(says(failed.err, "gpu_again could not be imported")) << failed.err;
  for (const char* file : {"gate.xml", "gate.json", "summary.txt"})
    EXPECT_FALSE(fs::exists(nights() / "n1" / file)) << file;
}

TEST_F(Nightly, ASecondNightInTheFolderIsToldWhoIsThere) {
  write_results();
  const auto lock = FileLock::try_acquire(nights() / ".lock");
  ASSERT_TRUE(lock && lock->held());
  lock->sign(", night n0");
  const auto second = import_night("n1", "npu");
  EXPECT_EQ(second.exit_code, 4) << second.out;
  EXPECT_TRUE(says(second.err, "another night is running in " + nights().string() + ": process " +
                                   std::to_string(::getpid())))
      << second.err;
  EXPECT_TRUE(says(second.err, ", night n0;")) << second.err;
  EXPECT_FALSE(fs::exists(nights() / "n1/import_1.log"));
}

// As harness/ci shows it: gate accept, then --keep. A plain copy below accepted/ stays too.
TEST_F(Nightly, AcceptedNightsStayAndOldOnesGo) {
  ASSERT_EQ(night("n1").exit_code, 0);
  accept("n1");
  fs::copy(nights() / "n1/shortest", nights() / "accepted/by_hand", fs::copy_options::recursive);
  for (const char* name : {"n2", "n3", "n4"}) {
    const auto kept = night(name, {"--keep", "1"});
    EXPECT_EQ(kept.exit_code, 0) << kept.out << kept.err;
  }
  EXPECT_TRUE(fs::exists(nights() / "n1/shortest")) << "accepted";
  EXPECT_FALSE(fs::exists(nights() / "n2")) << "the whole folder, with every file of a night";
  EXPECT_FALSE(fs::exists(nights() / "n3"));
  EXPECT_TRUE(fs::exists(nights() / "n4/shortest")) << "the newest";
  EXPECT_TRUE(fs::exists(nights() / "accepted/by_hand"));
  EXPECT_EQ(remembered(), (std::vector<std::string>{"n2", "n3", "n4"}));
}

TEST_F(Nightly, AnAcceptedNightIsNotJudgedAgainstItself) {
  ASSERT_EQ(night("n1").exit_code, 0);
  accept("n1");
  const auto again = night("n1");
  EXPECT_EQ(again.exit_code, 64) << again.out;
  EXPECT_TRUE(says(again.err, "is the accepted run itself")) << again.err;
}

TEST_F(Nightly, BadUsageIsOneSentence) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--import", "a"}, "--import is given 1 time; give it twice"},
      {{"--import", "a", "--import", "a"}, "--import a is given twice"},
      {{kSuite, "--import", "a", "--import", "b"}, "not both"},
      {{"--import", "a", "--import", "b", "--baseline", "c"}, "--baseline: the first --import"},
      {{"--import", "none/a", "--import", "none/b"}, "none/a could not be imported"},
      {{kSuite, "--name", "accepted"}, "not \"accepted\""},
      {{kSuite, "--name", ".."}, "not a point first"},
      {{kSuite, "--name", "a/b"}, "letters, digits"},
      {{kSuite, "--keep", "two"}, "--keep"},
      {{kSuite, "--lang", "fr"}, "--lang"},
      {{"none.json"}, "none.json: no such file"},
      {{kSuite, "--policy", "none.json"}, "none.json"},
      {{kSuite, "--nights"}, "--nights needs a value"}};
  for (const auto& [arguments, part] : cases) {
    auto words = arguments;
    words.insert(words.begin(), "nightly");
    if (words.back() != "--nights") words.insert(words.end(), {"--nights", nights().string()});
    const auto result = bench_(words);
    EXPECT_EQ(result.exit_code, 64) << part;
    EXPECT_TRUE(says(result.err, part)) << result.err;
  }
}

}  // namespace
}  // namespace nb::test
