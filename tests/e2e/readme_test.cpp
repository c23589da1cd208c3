// Every command in every README, as a user types it: run in a folder that has what the READMEs
// name, or listed below with the reason why it is not. A new command fails until it is one of both.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "harness/base/fs.hpp"
#include "tests/e2e/bench.hpp"
#include "tests/support/data_dir.hpp"

namespace nb::test {
namespace {

struct Special {
  std::string_view command;
  int exit_code;             // where it is run
  std::string_view why_not;  // not empty: it is not run
  bool needs_data = false;
};
constexpr std::string_view kBuilds = "builds, installs or runs for minutes; CI does the like";
constexpr std::string_view kCapture =
    "needs nanochat and PyTorch: tests/e2e/capture_test.cpp drives it";
constexpr std::string_view kFaults = "trains for minutes: tests/faults/README.md has its results";
constexpr std::string_view kMicro = "measures this host: tests/harness/microbench drives it";
constexpr std::string_view kLong = "runs for minutes; the verb is driven with a smaller suite";
constexpr std::string_view kServer = "needs a network or does not end: tests/remote, tests/serve";
constexpr std::string_view kForm = "a form whose words stand for others";
constexpr Special kSpecial[] = {
    {"bash harness/quickstart.sh", 0, kBuilds},
    {"bash tests/check.sh", 0, kBuilds},
    {"cmake --build build/release", 0, kBuilds},
    {"cpack --config build/release/CPackConfig.cmake -B build/package", 0, kBuilds},
    {"bash harness/portable.sh", 0, kBuilds},
    {"cmake --install build/release --prefix ~/.local", 0, kBuilds},
    {"bash tests/workflow/run.sh make", 0, kBuilds},
    {"bash tests/fuzz/run.sh 60 import.<format>", 0, kBuilds},
    {"bash tests/results/import/big_files.sh", 0, kBuilds},
    {"bash harness/microbench/versus_pytorch.sh --depth 4 --rounds 4", 0, kBuilds},
    {"bash harness/microbench/eval_versus_pytorch.sh 60 arc_easy piqa", 0, kBuilds},
    {"python nanochat_capture.py --out captures/h100 -m scripts.base_train -- --depth=4 "
     "--num-iterations=100",
     0, kCapture},
    {"python nanochat_capture.py --out captures/h100 -m scripts.base_eval", 0, kCapture},
    {"python nanochat_capture.py --out models/d4 --convert d4/model_000100.pt --tokenizer "
     "tokenizer",
     0, kCapture},
    {"npubench compare captures/h100 captures/npu", 0, kCapture},
    {"npubench gate captures/last_night captures/tonight", 0, kCapture},
    {"npubench gate captures/gpu captures/npu", 0, kCapture},
    {"npubench eval --model models/d4 --device ascend_910b3 --task core", 0, kCapture},
    {"npubench doctor captures/npu", 0, kCapture},
    {"npubench profile captures/npu/profile", 0, kCapture},
    {R"x(BASE_ARGS="--depth=4 --num-iterations=500" bash harness/capture/walk.sh capture ~/nanochat captures/gpu)x",
     0, kCapture},
    {"bash harness/capture/walk.sh compare captures/gpu captures/npu my_d4.json", 0, kCapture},
    {"python nanochat_capture.py --out captures/h100 --tensors 4 -m scripts.base_eval", 0,
     kCapture},
    {"npubench compare tensors captures/h100 captures/npu", 0, kCapture},
    {"npubench compare tensors captures/npu --model models/d4 --device ascend_910b3", 0, kCapture},
    {"python -m scripts.base_train --folder F", 0, kCapture},
    {"python -m scripts.base_eval --folder F", 0, kCapture},
    {"bash tests/faults/run.sh defects", 0, kFaults},
    {"bash tests/faults/run.sh list", 0, kFaults},
    {"bash tests/faults/run.sh metric", 0, kFaults},
    {"bash tests/faults/run.sh training", 0, kFaults},
    {"bash tests/faults/run.sh seeds", 0, kFaults},
    {"bash tests/faults/run.sh port", 0, kFaults},
    {"bash tests/faults/run.sh stale", 0, kFaults},
    {"bash tests/faults/run.sh flags", 0, kFaults},
    {"bash tests/faults/run.sh healthy", 0, kFaults},
    {"bash tests/faults/run.sh suites", 0, kFaults},
    {"bash tests/faults/run.sh suites --only rate_falls_late --suites suites/pull_request.json "
     "--seeds 1",
     0, kFaults},
    {"bash tests/faults/run.sh suites --table-only", 0, kFaults},
    {"bash tests/faults/run.sh defects --suite suites/nightly.json --devices ascend_910b3 --seeds "
     "1 --noise results/runs/nightly",
     0, kFaults},
    {"bash tests/faults/run.sh build", 0, kBuilds},
    {"build/release/npubench_microbench matmul --threads 1", 0, kMicro},
    {"build/release/npubench_products avx512bf16", 0, kMicro},
    {R"x(build/release/npubench_step --request '{"step": {"depth": 4}, "device": {"profile": "ascend_910b3"}, "threads": 1}')x",
     0, kMicro},
    {R"x(build/release/npubench_step --request '{"step": {"depth": 4, "stage": "sft"}, "device": {"profile": "ascend_910b3"}, "threads": 1}')x",
     0, kMicro},
    {R"x(build/release/npubench_step --scaling '{"device": {"profile": "ascend_910b3"}, "layers": [2, 4, 6, 8], "threads": 1}')x",
     0, kMicro},
    {R"x(build/release/npubench_step --scaling '{"device": {"profile": "ascend_910b3"}, "step": {"depth": 4, "tokens": 8192}, "patterns": true, "rounds": 5, "threads": 1}')x",
     0, kMicro},
    {"build/release/npubench_microbench engine --threads 1 --pattern-off cached_attention", 0,
     kMicro},
    {"npubench run suites/smoke.json", 0, kLong},
    {"build/release/npubench run suites/smoke.json", 0, kLong},
    {"npubench train --depth 4 --profile", 0, kLong},
    {"build/release/npubench train --depth 4 --steps 20 --device ascend_910b3 --profile", 0, kLong},
    {"npubench eval --model DIR --task core,mmlu", 0, kLong},
    {"npubench nightly suites/nightly.json", 0, kLong},
    {"npubench run suites/five_seeds.json --results-dir results/runs/accepted", 0, kLong},
    {"npubench run suites/five_seeds.json --results-dir results/runs/tonight --baseline "
     "results/runs/accepted/five_seeds",
     0, kLong},
    {"npubench compare stages results/runs/nightly mid sft", 0, kLong},
    {"npubench nightly suites/nightly.json --policy suites/policies/nightly.json --nights "
     "results/nights",
     0, kLong},
    {R"x(npubench gate accept results/nights/2026-11-27/nightly --results-dir results/nights --why "first night")x",
     0, kLong},
    {"npubench compare effects results/runs/ablation", 0, kLong},
    {"npubench compare results/runs/twinkle_sft_2x2 results/runs/twinkle_sft_2x2_fixed", 0, kLong},
    {"npubench compare drift results/runs/arithmetic fp32", 0, kLong},
    {"npubench run suites/chat.json", 0, kLong},
    {R"x(npubench chat --model results/runs/chat/train-sft-* --prompt "Who are you?")x", 0, kLong},
    {"build/release/npubench run suites/grpo.json", 0, kLong},
    {"npubench predict calibrate --out model/device/families", 0, kLong},
    {"npubench serve --model DIR", 0, kServer},
    {"npubench eval --server http://npu:8000/v1 --server-model NAME --tokenizer FILE --task "
     "core,gsm8k --name npu",
     0, kServer},
    {"npubench data get", 0, kServer},
    {"npubench eval --shards 3 --shard 0", 0, kForm},
    {"npubench eval --task humaneval --completions F.jsonl", 0, kForm},
    {"npubench eval --rescore DIR", 0, kForm},
    {"npubench show RUN --task gsm8k --wrong", 0, kForm},
    {R"x(npubench tokenizer train\|encode\|decode\|eval)x", 0, kForm},
    {"npubench profile A [B]", 0, kForm},
    {"npubench doctor FILE …", 0, kForm},
    {"npubench plan SUITE --to make|snakemake|slurm --out FILE", 0, kForm},
    {"npubench run SUITE --node NAME", 0, kForm},
    {"npubench run F --node KEY", 0, kForm},
    {"npubench compare effects RUN", 0, kForm},
    {"npubench compare tensors A B", 0, kForm},
    {"npubench VERB COMMAND", 0, kForm},
    {"npubench run F --host-fusion off", 0, kForm},
    {"npubench gate calibrate RUN… --out FILE", 0, kForm},
    {"cmake --install", 0, kForm},
    {"npubench help VERB", 0, kForm},
    {"npubench VERB -h", 0, kForm},
    {"npubench nightly --import GPU_DIR --import NPU_DIR", 1, ""},
    {"npubench gate BASELINE CANDIDATE", 1, ""},
    {"npubench gate BASE CAND", 1, ""},
    {"npubench audit published:seed_result_table", 1, ""},
    {"npubench doctor train.log", 1, ""},
    {"npubench eval --task gsm8k --completions-member 175b_verification --completions "
     "~/.cache/npubench/data/gsm8k/example_model_solutions.jsonl",
     0, "", true},
    {"build/release/npubench eval --model oracle --task piqa --results-dir results/runs", 0, "",
     true},
    {"npubench eval --model DIR --task-file my_tasks.yaml --task own/capitals,copa", 0, "", true},
    {"npubench data verify", 0, "", true},
};

const fs::path kSource = NB_SOURCE_DIR;

std::string stripped(std::string text) {
  const std::size_t comment = text.find(" #");
  if (comment != text.npos) text.erase(comment);
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == text.npos) return "";
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

struct Found {
  std::string command;
  std::string readme;
};

bool opens_command(const std::string& text) {
  static const std::regex kOpening(
      R"(^([A-Z_]+=\S+ )?(npubench|build/release/npubench\w*|bash|python3?|cmake|cpack|ctest) \S.*)");
  return std::regex_match(text, kOpening);
}

// Lines of fenced shell blocks, continued ones joined; of consoles those behind "$ ". Then inline
// code that opens as a command does.
void add_commands(const std::string& readme, std::vector<Found>& found) {
  std::istringstream lines(read_file(kSource / readme).value());
  std::string prose, language, line, continued;
  bool in_fence = false;
  while (std::getline(lines, line)) {
    if (line.starts_with("```")) {
      in_fence = !in_fence;
      language = line.substr(3);
      continue;
    }
    if (!in_fence) {
      prose += line + " ";
      continue;
    }
    if (language == "console" && line.starts_with("$ ")) found.push_back({line.substr(2), readme});
    if (language != "bash" && language != "sh") continue;
    continued += line;
    if (continued.ends_with('\\')) {
      continued.pop_back();
      continue;
    }
    continued = std::regex_replace(continued, std::regex(" +"), " ");
    if (const std::string command = stripped(continued); !command.empty())
      found.push_back({command, readme});
    continued.clear();
  }
  for (std::size_t at = prose.find('`'); at != prose.npos;) {
    const std::size_t end = prose.find('`', at + 1);
    if (end == prose.npos) break;
    if (std::string code = prose.substr(at + 1, end - at - 1); opens_command(code))
      found.push_back({code, readme});
    at = prose.find('`', end + 1);
  }
}

std::vector<Found> all_commands() {
  std::vector<std::string> readmes;
  for (auto at = fs::recursive_directory_iterator(kSource);
       at != fs::recursive_directory_iterator(); ++at) {
    const std::string name = at->path().filename().string();
    const fs::path relative = at->path().lexically_relative(kSource);
    if (name == "build" || name == ".git" || relative == "results/runs" ||
        relative == "results/nights")
      at.disable_recursion_pending();
    if (name == "README.md") readmes.push_back(relative.string());
  }
  std::sort(readmes.begin(), readmes.end());
  std::vector<Found> found;
  for (const std::string& readme : readmes) add_commands(readme, found);
  return found;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// "npubench eval", "npubench report --profile": names a verb, or an option without its value, which
// tests/repo/readme_test.cpp looks for in its help.
bool is_mention(const std::string& command) {
  const auto words = words_of(command);
  if (words.size() < 2 || words[0] != "npubench" || words[1].starts_with("-")) return false;
  return std::all_of(words.begin() + 2, words.end(),
                     [](const std::string& word) { return word.starts_with("--"); });
}

const Special* special_of(const std::string& command) {
  for (const Special& one : kSpecial)
    if (command == one.command) return &one;
  return nullptr;
}

// A folder with the names that READMEs use.
class Folder {
 public:
  Folder() {
    const auto copy = [&](const fs::path& from, const fs::path& to) {
      fs::create_directories((dir_ / to).parent_path());
      fs::copy(kSource / from, dir_ / to, fs::copy_options::recursive);
    };
    const fs::path example = "results/import/example";
    copy(example, example);
    for (const char* name : {"gpu_results", "A", "BASELINE", "BASE", "GPU_DIR"})
      copy(example / "gpu_results", name);
    for (const char* name : {"npu_results", "B", "CANDIDATE", "CAND", "NPU_DIR"})
      copy(example / "npu_results", name);
    fs::create_directories(dir_ / "build");
    fs::create_directories(dir_ / "bin");
    fs::create_directories(dir_ / "home/.cache/npubench");
    fs::create_symlink(NB_BINARY_DIR, dir_ / "build/release");
    fs::create_symlink(NB_BINARY_DIR "/npubench", dir_ / "bin/npubench");
    if (!data_dir().empty()) fs::create_symlink(data_dir(), dir_ / "home/.cache/npubench/data");
    for (const char* name : {"suites", "harness", "tests"})
      fs::create_directory_symlink(kSource / name, dir_ / name);
    write("TABLE.csv", "task,GPU,NPU\nARC-Easy,0.3876,0.3770\nMMLU,0.3111,0.2091\n");
    write("train.log", "step 1\nRuntimeError: NPU out of memory. Tried to allocate 2.00 GiB\n");
    write("my_tasks.yaml",
          "icl_tasks:\n- label: capitals\n  dataset_uri: capitals.jsonl\n"
          "  num_fewshot: [0]\n  icl_task_type: multiple_choice\n"
          "  continuation_delimiter: \"\\nAnswer: \"\n");
    write("capitals.jsonl",
          "{\"query\": \"Capital of France?\", \"choices\": [\"Paris\", \"Rome\"], \"gold\": 0}\n"
          "{\"query\": \"Capital of Italy?\", \"choices\": [\"Paris\", \"Rome\"], \"gold\": 1}\n");
    write("notes.txt", "The sky is blue and the grass is green.\n");
    write("pages.jsonl", "{\"text\": \"The sea is deep.\"}\n");
    prepare("npubench run " + (kSource / kSmallSuite).string());
    prepare(
        "ln -s results/runs/small RUN && ln -s small results/runs/smoke && "
        "ln -s results/runs/small/train-base-ascend_910b3-s1-* DIR");
    prepare("npubench eval --model oracle --task mw/facts --name one --max-per-task 8");
  }

  SubprocessResult operator()(const std::string& command) const {
    SubprocessOptions options;
    options.time_limit = std::chrono::minutes(3);
    const char* path = std::getenv("PATH");
    options.environment = {{"HOME", (dir_ / "home").string()},
                           {"NPUBENCH_DATA", ""},
                           {"NPUBENCH_RESULTS", ""},
                           {"PATH", (dir_ / "bin").string() + ":" + (path == nullptr ? "" : path)}};
    const auto result =
        run_subprocess({"bash", "-c", "cd \"$0\" && " + command, dir_.path()}, options);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : SubprocessResult{};
  }

 private:
  void write(const char* name, std::string_view text) const {
    ASSERT_TRUE(write_file(dir_ / name, text));
  }
  void prepare(const std::string& command) const {
    const auto result = (*this)(command);
    EXPECT_EQ(result.exit_code, 0) << command << "\n" << result.out << result.err;
  }
  TempDir dir_;
};

TEST(Readmes, EveryCommandRunsOrIsListedWithItsReason) {
#if defined(NB_EMULATOR)
  GTEST_SKIP() << "skipped: programs of another processor";
#endif
  const Folder folder;
  std::set<std::string> done;
  for (const Found& found : all_commands()) {
    if (is_mention(found.command) || !done.insert(found.command).second) continue;
    const Special* special = special_of(found.command);
    if (special != nullptr && !special->why_not.empty()) continue;
    if (special != nullptr && special->needs_data && data_dir().empty()) continue;
    const auto start = std::chrono::steady_clock::now();
    const auto result = folder(found.command);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (std::getenv("NB_TIMES") != nullptr)
      fprintf(stderr, "%6.2f s %3d %s\n", took.count(), result.exit_code, found.command.c_str());
    EXPECT_EQ(result.exit_code, special == nullptr ? 0 : special->exit_code)
        << found.readme << ": " << found.command << "\n"
        << result.out.substr(0, 2000) << result.err.substr(0, 2000);
  }
}

TEST(Readmes, NoListedCommandIsGone) {
  std::set<std::string> commands;
  for (const Found& found : all_commands()) commands.insert(found.command);
  for (const Special& one : kSpecial)
    EXPECT_TRUE(commands.contains(std::string(one.command))) << one.command;
}

}  // namespace
}  // namespace nb::test
