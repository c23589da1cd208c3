// Faults of ranks through the verbs: what is written, what the doctor says of it, and that the same
// training without the fault ends as if nothing had been.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/base/fs.hpp"
#include "results/store/series.hpp"
#include "results/store/store.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

constexpr const char* kSuite = "tests/e2e/faults.json";

// A suite that is run with faults; its one training.
class Faulty {
 public:
  explicit Faulty(std::vector<std::string> faults, std::vector<std::string> more = {}) {
    for (const std::string& fault : faults) {
      more.emplace_back("--fault");
      more.push_back(fault);
    }
    ran = bench.run(kSuite, std::move(more));
    std::error_code error;
    for (fs::directory_iterator at(bench.suite_folder("faults"), error), end; at != end; ++at)
      if (fs::exists(at->path() / "failure.json")) folder = at->path();
    if (!folder.empty()) failure = read_json(folder / "failure.json").value_or(Json());
  }
  int first_rank() const { return failure.at("first").at("rank").get<int>(); }
  // Ranks that report the code so many seconds after the fault.
  std::vector<int> with(const std::string& code, double after_s) const {
    std::vector<int> ranks;
    for (const Json& one : failure.at("ranks"))
      if (one.at("code") == code && one.at("after_s") == after_s)
        ranks.push_back(one.at("rank").get<int>());
    return ranks;
  }
  // "Root: rank 3": what the doctor makes of the logs.
  std::string diagnosis() const { return bench({"doctor", (folder / "logs").string()}).out; }
  std::string log(const std::string& name) const {
    return read_file(folder / "logs" / name).value_or("");
  }

  Bench bench;
  SubprocessResult ran;
  std::filesystem::path folder;
  Json failure;
};

const std::vector<int> kAllBut3 = {0, 1, 2, 4, 5, 6, 7};
const std::vector<int> kAllBut5 = {0, 1, 2, 3, 4, 6, 7};

TEST(Faults, KilledRankIsNamedByTheScreenTheFileAndTheDoctor) {
  const Faulty run({"kill:rank=3,step=5"});
  ASSERT_EQ(run.ran.exit_code, 4) << run.ran.err;
  EXPECT_NE(run.ran.out.find("FAILED at step 5 of 8"), std::string::npos) << run.ran.out;
  EXPECT_NE(run.ran.out.find("ranks 0-2, 4-7: EI0002 after 1836 s = HCCL_EXEC_TIMEOUT"),
            std::string::npos);
  EXPECT_NE(run.ran.out.find("= 4.1 card-hours; last checkpoint step 4 (1 step to repeat)"),
            std::string::npos);
  EXPECT_EQ(run.first_rank(), 3);
  EXPECT_EQ(run.with("LOST", 30), kAllBut3);
  EXPECT_EQ(run.with("EI0002", 1836), kAllBut3);
  EXPECT_EQ(run.failure.at("resume_step"), 4);
  EXPECT_TRUE(run.log("rank-0.log").starts_with("# npubench emulated"));
  EXPECT_NE(run.log("rank-0.log").find("EI0002"), std::string::npos);
  EXPECT_EQ(run.log("rank-3.log").find("ERROR"), std::string::npos);
  EXPECT_NE(run.diagnosis().find("Root: rank 3"), std::string::npos) << run.diagnosis();
}

TEST(Faults, KilledRankUnderTorchrunStandsInItsSummary) {
  const Faulty run({"kill:rank=3,step=5"}, {"--set", "/launcher=torchrun"});
  ASSERT_EQ(run.ran.exit_code, 4) << run.ran.err;
  EXPECT_EQ(run.with("SIGTERM", 5), kAllBut3);
  EXPECT_NE(run.log("torchrun.log").find("exitcode  : -9"), std::string::npos);
  EXPECT_NE(run.diagnosis().find("Root: rank 3"), std::string::npos) << run.diagnosis();
}

TEST(Faults, RankThatEndsEarlyOrThrowsOrAsksForTooMuchIsFirst) {
  for (const auto& [fault, rank] :
       std::vector<std::pair<std::string, int>>{{"exit:rank=5,step=5", 5},
                                                {"exception:rank=2,step=1,phase=forward", 2},
                                                {"oom:rank=1,step=3", 1},
                                                {"ecc:rank=6,step=3", 6}}) {
    SCOPED_TRACE(fault);
    const Faulty run({fault});
    ASSERT_EQ(run.ran.exit_code, 4) << run.ran.err;
    EXPECT_EQ(run.first_rank(), rank);
    EXPECT_EQ(run.with("EI0002", 1836).size(), 7U);
    const std::string said = run.diagnosis();
    EXPECT_NE(said.find("Root: rank " + std::to_string(rank)), std::string::npos) << said;
    if (fault.starts_with("oom")) {
      const std::string text = run.log("rank-1.log");
      for (const char* number : {"total capacity", "already allocated", "free", "reserved"})
        EXPECT_NE(text.find(number), std::string::npos) << text;
    }
  }
}

// torchrun ends the others for a process that failed, not for one that is done.
TEST(Faults, RankThatEndsEarlyStopsNobodyUnderTorchrun) {
  const Faulty run({"exit:rank=5,step=5"}, {"--set", "/launcher=torchrun"});
  ASSERT_EQ(run.ran.exit_code, 4) << run.ran.err;
  EXPECT_EQ(run.first_rank(), 5);
  EXPECT_EQ(run.with("EI0002", 1836), kAllBut5);
  for (const Json& one : run.failure.at("ranks"))
    if (one.at("rank") == 5) {
      EXPECT_EQ(one.at("exitcode"), 0) << one.dump();
    }
  EXPECT_NE(run.diagnosis().find("Root: rank 5"), std::string::npos) << run.diagnosis();
}

TEST(Faults, LateRankPassesWithinTheLimitAndFailsBeyondIt) {
  const auto steps_time_s = [](const Faulty& run) {
    const auto record = read_record(run.bench.node("train-base-ascend_910b3-s1"));
    return record ? find_metric(*record, "train_time_ns")->value.value_or(0) / 1e9 : 0;
  };
  for (const char* fault : {"late:rank=5,seconds=119,at=start", "late:rank=5,seconds=119,at=first",
                            "late:rank=5,seconds=1835,step=5"}) {
    SCOPED_TRACE(fault);
    const Faulty run({fault});
    ASSERT_EQ(run.ran.exit_code, 0) << run.ran.err;
    EXPECT_NE(run.ran.err.find("the others waited"), std::string::npos) << run.ran.err;
    const double s = std::string(fault).find("1835") == std::string::npos ? 119 : 1835;
    EXPECT_NEAR(steps_time_s(run), s, 1);
  }
  const Faulty start({"late:rank=5,seconds=141,at=start"});
  ASSERT_EQ(start.ran.exit_code, 4) << start.ran.err;
  EXPECT_EQ(start.with("EI0015", 140), std::vector<int>{0});
  const Faulty first({"late:rank=5,seconds=121,at=first"});
  ASSERT_EQ(first.ran.exit_code, 4) << first.ran.err;
  EXPECT_EQ(first.with("EI0006", 120), (std::vector<int>{4, 6}));
  const Faulty later({"late:rank=5,seconds=1837,step=5"});
  ASSERT_EQ(later.ran.exit_code, 4) << later.ran.err;
  EXPECT_EQ(later.with("EI0002", 1836), kAllBut5);
  for (const Faulty* run : {&start, &first, &later}) {
    EXPECT_EQ(run->first_rank(), 5);
    EXPECT_NE(run->diagnosis().find("Root: rank 5"), std::string::npos) << run->diagnosis();
  }
  const Faulty longer({"late:rank=5,seconds=1837,step=5"},
                      {"--set", "/environment={\"HCCL_EXEC_TIMEOUT\":\"3600\"}"});
  EXPECT_EQ(longer.ran.exit_code, 0) << longer.ran.err;
}

TEST(Faults, TrainingGoesOnWithoutTheFaultToTheBitsOfOneThatHadNone) {
  const Faulty run({"kill:rank=3,step=5"});
  ASSERT_EQ(run.ran.exit_code, 4) << run.ran.err;
  const auto again = run.bench.run(kSuite);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  const Bench clean;
  ASSERT_EQ(clean.run(kSuite).exit_code, 0);
  std::filesystem::path resumed;
  for (const auto& entry : fs::directory_iterator(run.bench.suite_folder("faults")))
    if (entry.path().filename().string().starts_with("train-") && entry.path() != run.folder)
      resumed = entry.path();
  const Record a = read_record(resumed).value_or(Record()),
               b = read_record(clean.node("train-base-ascend_910b3-s1")).value_or(Record());
  EXPECT_EQ(a.node_key, b.node_key);
  EXPECT_TRUE(same_results(a, b)) << first_difference(a, b);
  EXPECT_NE(read_file(resumed / "log.txt").value_or("").find("resumed at step 4"),
            std::string::npos);
  // What a fault ended is compared with nothing.
  const std::string failed = run.folder.string(), whole = resumed.string();
  EXPECT_EQ(run.bench({"compare", whole, failed}).exit_code, 3);
  EXPECT_EQ(run.bench({"gate", whole, failed}).exit_code, 3);
}

std::string on_mesh(const std::string& mesh) {
  return "/devices=[{\"profile\":\"ascend_910b3\",\"mesh\":" + mesh + "}]";
}

TEST(Faults, NanOfOneRankIsEverybodysInTheNextStep) {
  for (const char* mesh : {R"({"dp":8})", R"({"dp":8,"zero":1})", R"({"fsdp":8})",
                           R"({"dp":2,"fsdp":4,"shard":"hybrid"})"})
    for (const char* where : {"gradient", "parameter"}) {
      SCOPED_TRACE(std::string(mesh) + " " + where);
      const Faulty run({std::string("nan:rank=4,step=3,where=") + where},
                       {"--set", on_mesh(mesh), "--set", "/stages/base/eval_every=4"});
      ASSERT_EQ(run.ran.exit_code, 0) << run.ran.err;
      EXPECT_NE(run.ran.err.find("rank 4 had a NaN in step 3"), std::string::npos) << run.ran.err;
      const std::filesystem::path node = run.bench.node("train-base-ascend_910b3-s1");
      std::istringstream rows(read_file(node / "steps.csv").value_or(""));
      std::string row;
      std::getline(rows, row);
      for (int step = 0; step < 8 && std::getline(rows, row); ++step)
        EXPECT_EQ(row.starts_with(std::to_string(step) + ",nan,"),
                  step > 3 || (step == 3 && where == std::string("parameter")))
            << row;
      const Record record = read_record(node).value_or(Record());
      const Metric* loss = find_metric(record, "train_loss");
      ASSERT_NE(loss, nullptr);
      EXPECT_EQ(loss->value, std::nullopt);
      EXPECT_EQ(loss->reason_if_null, "not finite");
      EXPECT_EQ(find_metric(record, "replica_mismatch")->value, 0);
    }
}

TEST(Faults, TrainingOnNanGoesOnFromItsCheckpointToTheSameBits) {
  const std::vector<std::string> sets = {"--set", "/stages/base/keep_steps=[6]"};
  const Faulty run({"nan:rank=4,step=3"}, sets);
  ASSERT_EQ(run.ran.exit_code, 0) << run.ran.err;
  const std::filesystem::path node = run.bench.node("train-base-ascend_910b3-s1");
  const Record whole = read_record(node).value_or(Record());
  const std::string rows = read_file(node / "steps.csv").value_or("");
  fs::remove(node / "record.json");
  fs::remove(node / "checkpoints" / "step_000008.safetensors");
  auto more = sets;
  more.insert(more.end(), {"--fault", "nan:rank=4,step=3"});
  const auto again = run.bench.run(kSuite, more);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.err.find("not reached"), std::string::npos) << again.err;
  EXPECT_NE(read_file(node / "log.txt").value_or("").find("resumed at step 6"), std::string::npos);
  const Record resumed = read_record(node).value_or(Record());
  EXPECT_TRUE(same_results(whole, resumed)) << first_difference(whole, resumed);
  EXPECT_EQ(read_file(node / "steps.csv").value_or(""), rows);
}

TEST(Faults, EveryOneTwiceLeavesTheSameBytes) {
  for (const char* fault :
       {"kill:rank=3,step=5", "exit:rank=5,step=5", "oom:rank=1,step=3", "port:which=master",
        "late:rank=5,seconds=1837,step=2", "mismatch:rank=2,what=count", "order:rank=1,step=2",
        "link:ranks=6-7,state=down,from=2", "exception:rank=2,step=1,phase=forward",
        "ecc:rank=6,step=3"}) {
    SCOPED_TRACE(fault);
    const Faulty a({fault}), b({fault});
    ASSERT_EQ(a.ran.exit_code, 4) << a.ran.err;
    const auto bytes = [](const std::filesystem::path& folder) {
      std::map<std::string, std::string> files = {
          {"failure.json", read_file(folder / "failure.json").value_or("")}};
      for (const auto& entry : fs::recursive_directory_iterator(folder / "logs"))
        if (entry.is_regular_file())
          files[entry.path().lexically_relative(folder).string()] =
              read_file(entry.path()).value_or("");
      return files;
    };
    EXPECT_EQ(bytes(a.folder), bytes(b.folder));
  }
}

TEST(Faults, BetweenRanksThatCallOtherThingsNameTheRank) {
  for (const auto& [fault, rank, code] : std::vector<std::tuple<std::string, int, std::string>>{
           {"mismatch:rank=2,what=count", 2, "EI0005"},
           {"mismatch:rank=2,what=count,step=5", 2, "EI0002"},
           {"order:rank=1,step=5", 1, "EI0002"},
           {"port:which=device,rank=2", 2, "EI0019"},
           {"port:which=host", 0, "EI0019"},
           {"port:which=master", 0, "EADDRINUSE"},
           {"link:ranks=6-7,state=down,from=5", 6, "EI0013"}}) {
    SCOPED_TRACE(fault);
    const Faulty run({fault});
    ASSERT_EQ(run.ran.exit_code, 4) << run.ran.err;
    EXPECT_EQ(run.first_rank(), rank);
    bool has_code = false;
    for (const Json& one : run.failure.at("ranks")) has_code = has_code || one.at("code") == code;
    EXPECT_TRUE(has_code);
    const std::string said = run.diagnosis();
    EXPECT_NE(said.find("Root: rank " + std::to_string(rank)), std::string::npos) << said;
  }
}

// c10d's watchdog tells each rank's collective: the odd one is named, of two neither.
TEST(Faults, BetweenRanksOfGpusThatCallOtherThingsNameTheOddOne) {
  for (const char* fault : {"mismatch:rank=2,what=op,step=5", "mismatch:rank=2,what=count,step=5",
                            "order:rank=2,step=5"}) {
    SCOPED_TRACE(fault);
    const Faulty run({fault}, {"--set", "/devices/0/profile=h100_sxm"});
    ASSERT_EQ(run.ran.exit_code, 4) << run.ran.err;
    EXPECT_EQ(run.first_rank(), 2);
    const std::string said = run.diagnosis();
    EXPECT_NE(said.find("Root: rank 2"), std::string::npos) << said;
  }
  const Faulty two({"order:rank=1,step=5"},
                   {"--set", R"(/devices/0={"profile":"h100_sxm","mesh":{"dp":2}})"});
  ASSERT_EQ(two.ran.exit_code, 4) << two.ran.err;
  EXPECT_NE(two.diagnosis().find("which half is wrong these logs do not say"), std::string::npos)
      << two.diagnosis();
}

// fp16 as PyTorch trains it: GradScaler leaves the step out on every rank, since all have the NaN.
TEST(Faults, NanUnderLossScalingSkipsTheStepAndHalvesTheScale) {
  const TempDir folder;
  Json numerics = Json::object();
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"storage", "fp16"},
                                                        {"matmul_inputs", "fp16"},
                                                        {"matmul_output", "fp16"},
                                                        {"weight_gradient", "fp16"},
                                                        {"muon_matmul", "fp16"},
                                                        {"embedding_weight", "fp32"},
                                                        {"loss_scaling", "dynamic"}})
    numerics[key] = {{"value", value}, {"source", "assumed: made for a test"}};
  const Json profile = {
      {"base", "ascend_910b3"},
      {"identity", {{"name", "fp16"}, {"title", "in fp16"}, {"source", "made for a test"}}},
      {"instead", {{"numerics", numerics}}}};
  const auto file = folder / "fp16.json";
  ASSERT_TRUE(write_json(file, profile));
  const Faulty run({"nan:rank=4,step=5"}, {"--set", "/devices/0/profile=" + file.string(), "--set",
                                           "/devices/0/name=fp16"});
  ASSERT_EQ(run.ran.exit_code, 0) << run.ran.err;
  EXPECT_NE(run.ran.err.find("all ranks skip that step"), std::string::npos) << run.ran.err;
  const auto node = run.bench.node("train-base-fp16");
  const auto series = read_series(node / "steps.csv");
  ASSERT_TRUE(series) << series.error().message;
  const auto column = [&](const std::string& name) {
    const auto at = series->column(name);
    EXPECT_TRUE(at) << name;
    return at ? series->values.at(*at) : std::vector<std::optional<double>>(9);
  };
  const auto scales = column("grad_scale"), losses = column("train_loss");
  for (std::size_t step = 0; step < 8; ++step) {
    EXPECT_EQ(scales.at(step), step <= 5 ? 65536 : 32768) << step;
    EXPECT_TRUE(losses.at(step)) << step;
  }
  const Record record = read_record(node).value_or(Record());
  EXPECT_EQ(find_metric(record, "replica_mismatch")->value, 0);
}

// Ranks that share a model, in the passes and behind them; a training without the fault goes on to
// the bits of one that never had it.
TEST(Faults, OfRanksThatShareAModelAreNamedAndGoneOnFrom) {
  const auto on = [](const std::string& mesh) {
    return std::vector<std::string>{"--set", "/devices/0/mesh=" + mesh,
                                    "--set", "/stages/base/depth=2",
                                    "--set", "/stages/base/model=llama"};
  };
  for (const auto& [mesh, fault, rank, op] :
       std::vector<std::tuple<std::string, std::string, int, std::string>>{
           {R"({"tp":2})", "kill:rank=1,step=5", 1, "all_gather"},
           {R"({"pp":2})", "kill:rank=1,step=5,phase=forward", 1, "send_receive"},
           {R"({"dp":2,"pp":2})", "late:rank=2,step=5,seconds=1837", 2, "all_gather"}}) {
    SCOPED_TRACE(mesh + " " + fault);
    const Faulty run({fault}, on(mesh));
    ASSERT_EQ(run.ran.exit_code, 4) << run.ran.err;
    EXPECT_EQ(run.first_rank(), rank);
    EXPECT_EQ(run.failure.at("first").at("op").get<std::string>().substr(0, op.size()), op);
    EXPECT_NE(run.diagnosis().find("Root: rank " + std::to_string(rank)), std::string::npos)
        << run.diagnosis();
    EXPECT_EQ(run.failure.at("resume_step"), 4);
    const auto resumed = run.bench.run(kSuite, on(mesh));
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    const Bench clean;
    ASSERT_EQ(clean.run(kSuite, on(mesh)).exit_code, 0);
    const auto weights = [](const Bench& bench) {
      for (const auto& entry : fs::directory_iterator(bench.suite_folder("faults"))) {
        const auto record = read_record(entry.path());
        if (record && record->kind == "train" && record->status == "ok")
          return record->subject.at("weights");
      }
      return std::string("none");
    };
    EXPECT_NE(weights(clean), "none");
    EXPECT_EQ(weights(run.bench), weights(clean));
  }
  for (const auto& [mesh, fault, text] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {R"({"tp":2})", "nan:rank=1,step=5", "all ranks have it"},
           {R"({"pp":2})", "nan:rank=1,step=5", "all ranks have it"},
           {R"({"pp":2})", "flip:rank=1,step=5,tensor=lm_head.weight,bit=22", "flipped"}}) {
    SCOPED_TRACE(mesh + " " + fault);
    const Faulty run({fault}, on(mesh));
    EXPECT_EQ(run.ran.exit_code, 0) << run.ran.err;
    EXPECT_NE(run.ran.err.find(text), std::string::npos) << run.ran.err;
  }
  const Bench bench;
  auto other_stage = on(R"({"pp":2})");
  other_stage.insert(other_stage.end(),
                     {"--fault", "flip:rank=0,step=5,tensor=lm_head.weight,bit=30"});
  expect_sentence(bench.run(kSuite, other_stage), 64, {"stage 0", "does not have lm_head.weight"});
  auto slow = on(R"({"tp":2})");
  slow.insert(slow.end(), {"--fault", "slow:rank=1,factor=2,from=5"});
  expect_sentence(bench.run(kSuite, slow), 64, {"dp and fsdp alone"});
}

TEST(Faults, OnAGpuSpeakNccl) {
  const Faulty run({"kill:rank=3,step=5"}, {"--set", "/devices/0/profile=h100_sxm"});
  ASSERT_EQ(run.ran.exit_code, 4) << run.ran.err;
  EXPECT_EQ(run.with("WATCHDOG", 600), kAllBut3);
  EXPECT_NE(run.log("rank-0.log").find("WorkNCCL"), std::string::npos);
  EXPECT_NE(run.diagnosis().find("Root: rank 3"), std::string::npos) << run.diagnosis();
}

TEST(Faults, ClocksAreThoseOfTheEnvironment) {
  const auto environment = [](const std::string& name, const std::string& value) {
    return std::vector<std::string>{"--set", "/environment={\"" + name + "\":\"" + value + "\"}"};
  };
  const Faulty longer({"kill:rank=3,step=5"}, environment("HCCL_EXEC_TIMEOUT", "7200"));
  EXPECT_EQ(longer.with("EI0002", 7200), kAllBut3);
  EXPECT_EQ(longer.failure.at("card_hours_lost"), 16.0);
  auto on_910a = environment("HCCL_EXEC_TIMEOUT", "600");
  on_910a.insert(on_910a.end(), {"--set", "/devices/0/profile=ascend_910a"});
  EXPECT_EQ(Faulty({"kill:rank=3,step=5"}, on_910a).with("EI0002", 544), kAllBut3);
  const Faulty never({"kill:rank=3,step=5"}, environment("HCCL_EXEC_TIMEOUT", "0"));
  EXPECT_EQ(never.ran.exit_code, 4);
  EXPECT_NE(never.ran.out.find("would never end"), std::string::npos) << never.ran.out;
  const Faulty watched({"kill:rank=3,step=5"}, {"--set", "/process_group_timeout=600"});
  EXPECT_EQ(watched.with("WATCHDOG", 600), kAllBut3);
  EXPECT_TRUE(watched.with("EI0002", 1836).empty());
  EXPECT_NE(watched.diagnosis().find("ENV137"), std::string::npos) << watched.diagnosis();
  const Faulty by_default({"kill:rank=3,step=5"}, {"--set", "/process_group_timeout=1800"});
  EXPECT_EQ(by_default.with("EI0002", 1836), kAllBut3);
  EXPECT_EQ(by_default.failure.at("clock").at("watchdog_s"), 3636);
  const Bench bench;
  auto more = environment("HCCL_CONNECT_TIMEOUT", "60");
  more.insert(more.end(), {"--fault", "kill:rank=3,step=5"});
  expect_sentence(bench.run(kSuite, more), 4, {"EI0001", "[120, 7200]"});
}

TEST(Faults, SuiteThatExpectsThemEndsWell) {
  const std::string fault = "/faults=[\"kill:rank=3,step=5\"]";
  const Bench bench;
  const auto good =
      bench.run(kSuite, {"--set", fault, "--set",
                         "/expect={\"failure\":\"EI0002\",\"first_rank\":3,\"after_s\":1836}"});
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_NE(good.out.find("ended as expected"), std::string::npos) << good.out;
  const auto bad = bench.run(kSuite, {"--set", fault, "--set", "/expect={\"failure\":\"EI0006\"}"});
  EXPECT_EQ(bad.exit_code, 1) << bad.err;
  EXPECT_NE(bad.out.find("expected EI0006, which no rank reports"), std::string::npos) << bad.out;
}

TEST(Faults, OfTheSuiteOfFailuresAllEndAsTheyMust) {
  const Bench bench;
  const auto ran = bench.run("suites/failures.json");
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_EQ(ran.out.find("NOT as expected"), std::string::npos) << ran.out;
}

TEST(Faults, ThatStopNothingShowInClocksAndWeights) {
  const auto record = [](const Bench& bench) {
    return read_record(bench.node("train-base-ascend_910b3-s1")).value_or(Record());
  };
  const auto step_ns = [](const Record& one) {
    return find_metric(one, "step_time_ns")->value.value_or(0);
  };
  const Bench clean;
  ASSERT_EQ(clean.run(kSuite).exit_code, 0);
  const Record whole = record(clean);
  const Faulty slow({"slow:rank=3,factor=1.5"}), link({"link:ranks=6-7,state=slow,factor=4"}),
      flip({"flip:rank=6,step=4,tensor=lm_head.weight,bit=30"});
  for (const Faulty* run : {&slow, &link, &flip}) {
    ASSERT_EQ(run->ran.exit_code, 0) << run->ran.err;
    EXPECT_NE(run->ran.err.find("fault "), std::string::npos);
    EXPECT_NE(record(run->bench).node_key, whole.node_key);
  }
  EXPECT_GT(step_ns(record(slow.bench)), 1.1 * step_ns(whole));
  EXPECT_EQ(record(slow.bench).subject.at("weights"), whole.subject.at("weights"));
  // The host of this model is slower than its links; that of a profile whose ops cost 1 ns is not.
  const auto on_tiny = [&](std::vector<std::string> faults) {
    const Faulty run(std::move(faults), {"--set", "/devices/0/profile=tiny"});
    return find_metric(read_record(run.bench.node("train-base-tiny-s1")).value_or(Record()),
                       "step_time_ns")
        ->value.value_or(0);
  };
  EXPECT_GT(on_tiny({"link:ranks=6-7,state=slow,factor=4"}), on_tiny({}));
  EXPECT_EQ(record(link.bench).subject.at("weights"), whole.subject.at("weights"));
  EXPECT_NE(record(flip.bench).subject.at("weights"), whole.subject.at("weights"));
  EXPECT_EQ(find_metric(record(flip.bench), "replica_mismatch_step")->value, 5);
}

TEST(Faults, FlippedBitIsFoundByTheDigestsOfTheRanks) {
  const std::vector<std::string> keep = {"--set", "/tensor_digests=true"};
  const Faulty flip({"flip:rank=6,step=4,tensor=lm_head.weight,bit=30"}, keep);
  ASSERT_EQ(flip.ran.exit_code, 0) << flip.ran.err;
  const Bench clean;
  ASSERT_EQ(clean.run(kSuite, keep).exit_code, 0);
  const std::string a = flip.bench.suite_folder("faults").string(),
                    b = clean.suite_folder("faults").string();
  const SubprocessResult compared = clean({"compare", "tensors", a, b});
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_NE(compared.out.find("first different tensor: step 4, rank 6, lm_head.weight\n  weights "
                              "when the step begins"),
            std::string::npos)
      << compared.out;
  const SubprocessResult same = clean({"compare", "tensors", b, b});
  EXPECT_NE(same.out.find("no tensor differs"), std::string::npos) << same.out;
  const SubprocessResult gate = clean({"gate", b, a, "--no-history"});
  EXPECT_EQ(gate.exit_code, 1) << gate.out;
  EXPECT_NE(gate.out.find("the training procedure changed"), std::string::npos) << gate.out;
  EXPECT_NE(gate.out.find("3 records are bit-identical"), std::string::npos) << gate.out;
  // A training that a fault ended gives them to the one that goes on.
  const Faulty killed({"kill:rank=3,step=5"}, keep);
  ASSERT_EQ(killed.ran.exit_code, 4) << killed.ran.err;
  ASSERT_EQ(killed.bench.run(kSuite, keep).exit_code, 0);
  const std::string resumed = killed.bench.suite_folder("faults").string();
  const SubprocessResult whole = clean({"compare", "tensors", resumed, b});
  EXPECT_NE(whole.out.find("no tensor differs"), std::string::npos) << whole.out << whole.err;
}

TEST(Faults, OfShardedWeightsAreFoundAsOfCopies) {
  for (const char* mesh :
       {R"({"dp":8,"zero":1})", R"({"fsdp":8})", R"({"dp":2,"fsdp":4,"shard":"hybrid"})"})
    for (const auto& [fault, rank] :
         std::vector<std::pair<std::string, int>>{{"kill:rank=3,step=5", 3},
                                                  {"kill:rank=3,step=5,phase=forward", 3},
                                                  {"late:rank=5,seconds=121,at=first", 5},
                                                  {"mismatch:rank=2,what=op", 2},
                                                  {"order:rank=1,step=2", 1}}) {
      SCOPED_TRACE(std::string(mesh) + " " + fault);
      const Faulty run({fault}, {"--set", on_mesh(mesh)});
      ASSERT_EQ(run.ran.exit_code, 4) << run.ran.err;
      EXPECT_EQ(run.first_rank(), rank);
      const std::string said = run.diagnosis();
      EXPECT_NE(said.find("Root: rank " + std::to_string(rank)), std::string::npos) << said;
    }
}

TEST(Faults, SeveralAreToldOneByOne) {
  const Faulty run({"late:rank=5,seconds=600,step=3", "kill:rank=3,step=5", "kill:rank=1,step=7"});
  ASSERT_EQ(run.ran.exit_code, 4) << run.ran.err;
  EXPECT_EQ(run.first_rank(), 3);
  EXPECT_NE(run.ran.err.find("rank 5 was 600 s late"), std::string::npos) << run.ran.err;
  EXPECT_NE(run.ran.err.find("fault kill:rank=1,step=7: not reached"), std::string::npos)
      << run.ran.err;
}

TEST(Faults, OfTheTrainVerbAreThoseOfASuite) {
  const Bench bench;
  const auto ran = bench.train({"--fault", "kill:rank=1,step=2", "--set",
                                R"(/devices/0={"profile":"ascend_910b3","mesh":{"dp":2}})"});
  EXPECT_EQ(ran.exit_code, 4) << ran.err;
  EXPECT_NE(ran.out.find("FAILED at step 2 of 4"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("rank 0: EI0002 after 1836 s"), std::string::npos) << ran.out;
}

TEST(Faults, ThatNobodyWouldMeetAreRefusedBeforeAnyWork) {
  const Bench bench;
  const auto refused = [&](const std::string& fault, const std::vector<std::string>& parts) {
    expect_sentence(bench.run(kSuite, {"--fault", fault}), 64, parts);
  };
  refused("kill:rank=8,step=5", {"there is no rank 8"});
  refused("kill:rank=3,step=8", {"there is no step 8"});
  refused("flip:rank=3,step=5,tensor=lm_hed.weight,bit=3", {"did you mean \"lm_head.weight\""});
  refused("kil:rank=3,step=5", {"did you mean \"kill\""});
  expect_sentence(
      bench.run(kSuite, {"--fault", "kill:rank=0,step=0", "--set", "/devices=[\"ascend_910b3\"]"}),
      64, {"would change nothing", "mesh"});
}

}  // namespace
}  // namespace nb::test
