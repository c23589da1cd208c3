// Ranks in several processes: mpirun on this machine, against ranks that are threads.
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/fs.hpp"
#include "results/store/store.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

constexpr const char* kStages = "tests/e2e/processes.json";

// BASE alone, on meshes of two cards.
const std::vector<std::string> kBaseOnly = {
    "--set", "/evaluations=[]", "--set", "/microbenchmarks=[]", "--set", "/predictions=[]"};

std::vector<std::string> base_on(const std::string& devices, std::vector<std::string> more = {}) {
  more.insert(more.end(), kBaseOnly.begin(), kBaseOnly.end());
  more.insert(more.end(), {"--set", "/devices=" + devices});
  return more;
}

bool has_mpi() {
  return fs::exists(NB_BINARY_DIR "/libnpubench_mpi.so") && run_subprocess({"mpirun", "-V"});
}

// mpirun -n <processes> npubench <arguments>; other: a command in front of it in process 1.
SubprocessResult in_processes(int processes, const std::vector<std::string>& arguments,
                              const std::string& other = "") {
  std::vector<std::string> argv = {"mpirun",
                                   "-n",
                                   std::to_string(processes),
                                   "--bind-to",
                                   "none",
                                   "--oversubscribe",
                                   "--allow-run-as-root"};
  if (!other.empty())
    argv.insert(argv.end(), {"bash", "-c",
                             "if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then exec " + other +
                                 " \"$@\"; fi; exec \"$@\"",
                             "bash"});
  argv.emplace_back(NB_BINARY_DIR "/npubench");
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  SubprocessOptions options;
  options.time_limit = std::chrono::minutes(5);
  const auto result = run_subprocess(argv, options);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : SubprocessResult{};
}

SubprocessResult run_in_processes(const Bench& bench, const std::string& suite,
                                  const std::vector<std::string>& more,
                                  const std::string& other = "") {
  std::vector<std::string> arguments = {"run", suite, "--results-dir", bench.results().string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return in_processes(2, arguments, other);
}

void expect_same_records(const Bench& a, const Bench& b, const std::string& suite) {
  EXPECT_EQ(first_difference(outcome(a.suite_folder(suite)), outcome(b.suite_folder(suite))), "");
  EXPECT_EQ(first_damage(b.suite_folder(suite)), "");
}

TEST(Processes, GiveTheRecordsOfThreads) {
  const Bench threads, processes;
  // An H100 tunes with other roundings than it trains; once its ranks began SFT with those of BASE.
  const auto ran = threads.run(kStages);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  if (!has_mpi()) GTEST_SKIP() << "skipped: no MPI (libopenmpi-dev, openmpi-bin)";
  const auto together = run_in_processes(processes, kStages, {});
  ASSERT_EQ(together.exit_code, 0) << together.err;
  expect_same_records(threads, processes, "processes");
  // One process speaks.
  EXPECT_EQ(together.out.find("executed"), together.out.rfind("executed")) << together.out;
  EXPECT_EQ(together.err.find("[1/"), together.err.rfind("[1/")) << together.err;
}

TEST(Processes, ShareStagesStateAndModelsAsThreadsDo) {
  if (!has_mpi()) GTEST_SKIP() << "skipped: no MPI (libopenmpi-dev, openmpi-bin)";
  const Bench threads, processes;
  const auto more =
      base_on(R"([{"profile":"ascend_910b3","name":"pp","mesh":{"pp":2}},)"
              R"({"profile":"h100_sxm","name":"zero","mesh":{"dp":2,"zero":1}},)"
              R"({"profile":"ascend_910b3","name":"tp","mesh":{"tp":2}}])",
              {"--set", "/stages/base/model=llama", "--set", "/stages/base/iterations=4"});
  const auto ran = threads.run(kSmallSuite, more);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto together = run_in_processes(processes, kSmallSuite, more);
  ASSERT_EQ(together.exit_code, 0) << together.err;
  expect_same_records(threads, processes, "small");
}

// Whichever way the first part was run, and however it ended.
TEST(Processes, GoOnWhereAKilledJobStopped) {
  if (!has_mpi()) GTEST_SKIP() << "skipped: no MPI (libopenmpi-dev, openmpi-bin)";
  const Bench threads, processes;
  const auto more = base_on(R"([{"profile":"ascend_910b3","name":"fsdp","mesh":{"fsdp":2}}])",
                            {"--set", "/stages/base/iterations=20"});
  const auto ran = threads.run(kSmallSuite, more);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  // Kills what it starts when the first checkpoint is there; mpirun then ends the job.
  const fs::path killer = processes.results() / "killer.sh";
  ASSERT_TRUE(write_file(killer, "\"$@\" & until compgen -G '" + processes.results().string() +
                                     "/small/*/checkpoints/*.safetensors' >/dev/null; do sleep "
                                     "0.02; done; kill -KILL $!; kill -KILL $$\n"));
  const auto killed = run_in_processes(processes, kSmallSuite, more, "bash " + killer.string());
  EXPECT_NE(killed.exit_code, 0);
  EXPECT_FALSE(killed.timed_out);
  const auto resumed = run_in_processes(processes, kSmallSuite, more);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  expect_same_records(threads, processes, "small");
}

TEST(Processes, EndWithTheFirstCauseOfAny) {
  if (!has_mpi()) GTEST_SKIP() << "skipped: no MPI (libopenmpi-dev, openmpi-bin)";
  const Bench bench;
  const auto more = base_on(R"([{"profile":"ascend_910b3","name":"two","mesh":{"dp":2}}])");
  const auto lost = run_in_processes(bench, kSmallSuite, more, "env TMPDIR=/nowhere");
  EXPECT_EQ(lost.exit_code, 4);
  EXPECT_NE(lost.out.find("rank 1: process 1: "), std::string::npos) << lost.out;
  EXPECT_NE(lost.out.find("set TMPDIR"), std::string::npos) << lost.out;
  // What ends all ends all with the words of one process.
  auto diverging = more;
  diverging.insert(diverging.end(), {"--set", "/stages/base/embedding_lr=1e38"});
  const Bench threads;
  const auto alone = threads.run(kSmallSuite, diverging);
  const auto together = run_in_processes(bench, kSmallSuite, diverging);
  EXPECT_EQ(alone.exit_code, 4);
  EXPECT_EQ(together.exit_code, 4);
  const auto sentence = [](const SubprocessResult& result) {
    const std::size_t at = result.out.find("failed train");
    return result.out.substr(at, result.out.find('\n', at) - at);
  };
  EXPECT_EQ(sentence(together), sentence(alone));
}

TEST(Processes, RefuseWhatTheyCannotShare) {
  if (!has_mpi()) GTEST_SKIP() << "skipped: no MPI (libopenmpi-dev, openmpi-bin)";
  const Bench bench;
  const auto refused = [&](int processes, std::vector<std::string> arguments,
                           const std::string& text) {
    arguments.insert(arguments.end(), {"--results-dir", bench.results().string()});
    const auto result = in_processes(processes, arguments);
    EXPECT_EQ(result.exit_code, 64) << text;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(bench.suite_folder("processes")));
  };
  refused(3, {"run", kStages}, "3 processes cannot share a mesh of 4 ranks");
  refused(2, {"run", kSmallSuite}, "no training of this suite has a mesh");
  refused(2, {"run", kStages, "--fault", "kill:rank=1,step=1"}, "planted faults are played");
  refused(2, {"list", "runs"}, "only `npubench run`");
}

// A program that was built without MPI must not run as so many programs in one folder.
TEST(Processes, AreRefusedByAProgramWithoutMpi) {
  const Bench bench;
  const fs::path alone = bench.results() / "npubench";
  fs::copy_file(NB_BINARY_DIR "/npubench", alone);
  SubprocessOptions options;
  options.environment = {{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "0"}};
  const auto result = run_subprocess(
      {alone.string(), "run", kStages, "--results-dir", bench.results().string()}, options);
  ASSERT_TRUE(result);
  expect_sentence(*result, 4, {"built without MPI", "libopenmpi-dev"});
}

}  // namespace
}  // namespace nb::test
