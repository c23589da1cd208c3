// Runs of a small nanochat on this computer's PyTorch (tests/capture), captured by
// harness/capture/nanochat_capture.py: gate, conversion, records. Skipped where /usr/bin/python3
// has no torch.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "results/store/items.hpp"
#include "results/store/series.hpp"
#include "results/store/store.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

constexpr const char* kPython = "/usr/bin/python3";
const fs::path kSource = NB_SOURCE_DIR;

class Capture : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto torch = run_subprocess({kPython, "-c", "import torch"});
    has_torch_ = torch && torch->exit_code == 0;
    if (!has_torch_) return;
    folder_ = new TempDir;
    fs::create_directory(model());
    const auto trained = capture("train", {"-m", "scripts.base_train", "--", "--folder", model()});
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    for (const auto& [run, shift] : {std::pair{"right", "0"}, {"again", "0"}, {"faulty", "1"}}) {
      const auto evaluated =
          capture(run, {"--tensors", "2", "-m", "scripts.base_eval", "--", "--folder", model()},
                  {{"ROPE_SHIFT", shift}});
      ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
    }
  }
  static void TearDownTestSuite() { delete folder_; }
  void SetUp() override {
    if (!has_torch_) GTEST_SKIP() << "skipped: " << kPython << " has no torch";
  }

  static std::string model() { return (*folder_ / "model").string(); }
  static std::string path(const std::string& run) { return (*folder_ / run).string(); }
  // nanochat_capture.py --out <run> <arguments…>, in the small nanochat's folder.
  static SubprocessResult capture(const std::string& run, std::vector<std::string> arguments,
                                  std::vector<std::pair<std::string, std::string>> more = {}) {
    std::vector<std::string> argv = {"env",
                                     "-C",
                                     (kSource / "tests/capture").string(),
                                     kPython,
                                     (kSource / "harness/capture/nanochat_capture.py").string(),
                                     "--out",
                                     path(run)};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    more.emplace_back("PYTHONDONTWRITEBYTECODE", "1");
    SubprocessOptions options;
    options.time_limit = std::chrono::minutes(5);
    options.environment = std::move(more);
    auto result = run_subprocess(argv, options);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : SubprocessResult{};
  }
  static StoredRecord record_of(const fs::path& run) {
    auto read = read_run(run);
    EXPECT_TRUE(read) << read.error().message;
    EXPECT_TRUE(read->damaged.empty()) << read->damaged[0];
    EXPECT_EQ(read->records.size(), 1u);
    EXPECT_TRUE(verify_artifacts(read->records.at(0)));
    return read->records.at(0);
  }

  static bool has_torch_;
  static TempDir* folder_;
  Bench bench_;
};
bool Capture::has_torch_ = false;
TempDir* Capture::folder_ = nullptr;

TEST_F(Capture, ATrainingHasLossesRatesAndTimes) {
  const StoredRecord train = record_of(path("train"));
  EXPECT_EQ(train.record.kind, "train");
  EXPECT_EQ(train.record.device, "captured_cpu");
  EXPECT_EQ(train.record.seed, 42);
  EXPECT_EQ(train.record.settings->at("user_config").at("embedding_lr"), 0.2);
  const auto series = read_series(train.folder / "steps.csv");
  ASSERT_TRUE(series) << series.error().message;
  EXPECT_EQ(series->steps.size(), 121u);  // the last has a validation alone
  const auto at = [&](const char* column, std::size_t row) {
    return series->values[series->column(column).value()][row];
  };
  EXPECT_NEAR(at("train_loss", 0).value(), std::log(265), 0.05);  // of a head of zeros
  EXPECT_LT(at("train_loss", 119).value(), 0.6);
  EXPECT_EQ(at("lr_multiplier", 90), 0.5);
  EXPECT_NEAR(at("lr_0", 90).value(), 0.5 * 0.004 / std::sqrt(64 / 768.0), 1e-12);
  EXPECT_TRUE(at("val_bpb", 0) && at("val_bpb", 120) && !at("val_bpb", 60));
  EXPECT_EQ(find_metric(train.record, "train_loss")->value, at("train_loss", 119));
  const Metric* time = find_metric(train.record, "step_time_ns");
  EXPECT_GT(time->value.value(), 1e6);
  EXPECT_EQ(time->clock, Clock::kDevice);
  EXPECT_EQ(time->n, 110);
  const Metric* memory = find_metric(train.record, "peak_memory_bytes");
  EXPECT_FALSE(memory->value);
  EXPECT_EQ(memory->reason_if_null, "PyTorch does not count what it allocates on a CPU");
}

TEST_F(Capture, TheSameEvaluationTwicePasses) {
  const auto verdict = bench_({"gate", path("right"), path("again")});
  expect_sentence(verdict, 0, {"PASS (exit 0)", "bit-identical"});
}

TEST_F(Capture, QueriesRotatedOnePositionTooFarAreRed) {
  const auto verdict = bench_({"gate", path("right"), path("faulty")});
  expect_sentence(verdict, 1, {"REGRESSED (exit 1)", "identical weights were scored differently"});
}

// The first item, and of its ops the first that uses positions.
TEST_F(Capture, TheFirstOpThatDivergesIsNamed) {
  const auto named = bench_({"compare", "tensors", path("right"), path("faulty"), "--json"});
  ASSERT_EQ(named.exit_code, 0) << named.err;
  const Json first = Json::parse(named.out).at(0).at("first_beyond");
  EXPECT_EQ(first.at("op"), "transformer.h.0.attn.q_rotary");
  EXPECT_TRUE(first.at("label").get<std::string>().starts_with("item own/colours/")) << first;
  EXPECT_LT(first.at("cosine").get<double>(), 0.99);
  expect_sentence(bench_({"compare", "tensors", path("right"), path("again")}), 0,
                  {"no op is beyond the tolerance: 70 outputs"});
  expect_sentence(bench_({"compare", "tensors", path("right"), path("train")}), 64,
                  {"no record in it has a tensors.safetensors"});
}

// The same tokens on an emulated device: within rounding in fp32; with the faulty run's, the fault.
TEST_F(Capture, AnEmulatedDeviceHasTheSameOps) {
  const auto converted =
      capture("emulated", {"--convert", model() + "/model_000120.pt", "--tokenizer", model()});
  ASSERT_EQ(converted.exit_code, 0) << converted.err;
  const auto with_model = [&](const std::string& run) {
    return bench_({"compare", "tensors", path(run), "--model", path("emulated"), "--device",
                   "cpu_ref", "--json"});
  };
  const auto right = with_model("right");
  ASSERT_EQ(right.exit_code, 0) << right.err;
  const Json ops = Json::parse(right.out).at(0);
  EXPECT_TRUE(ops.at("first_beyond").is_null()) << ops.at("first_beyond");
  EXPECT_EQ(ops.at("tensors").size(), 2u * 30);
  for (const Json& op : ops.at("tensors"))
    EXPECT_LT(op.at("relative_error").get<double>(), 1e-5) << op;
  const auto faulty = with_model("faulty");
  ASSERT_EQ(faulty.exit_code, 0) << faulty.err;
  EXPECT_EQ(Json::parse(faulty.out).at(0).at("first_beyond").at("op"),
            "transformer.h.0.attn.q_rotary");
}

// Outcome by outcome; log-probabilities within fp32's rounding (1e-6 was seen; files have 7
// digits).
TEST_F(Capture, AConvertedCheckpointGivesTheItemsOfPyTorch) {
  const auto converted =
      capture("converted", {"--convert", model() + "/model_000120.pt", "--tokenizer", model()});
  ASSERT_EQ(converted.exit_code, 0) << converted.err;
  const auto evaluated =
      bench_({"eval", "--model", path("converted"), "--device", "cpu_ref", "--task-file",
              model() + "/tasks.yaml", "--results-dir", bench_.results().string()});
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  const StoredRecord theirs = record_of(path("right")), ours = record_of(bench_.results() / "eval");
  EXPECT_EQ(theirs.record.comparability, ours.record.comparability);
  EXPECT_EQ(theirs.record.subject.at("weights"), ours.record.subject.at("weights"));
  ASSERT_EQ(theirs.record.items.size(), 3u);
  std::size_t compared = 0;
  for (const auto& [task, file] : theirs.record.items) {
    const auto left = read_items(theirs.folder / file).value();
    const auto right = read_items(ours.folder / ours.record.items.at(task)).value();
    ASSERT_EQ(left.size(), right.size());
    for (std::size_t i = 0; i < left.size(); ++i) {
      EXPECT_EQ(left[i].id, right[i].id);
      EXPECT_EQ(left[i].prompt_hash, right[i].prompt_hash);
      EXPECT_EQ(std::tie(left[i].ok, left[i].prediction, left[i].gold),
                std::tie(right[i].ok, right[i].prediction, right[i].gold))
          << left[i].id;
      ASSERT_EQ(left[i].log_probs.size(), right[i].log_probs.size());
      for (std::size_t c = 0; c < left[i].log_probs.size(); ++c, ++compared)
        EXPECT_NEAR(left[i].log_probs[c], right[i].log_probs[c], 1e-5) << left[i].id;
    }
  }
  EXPECT_EQ(compared, 36u * 4 + 36 * 2 + 24);
  for (const Metric& m : theirs.record.metrics)
    EXPECT_EQ(m.value, find_metric(ours.record, m.name)->value) << m.name;
}

// Letters with their log-probabilities, texts of several samples; items as npubench names them.
TEST_F(Capture, ChatTasksHaveTheirAnswers) {
  const auto asked = capture("chat", {"-m", "scripts.chat_eval", "--", "--folder", model()});
  ASSERT_EQ(asked.exit_code, 0) << asked.err;
  const StoredRecord chat = record_of(path("chat"));
  EXPECT_EQ(chat.record.name, "chat.chat");
  const auto letters = read_items(chat.folder / chat.record.items.at("chat_arc_easy")).value();
  ASSERT_EQ(letters.size(), 12u);
  EXPECT_EQ(letters[0].id, sha256_hex("6:letter25:Which colour has\nthe cat?"
                                      "1:43:red4:blue4:grey4:pink1:A1:B1:C1:D1:0")
                               .substr(0, 16));
  EXPECT_EQ(letters[0].log_probs.size(), 4u);
  EXPECT_EQ(letters[0].gold, "A");
  EXPECT_LT(letters[0].log_probs[0], 0);
  const auto texts = read_items(chat.folder / chat.record.items.at("gsm8k")).value();
  ASSERT_EQ(texts.size(), 3u);
  EXPECT_EQ(
      texts[1].id,
      sha256_hex("5:gsm8k16:What is 1 and 2?30:1 and 2 are <<1+2=3>>3.\n#### 3").substr(0, 16));
  EXPECT_EQ(texts[1].texts.size(), 2u);
  EXPECT_EQ(texts[1].texts[1], "It is\n#### 3");
  EXPECT_EQ(texts[1].sample_ok, (std::vector<int>{0, 1}));
  EXPECT_EQ(texts[1].gold, "3");
  EXPECT_TRUE(texts[1].ok);
  EXPECT_EQ(find_metric(chat.record, "gsm8k/accuracy")->value, 1.0);
  // Without them nothing that npubench evaluated could be compared with it.
  const auto& said = chat.record.comparability;
  EXPECT_EQ(said.at("chat_arc_easy/inputs").size(), 64U);
  EXPECT_NE(said.at("chat_arc_easy/inputs"), said.at("gsm8k/inputs"));
}

TEST_F(Capture, WhatCannotBeConvertedIsNamed) {
  const fs::path bad = *folder_ / "bad";
  fs::create_directories(bad);
  const auto refused = [&](std::vector<std::string> arguments, const std::string& part) {
    const auto result = capture("nothing", std::move(arguments));
    expect_sentence(result, 64, {"nanochat_capture: ", part});
    EXPECT_EQ(result.err.find("Traceback"), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(path("nothing")));
  };
  refused({"--convert", "absent.pt"}, "absent.pt: there is no such file");
  ASSERT_TRUE(write_file(bad / "model_000001.pt", "no zip"));
  const std::string garbage = (bad / "model_000001.pt").string();
  refused({"--convert", garbage}, "meta_000001.json: is missing; give the meta file");
  const std::string meta = model() + "/meta_000120.json";
  refused({"--convert", garbage, "--config", meta}, "not a zip file as torch.save writes it");
  ASSERT_TRUE(write_file(bad / "sizes.json", R"({"model_config": {"n_layer": 2}})"));
  const std::string whole = model() + "/model_000120.pt";
  refused({"--convert", whole, "--config", (bad / "sizes.json").string()},
          "model_config lacks sequence_len");
  ASSERT_TRUE(write_file(bad / "tokenizer.pkl", "cos\nsystem\n(S'true'\ntR."));
  refused({"--convert", whole, "--tokenizer", bad.string()}, "the pickle asks for os.system");
  refused({"-m", "scripts.nothing"}, "there is no module scripts.nothing");
}

// A checkpoint of others is a pickle: nothing that it names is ever called, whatever it raises.
TEST_F(Capture, APickleThatNamesAProgramIsRefused) {
  const fs::path bad = *folder_ / "crafted";
  fs::create_directories(bad);
  const std::string ran = (bad / "ran").string(), meta = model() + "/meta_000120.json";
  const auto made = run_subprocess(
      {kPython, (kSource / "tests/capture/crafted_checkpoints.py").string(), bad.string(), ran});
  ASSERT_TRUE(made && made->exit_code == 0) << (made ? made->err : "");
  for (const char* attack : {"system", "builtin", "slots", "unbound", "numpy", "cut"}) {
    const auto result = capture(
        "nothing", {"--convert", (bad / (std::string(attack) + ".pt")).string(), "--config", meta});
    EXPECT_EQ(result.exit_code, 64) << attack << ": " << result.out;
    EXPECT_EQ(result.err.find("Traceback"), std::string::npos) << result.err;
    EXPECT_TRUE(result.err.starts_with("nanochat_capture: ")) << result.err;
    EXPECT_FALSE(fs::exists(ran)) << attack << " ran its command";
  }
}

// What a user sends is one folder: doctor and profile read it as it is.
TEST_F(Capture, OneFolderFeedsDoctorAndProfile) {
  const std::string home = path("fed_home");
  fs::create_directories(home);
  const auto run = capture("fed",
                           {"--profile", "2", "-m", "scripts.base_train", "--", "--folder", home,
                            "--num-iterations", "14"},
                           {{"HCCL_CONNECT_TIMEOUT", "60"}, {"NPU_API_KEY", "geheim"}});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto environment = read_file(path("fed") + "/machine/environment.txt").value();
  EXPECT_NE(environment.find("HCCL_CONNECT_TIMEOUT=60\n"), std::string::npos) << environment;
  EXPECT_NE(environment.find("NPU_API_KEY=(removed)\n"), std::string::npos) << environment;
  const auto memory = read_file(path("fed") + "/machine/memory_record.csv").value();
  EXPECT_EQ(std::count(memory.begin(), memory.end(), '\n'), 1 + 14 + 1) << memory;
  const auto said = bench_({"doctor", path("fed"), "--json"});
  EXPECT_EQ(said.exit_code, 1) << said.err;
  const Json doctor = Json::parse(said.out);
  EXPECT_EQ(doctor["checks"][0]["id"], "ENV130");
  EXPECT_TRUE(doctor["facts"].contains("torch") && doctor["facts"].contains("python")) << said.out;
  EXPECT_TRUE(doctor["diagnosis"].is_null()) << doctor["diagnosis"];
  EXPECT_EQ(said.out.find("geheim"), std::string::npos);
  // Recognised; a CPU alone has no kernels to explain.
  expect_sentence(bench_({"profile", path("fed") + "/profile"}), 4,
                  {".pt.trace.json: no kernel of a GPU, an NPU or a simulated device among its "});
  // The run beside it is what it was.
  EXPECT_EQ(record_of(path("fed")).record.kind, "train");
}

TEST_F(Capture, ATrainingThatFailsSaysWhyToDoctor) {
  const auto run = capture("failed", {"-m", "scripts.base_train", "--", "--folder",
                                      path("no_such_folder"), "--num-iterations", "2"});
  EXPECT_NE(run.exit_code, 0);
  const auto said = bench_({"doctor", path("failed") + "/machine", "--json"});
  EXPECT_EQ(said.exit_code, 1) << said.err;
  const Json root = Json::parse(said.out)["diagnosis"]["root"];
  EXPECT_EQ(root["rank"], "0") << said.out;
  EXPECT_TRUE(root["time"].is_string()) << root;
  EXPECT_TRUE(root["numbers"].contains("raised_in")) << root;
}

// harness/capture/walk.sh: two captures of a small nanochat, tensors, conversion, and the same
// recipe emulated. What compare prints is what a user reads.
TEST_F(Capture, TheWalkFromTrainingToVerdict) {
  const fs::path base = *folder_ / "walk";
  const std::string walk = (kSource / "harness/capture/walk.sh").string();
  const auto run = [&](std::vector<std::string> arguments,
                       std::vector<std::pair<std::string, std::string>> environment) {
    arguments.insert(arguments.begin(), {"bash", walk});
    for (const auto& [key, value] :
         std::map<std::string, std::string>{{"PYTHON", kPython},
                                            {"PYTHONDONTWRITEBYTECODE", "1"},
                                            {"NPUBENCH", NB_BINARY_DIR "/npubench"}})
      environment.emplace_back(key, value);
    SubprocessOptions options;
    options.time_limit = std::chrono::minutes(10);
    options.environment = std::move(environment);
    auto result = run_subprocess(arguments, options);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : SubprocessResult{};
  };
  for (const std::string side : {"gpu", "npu"}) {
    const std::string home = (base / (side + "_home")).string(), folder = "--folder " + home;
    fs::create_directories(home);
    const auto captured =
        run({"capture", (kSource / "tests/capture").string(), (base / side).string()},
            {{"CAPTURE_ARGS", "--device captured_" + side},
             {"BASE_ARGS", folder + " --depth 2 --num-iterations 30 --total-batch-size 1024"},
             {"SFT_ARGS", folder + " --num-epochs 2"},
             {"CORE_ARGS", folder},
             {"CHAT_ARGS", folder + " -i sft"},
             {"BASE_PT", home + "/model_000030.pt"},
             {"SFT_PT", home + "/sft/model_000012.pt"},
             {"TOKENIZER", home}});
    ASSERT_EQ(captured.exit_code, 0) << captured.out << captured.err;
  }
  const std::string home = (base / "npu_home").string();
  Json suite = Json::parse(R"({
    "name": "walk", "devices": ["cpu_ref"], "seeds": [1],
    "tokenizer": {"vocab_size": 265},
    "stages": {
      "base": {"depth": 2, "sequence_len": 64, "device_batch_size": 16, "total_batch_tokens": 1024,
               "iterations": 30, "warmdown_ratio": 0.5, "eval_tokens": 4096, "sample_every": 0},
      "sft": {"device_batch_size": 4, "target_examples_per_step": 8, "num_epochs": 2,
              "init_lr_frac": 0.2, "eval_every": 100, "eval_batches": 2}},
    "evaluations": [{"name": "core", "tasks": [], "stages": ["base"]}]})");
  suite["corpus"]["text"]["sources"] = {home + "/documents.jsonl"};
  suite["evaluations"][0]["task_files"] = {home + "/tasks.yaml"};
  for (const char* part : {"train", "validation"})
    suite["stages"]["sft"][part] =
        Json::array({{{"task", "identity"}, {"file", home + "/conversations.jsonl"}}});
  ASSERT_TRUE(write_file(base / "suite.json", suite.dump()));
  const auto compared = run(
      {"compare", (base / "gpu").string(), (base / "npu").string(), (base / "suite.json").string()},
      {{"EVAL_ARGS", "--task-file " + home + "/tasks.yaml"}, {"DEVICE", "cpu_ref"}});
  ASSERT_EQ(compared.exit_code, 0) << compared.out << compared.err;
  // Four parts, one a comparison; each begins with the command that printed it.
  std::vector<std::string> parts;
  for (std::size_t at = compared.out.find("\n+ "); at != std::string::npos;) {
    const std::size_t next = compared.out.find("\n+ ", at + 1);
    const std::string part = compared.out.substr(at + 1, next - at - 1);
    if (part.substr(0, part.find('\n')).find(" compare ") != std::string::npos)
      parts.push_back(part);
    at = next;
  }
  ASSERT_EQ(parts.size(), 4U) << compared.out;
  const auto has = [&](std::size_t part, const std::string& text) {
    EXPECT_NE(parts[part].find(text), std::string::npos) << text << " is not in " << parts[part];
  };
  // Two captures on one computer: the same texts, weights and code, and said so.
  has(0, "5 scores equal answer by answer");
  has(0, "differences besides the results (settings and code are equal)");
  has(0, "train sft on captured_gpu, seed 42 | train sft on captured_npu, seed 42:\nbit-identical");
  has(1, "no op is beyond the tolerance");
  // The converted checkpoint answers as PyTorch did, item by item.
  has(2, "paired as evaluations of the same weights");
  has(2, "every score is the same: 96 items of 3 tasks");
  // One recipe in two vocabularies: no setting differs, and the results stand on the first screen.
  has(3, "paired as the trainings of stage base");
  has(3, "paired as the trainings of stage sft");
  has(3, "paired as the evaluations of stage base");
  EXPECT_EQ(parts[3].find("\n  settings "), std::string::npos) << parts[3];
  has(3, "settings that both sides state");
  has(3, "not compared, since both sides do not tell");
  const std::string before = parts[3].substr(0, parts[3].find("\nscore "));
  EXPECT_LE(std::count(before.begin(), before.end(), '\n'), 8) << before;
}

// "import torch" at the top ended with a traceback where the help was asked for.
TEST(CaptureHelp, NeedsNoTorch) {
  const TempDir folder;
  ASSERT_TRUE(write_file(folder / "torch.py", "raise ImportError('no torch here')\n"));
  const std::string script = NB_SOURCE_DIR "/harness/capture/nanochat_capture.py";
  const SubprocessOptions options{.environment = {{"PYTHONPATH", folder.path().string()}}};
  const auto help = run_subprocess({"python3", script, "--help"}, options);
  ASSERT_TRUE(help);
  EXPECT_EQ(help->exit_code, 0) << help->err;
  EXPECT_NE(help->out.find("--convert FILE"), std::string::npos) << help->out;
  const auto run = run_subprocess({"python3", script, "--out", "x", "-m", "y"}, options);
  ASSERT_TRUE(run);
  expect_sentence(*run, 64, {"torch cannot be imported here (no torch here)"});
}

}  // namespace
}  // namespace nb::test
