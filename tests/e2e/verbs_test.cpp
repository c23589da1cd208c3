// The command line itself: help, unknown words, JSON on stdout, nothing on disk from verbs that
// only look.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "tests/e2e/bench.hpp"

namespace nb::test {
namespace {

using Words = std::vector<std::string>;

const Words kVerbs{"plan",    "run",     "train", "eval",  "chat",   "compare",
                   "gate",    "nightly", "show",  "audit", "report", "history",
                   "predict", "smi",     "data",  "list",  "serve"};

Json json_of(const SubprocessResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.err;
  Json json = Json::parse(result.out, nullptr, /*allow_exceptions=*/false);
  EXPECT_FALSE(json.is_discarded()) << result.out;
  return json;
}

TEST(Verbs, HelpOpensWithAnExample) {
  const Bench bench;
  for (const std::string& verb : kVerbs) {
    const auto help = bench({verb, "--help"});
    EXPECT_EQ(help.exit_code, 0) << verb;
    EXPECT_EQ(help.out.rfind("Example: npubench " + verb, 0), 0u) << help.out;
  }
  const auto overview = bench({"--help"});
  for (const std::string& verb : kVerbs)
    EXPECT_NE(overview.out.find("  " + verb), std::string::npos) << overview.out;
}

TEST(Verbs, PlanHelpDocumentsEveryKey) {
  const auto help = Bench()({"plan", "--help"});
  for (const char* key : {"devices", "numerics_overrides", "total_batch_tokens", "few_shot_seed",
                          "vocab_size", "items_per_task", "min_time_s", "cards"})
    EXPECT_NE(help.out.find(key), std::string::npos) << key;
}

TEST(Verbs, UnknownVerbNamesTheNearest) {
  const auto result = Bench()({"reprot"});
  EXPECT_EQ(result.exit_code, 64);
  EXPECT_NE(result.err.find("did you mean \"report\""), std::string::npos) << result.err;
}

TEST(Verbs, UnknownFlagNamesTheNearest) {
  const auto result = Bench()({"run", kSmallSuite, "--thread", "2"});
  EXPECT_EQ(result.exit_code, 64);
  EXPECT_NE(result.err.find("did you mean \"--threads\""), std::string::npos) << result.err;
}

TEST(Verbs, AVerbsOwnCommandsAndTheirFlagsAreNamedToo) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"data"}, "a command is missing; there are list, verify, get (npubench data --help)"},
      {{"data", "verfy"},
       "no command \"verfy\"; did you mean \"verify\"?; there are list, verify, get "
       "(npubench data --help)"},
      {{"data", "get", "--atempts", "3"}, "did you mean \"--attempts\"?"}};
  for (const auto& [arguments, message] : cases) {
    const auto result = Bench()(arguments);
    EXPECT_EQ(result.exit_code, 64);
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
  }
}

TEST(Verbs, HelpIsFoundWherePeopleLook) {
  const Bench bench;
  const std::string help = bench({"compare", "--help"}).out;
  EXPECT_EQ(bench({"compare", "-h"}).out, help);
  EXPECT_EQ(bench({"help", "compare"}).out, help);
  EXPECT_EQ(bench({"help"}).out, bench({"--help"}).out);
  EXPECT_EQ(bench({"help", "runs", "gc"}).out, bench({"runs", "gc", "--help"}).out);
  expect_sentence(bench({"help", "comparre"}), 64, {"did you mean \"compare\"?"});
}

// Flags that became commands: the same output, and on stderr the command's name.
TEST(Verbs, OlderSpellingsWorkAndNameTheirCommands) {
  const Bench bench;
  const struct {
    Words older, now;
    const char* name;
  } spellings[] = {{{"predict", "--device", "ascend_910b3", "--depth", "4", "--sweep", "cards=1,2"},
                    {"predict", "sweep", "cards=1,2", "--device", "ascend_910b3", "--depth", "4"},
                    "--sweep is now written: npubench predict sweep FIELD=a,b,c"},
                   {{"compare", "published:ascend_910c_d32", "--stages", "sft", "rl"},
                    {"compare", "stages", "published:ascend_910c_d32", "sft", "rl"},
                    "--stages is now written: npubench compare stages RUN FIRST SECOND"},
                   {{"gate", "--aa", "a", "b"},
                    {"gate", "aa", "a", "b"},
                    "--aa is now written: npubench gate aa"},
                   {{"list", "runs"},
                    {"runs", "list"},
                    "npubench list runs is now written: npubench runs list"}};
  for (const auto& [older, now, name] : spellings) {
    const auto before = bench(older), after = bench(now);
    EXPECT_EQ(before.exit_code, after.exit_code) << name;
    EXPECT_EQ(before.out, after.out) << name;
    EXPECT_NE(before.err.find(name), std::string::npos) << before.err;
    EXPECT_EQ(after.err.find("now written"), std::string::npos) << after.err;
  }
  for (const auto& [verb, flag] :
       {std::pair{"predict", "--sweep"}, std::pair{"compare", "--stages"},
        std::pair{"gate", "--aa"}, std::pair{"list", "  runs "}})
    EXPECT_EQ(bench({verb, "--help"}).out.find(flag), std::string::npos) << flag;
  expect_sentence(bench({"predict", "sweeep", "cards=1,2"}), 64, {"did you mean \"sweep\"?"});
}

// A verb that has commands says in few lines what each is for, and each has its own help.
TEST(Verbs, CommandsHaveTheirOwnHelp) {
  Bench bench;
  bench.environment = {{"COLUMNS", "80"}};
  const std::pair<const char*, Words> verbs[] = {
      {"predict", {"step", "sweep", "claims", "validate", "calibrate"}},
      {"compare", {"runs", "stages", "effects", "tensors", "drift"}},
      {"gate", {"check", "accept", "aa", "calibrate"}},
      {"runs", {"list", "metrics", "history", "gc", "reindex"}}};
  for (const auto& [verb, commands] : verbs) {
    const std::string help = bench({verb, "--help"}).out;
    EXPECT_LT(std::ranges::count(help, '\n'), 60) << verb;
    for (const std::string& command : commands) {
      EXPECT_NE(help.find("\n  " + command + " "), std::string::npos) << verb << " " << command;
      const auto own = bench({verb, command, "--help"});
      EXPECT_EQ(own.exit_code, 0) << own.err;
      EXPECT_EQ(own.out.rfind("Example: npubench " + std::string(verb), 0), 0U) << own.out;
      EXPECT_NE(own.out.find(fmt::format("Usage: npubench {} {}", verb, command)),
                std::string::npos)
          << own.out;
    }
  }
}

TEST(Verbs, APartOfANameIsUnderstood) {
  expect_sentence(
      Bench()({"predict", "--device", "910B", "--depth", "4"}), 64,
      {"did you mean \"ascend_910b1\", \"ascend_910b2\", \"ascend_910b3\" or \"ascend_910b4\"?"});
  expect_sentence(Bench()({"run", "smoke"}), 64, {"smoke: no such file", "suites/smoke.json?"});
  expect_sentence(Bench()({"plan", "nothing_like_it"}), 64, {"(npubench list suites)"});
}

TEST(Verbs, SuitesOfTheProgramAreFoundFromAnywhere) {
  const Bench bench;
  const auto plan = bench.redirected(">/dev/null; cd / && exec " NB_BINARY_DIR
                                     "/npubench plan suites/smoke.json --results-dir " +
                                         bench.results().string(),
                                     {"--version"});
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
}

TEST(Verbs, StrictIsOfTheGate) {
  const Bench bench;
  expect_sentence(bench({"run", kSmallSuite, "--strict"}), 64, {"give --baseline RUN too"});
  expect_sentence(bench({"report", bench.results().string(), "--strict"}), 64,
                  {"give --baseline RUN too"});
}

TEST(Verbs, ColourIsForTerminalsOrAskedFor) {
  Bench bench;
  bench.environment = {{"NO_COLOR", ""}, {"TERM", "xterm"}};
  const auto unknown = [&](std::vector<std::string> before) {
    before.push_back("comparre");
    return bench(before).err;
  };
  EXPECT_EQ(unknown({}).find('\x1b'), std::string::npos);
  EXPECT_TRUE(unknown({"--color", "always"}).starts_with("\x1b[31mnpubench:\x1b[0m no verb"));
  EXPECT_TRUE(unknown({"--color=always"}).starts_with("\x1b[31m"));
  EXPECT_EQ(unknown({"--color", "never"}).find('\x1b'), std::string::npos);
  expect_sentence(bench({"--color", "sometimes", "list", "devices"}), 64, {"auto, always, never"});
  const auto audit = bench({"audit", "published:seed_result_table", "--color", "always"});
  EXPECT_NE(audit.out.find("\x1b[31mFAIL\x1b[0m"), std::string::npos) << audit.out;
  const std::string json = bench({"list", "devices", "--json", "--color", "always"}).out;
  EXPECT_EQ(json.find('\x1b'), std::string::npos);
}

TEST(Verbs, CompletionKnowsEveryVerbAndItsOptions) {
  const Bench bench;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const auto script = bench({"--completion", shell});
    EXPECT_EQ(script.exit_code, 0);
    for (const std::string& verb : kVerbs)
      EXPECT_NE(script.out.find(verb), std::string::npos) << shell << " " << verb;
    for (const char* word : {"fit-batch", "latex", "list devices"})
      EXPECT_NE(script.out.find(word), std::string::npos) << shell << " " << word;
  }
  expect_sentence(bench({"--completion", "tcsh"}), 64, {"there are bash, zsh, fish"});
  expect_sentence(bench({"--completion"}), 64, {"there are bash, zsh, fish"});
}

// What bash offers for words typed so far, the last one being completed.
std::string completed(const Bench& bench, const std::string& words) {
  const std::string script =
      "PATH=" NB_BINARY_DIR ":$PATH; source <(npubench --completion bash); COMP_WORDS=(" + words +
      "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _npubench; echo \"${COMPREPLY[@]}\"";
  const auto result = run_subprocess({"bash", "-c", script}, {.environment = bench.environment});
  return result ? result->out : result.error().message;
}

TEST(Verbs, BashCompletesVerbsOptionsAndValues) {
#if defined(NB_EMULATOR)
  GTEST_SKIP() << "skipped: programs of another processor";
#endif
  const Bench bench;
  EXPECT_EQ(completed(bench, "npubench comp"), "compare\n");
  EXPECT_EQ(completed(bench, "npubench predict --fit"), "--fit-batch\n");
  EXPECT_EQ(completed(bench, "npubench predict --device ascend_910b"),
            "ascend_910b1 ascend_910b2 ascend_910b3 ascend_910b4\n");
  EXPECT_EQ(completed(bench, "npubench data ver"), "verify\n");
  EXPECT_EQ(completed(bench, "npubench list devices --color al"), "always\n");
}

TEST(Verbs, TheManPageHasEveryVerbAndOption) {
  const Bench bench;
  const std::string page = bench({"--man"}).out;
  EXPECT_TRUE(page.starts_with(".TH NPUBENCH 1\n"));
  for (const std::string& verb : kVerbs)
    EXPECT_NE(page.find("\n.SS " + verb + "\n"), std::string::npos) << verb;
  EXPECT_NE(page.find("\\fB\\-\\-fit\\-batch\\fR"), std::string::npos);
  const auto checked = run_subprocess({"bash", "-c",
                                       "command -v groff >/dev/null || exit 77; " NB_BINARY_DIR
                                       "/npubench --man | groff -man -Tutf8 -ww -z"});
  ASSERT_TRUE(checked);
  if (checked->exit_code == 77) GTEST_SKIP() << "skipped: no groff";
  EXPECT_EQ(checked->exit_code, 0);
  EXPECT_EQ(checked->err, "");
}

TEST(Verbs, NoVerbIsBadUsage) { EXPECT_EQ(Bench()({}).exit_code, 64); }

TEST(Verbs, PlanCreatesNothingAndListsEveryNode) {
  const Bench bench;
  const Json plan =
      json_of(bench({"plan", kSmallSuite, "--results-dir", bench.results().string(), "--json"}));
  EXPECT_TRUE(fs::is_empty(bench.results()));
  ASSERT_EQ(plan.at("nodes").size(), 3u + 3 * 4);
  for (const Json& node : plan.at("nodes")) {
    EXPECT_EQ(node.at("key").get<std::string>().size(), 64u);
    EXPECT_TRUE(node.at("will_run").get<bool>());
    EXPECT_GT(node.at("expected_time_s").get<double>(), 0);
  }
}

TEST(Verbs, RunJsonIsOneDocumentAndProgressGoesToStderr) {
  const Bench bench;
  const std::vector<std::string> prediction{
      "--set", "/stages={}", "--set", "/evaluations=[]", "--set", R"(/devices=["h100_sxm"])",
      "--json"};
  const auto result = bench.run(kSmallSuite, prediction);
  const Json json = json_of(result);
  EXPECT_EQ(json.at("executed"), 4);
  EXPECT_NE(result.err.find("4 to run, 0 reused; about"), std::string::npos) << result.err;
  auto quiet = prediction;
  quiet.push_back("--quiet");
  EXPECT_EQ(bench.run(kSmallSuite, quiet).err, "");
}

TEST(Verbs, ListsAreNotEmpty) {
  const Bench bench;
  for (const char* what : {"devices", "suites", "tasks", "faults", "microbenchmarks"})
    EXPECT_GT(json_of(bench({"list", what, "--json"})).size(), 0u) << what;
  EXPECT_EQ(bench({"list", "devics"}).exit_code, 64);
  EXPECT_EQ(bench({"list"}).exit_code, 64);
}

TEST(Verbs, PredictSaysTheSimulatedFigures) {
  const Json json = json_of(Bench()({"predict", "--device", "ascend_910b3", "--depth", "20",
                                     "--cards", "8", "--device-batch", "8", "--json"}));
  EXPECT_TRUE(json.at("fits").get<bool>());
  EXPECT_EQ(json.at("clock"), "sim");
  EXPECT_EQ(json.at("parameters"), 560988160);  // as nanochat's d20 prints
  const auto step_ns = json.at("step_time_ns").get<double>();
  EXPECT_GT(step_ns, 0);
  for (const char* parts : {"time_by_op_class_ns", "time_by_limiter_ns"}) {
    double sum = 0;
    for (const Json& part : json.at(parts)) sum += part.get<double>();
    EXPECT_EQ(sum, step_ns) << parts;
  }
  EXPECT_EQ(json.at("mfu_peak").at("dtype"), "bf16");
  EXPECT_NE(json.at("flop_convention").get<std::string>().find("recomputation"), std::string::npos);
  const Json& peaks = json.at("peak_memory");
  EXPECT_EQ(std::max(peaks.at("first_iteration").at("allocated_bytes").get<double>(),
                     peaks.at("steady").at("allocated_bytes").get<double>()),
            json.at("peak_allocated_bytes").get<double>());
}

TEST(Verbs, RanksIsAnotherNameOfCards) {
  const auto say = [](const char* flag) {
    return Bench()({"predict", "--device", "tiny", "--depth", "2", "--vocab-size", "512",
                    "--sequence-len", "64", "--total-batch-tokens", "1024", flag, "4", "--json"})
        .out;
  };
  EXPECT_EQ(say("--ranks"), say("--cards"));
  EXPECT_EQ(json_of(Bench()({"predict", "--device", "tiny", "--depth", "2", "--vocab-size", "512",
                             "--sequence-len", "64", "--total-batch-tokens", "1024", "--ranks", "4",
                             "--json"}))
                .at("settings")
                .at("cards"),
            4);
}

TEST(Verbs, DataListKnowsTheNovels) {
  const Json json = json_of(Bench()({"data", "list", "--json"}));
  EXPECT_GT(json.at("files").size(), 20u);
}

}  // namespace
}  // namespace nb::test
