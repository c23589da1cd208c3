// npubench eval --server against servers that do what real ones do wrong: the right sentence, the
// right exit code, and what was answered before is kept.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "model/tokenizer/byte_tokenizer.hpp"
#include "results/store/store.hpp"
#include "tests/e2e/bench.hpp"
#include "tests/remote/fake_server.hpp"
#include "tests/support/data_dir.hpp"

namespace nb::test {
namespace {

class Personas : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(byte_tokenizer().save(files_ / "tokenizer.json").has_value());
    write(
        "mine.yaml",
        "icl_tasks:\n"
        "- {label: pick, dataset_uri: pick.jsonl, num_fewshot: [0], icl_task_type: multiple_choice,"
        " continuation_delimiter: \" \"}\n"
        "- {label: go_on, dataset_uri: go_on.jsonl, num_fewshot: [0], icl_task_type: "
        "language_modeling, continuation_delimiter: \" \"}\n");
    const std::vector<std::string> words = {"stone",  "candle", "bridge", "orange", "silver",
                                            "market", "the",    "one",    "here"};
    std::string pick, go_on;
    for (std::size_t i = 0; i < 40; ++i) {
      pick += Json{{"query", "Number " + std::to_string(i) + " is"},
                   {"choices", {words[i % 9], words[(i * 5 + 1) % 9]}},
                   {"gold", i % 2}}
                  .dump() +
              "\n";
      // Behind "e" the model says " t".
      go_on += Json{{"context", "Number " + std::to_string(i) + ", so the " + words[i % 9]},
                    {"continuation", std::string("te").substr(0, 1 + i % 2)}}
                   .dump() +
               "\n";
    }
    write("pick.jsonl", pick);
    write("go_on.jsonl", go_on);
  }
  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(write_file(files_ / name, text).has_value());
  }
  std::string path(const std::string& name) const { return (files_ / name).string(); }

  std::vector<std::string> own(std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"--task-file", path("mine.yaml")});
    return more;
  }
  SubprocessResult ask(const FakeServer& server, std::vector<std::string> more,
                       const std::string& name = "x") {
    more.insert(more.begin(),
                {"eval", "--server", server.url(), "--tokenizer", path("tokenizer.json"), "--name",
                 name, "--results-dir", path("results")});
    for (const auto& [flag, value] : {std::pair("--tries", "3"), std::pair("--timeout", "1.5")})
      if (std::ranges::find(more, flag) == more.end()) more.insert(more.end(), {flag, value});
    return bench_(more);
  }
  StoredRecord record_of(const std::string& name) {
    auto run = read_run(files_ / "results" / name);
    EXPECT_TRUE(run.has_value() && run->records.size() == 1) << name;
    return run && run->records.size() == 1 ? run->records[0] : StoredRecord{};
  }
  // Every items file.
  std::string items_of(const std::string& name) {
    const StoredRecord stored = record_of(name);
    std::string text;
    for (const auto& [task, file] : stored.record.items)
      text += task + "\n" + read_file(stored.folder / file).value_or("missing");
    return text;
  }
  // All that lies in the results folder, and all that was printed.
  std::string everything(const SubprocessResult& result) const {
    std::string text = result.out + result.err;
    for (const auto& entry : fs::recursive_directory_iterator(files_ / "results"))
      if (entry.is_regular_file()) text += read_file(entry.path()).value_or("");
    return text;
  }
  struct Compared {
    std::string text;  // in one line
    Json json;
    // "a → b" of a confounder; empty: there is none of that field.
    std::string change(const std::string& field) const {
      for (const Json& one : json.at("confounders"))
        if (one.at("field") == field)
          return one.at("a").get<std::string>() + " → " + one.at("b").get<std::string>();
      return "";
    }
  };
  Compared compared(const std::string& a, const std::string& b) {
    const auto text = bench_({"compare", path("results/" + a), path("results/" + b)});
    const auto json = bench_({"compare", path("results/" + a), path("results/" + b), "--json"});
    EXPECT_EQ(text.exit_code, 0) << text.out << text.err;
    Compared both{"", Json::parse(json.out, nullptr, false)};
    for (const char c : text.out)
      if (c != '\n' && c != ' ')
        both.text += c;
      else if (!both.text.ends_with(' '))
        both.text += ' ';
    return both;
  }
  void expect_refusal(const std::string& persona, int exit_code,
                      const std::vector<std::string>& parts, std::vector<std::string> more = {}) {
    const FakeServer server(persona);
    const auto result = ask(server, own(std::move(more)), persona.substr(0, persona.find(':')));
    EXPECT_EQ(result.exit_code, exit_code) << persona << "\n" << result.out << result.err;
    for (const std::string& part : parts)
      EXPECT_NE(result.err.find(part), std::string::npos) << persona << ": " << part << "\n"
                                                          << result.err;
  }

  Bench bench_;
  TempDir files_;
};

TEST_F(Personas, HealthyServersOfEveryDialectGiveTheSameItems) {
  std::string expected;
  for (const char* persona :
       {"vllm", "vllm_old_echo", "sglang", "choices_out_of_order", "no_extras", "npubench"}) {
    const FakeServer server(persona);
    const auto result = ask(server, own(), persona);
    ASSERT_EQ(result.exit_code, 0) << persona << "\n" << result.out << result.err;
    if (expected.empty()) expected = items_of(persona);
    EXPECT_EQ(items_of(persona), expected) << persona;
  }
  // The model is a table: behind "e" it says " t", and behind that no "e".
  const StoredRecord vllm = record_of("vllm");
  const Metric* go_on = find_metric(vllm.record, "own/go_on/accuracy");
  ASSERT_NE(go_on, nullptr);
  EXPECT_GT(go_on->value, 0.2);
  EXPECT_LT(go_on->value, 0.5);
  const auto compared = bench_({"compare", path("results/vllm"), path("results/sglang")});
  EXPECT_EQ(compared.exit_code, 0) << compared.out << compared.err;
  EXPECT_EQ(bench_({"gate", path("results/vllm"), path("results/sglang")}).exit_code, 0);
}

TEST_F(Personas, WhatPassesIsAskedAgain) {
  const FakeServer healthy("vllm");
  ASSERT_EQ(ask(healthy, own(), "healthy").exit_code, 0);
  for (const char* persona : {"busy", "unavailable", "reset", "half_body", "html_at_item:60"}) {
    const FakeServer server(persona);
    const std::string name = std::string(persona).substr(0, 4);
    const auto result = ask(server, own({"--tries", "9", "--concurrency", "8"}), name);
    if (std::string_view(persona).starts_with("html")) {  // and then answers HTML for good
      EXPECT_EQ(result.exit_code, 4);
      EXPECT_NE(result.err.find("HTML"), std::string::npos) << result.err;
      continue;
    }
    ASSERT_EQ(result.exit_code, 0) << persona << "\n" << result.out << result.err;
    EXPECT_EQ(items_of(name), items_of("healthy")) << persona;
    EXPECT_GT(record_of(name).record.environment->at("server").at("asked").at("retries"), 0);
  }
}

TEST_F(Personas, ConcurrencyChangesNothing) {
  const FakeServer server("vllm");
  ASSERT_EQ(ask(server, own({"--concurrency", "1"}), "one").exit_code, 0);
  ASSERT_EQ(ask(server, own({"--concurrency", "16"}), "many").exit_code, 0);
  EXPECT_EQ(items_of("one"), items_of("many"));
}

TEST_F(Personas, ServersWithoutPromptLogProbsAreRefusedForChoices) {
  expect_refusal("llamacpp_refuse", 4,
                 {"gives no log-probabilities of a prompt", "echo: refused with status 500",
                  "own/pick cannot be scored", "own/go_on can be"});
  expect_refusal("llamacpp", 4,
                 {"prompt_logprobs: no \"prompt_logprobs\"; echo: 1 entry of prompt "
                  "log-probabilities for",
                  "own/pick cannot be scored", "own/go_on can be"});
  expect_refusal("llamacpp_silent", 4,
                 {"echo: 1 entry of prompt log-probabilities for", "own/pick cannot be scored"});
  expect_refusal("processed_logprobs", 4,
                 {"P4: its log-probabilities are scaled by the temperature"});
  expect_refusal("too_likely", 4, {"P3: prompt_logprobs: two probabilities at position 1 sum to"});
  expect_refusal("mindie", 4, {"takes no token ids as a prompt", "no way of scoring is left"});
}

// Status 500 was taken for a failure that passes, and ended the evaluation after all its tries.
TEST_F(Personas, LlamaCppRefusesEchoWithStatus500AndTellsIdsBesideLogProbabilities) {
  NB_NEEDS_DATA();
  const FakeServer llama("llamacpp_refuse"), vllm("vllm");
  const std::vector<std::string> texts = {
      "--task",           "gsm8k", "--max-per-task", "4",
      "--max-new-tokens", "20",    "--data-dir",     data_dir().string()};
  for (const auto& [server, name] : {std::pair(&llama, "llama"), std::pair(&vllm, "vllm")}) {
    const auto result = ask(*server, texts, name);
    ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  }
  const Record record = record_of("llama").record;
  EXPECT_FALSE(record.comparability.contains("gsm8k/tools"));
  EXPECT_EQ(record.environment->at("server").at("version"), "b1-toy");
  EXPECT_EQ(items_of("llama"), items_of("vllm"));
  EXPECT_EQ(compared("llama", "vllm").change("/server/engine"), "llamacpp b1-toy → vllm 0.9.1");
}

// Equal tokens were taken for equal bits: llama.cpp's log-probabilities move in the seventh digit.
TEST_F(Personas, EqualGreedyAnswersAreNotTakenForEqualBits) {
  NB_NEEDS_DATA();
  const FakeServer llama("llamacpp"), steady("llamacpp_refuse"), texts("vllm");
  const std::vector<std::string> chat = {
      "--task",           "gsm8k",  "--max-per-task", "2",
      "--chat",           "server", "--data-dir",     data_dir().string(),
      "--max-new-tokens", "8"};
  const auto noise_of = [&](const FakeServer& server, const std::string& name,
                            const std::vector<std::string>& tasks) {
    const auto result = ask(server, tasks, name);
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    return record_of(name).record.environment->at("server").at("noise");
  };
  const Json moved = noise_of(llama, "llama", own({"--task", "own/go_on"}));
  EXPECT_EQ(moved.at("batch_invariant"), false);
  EXPECT_EQ(moved.at("flips"), 0);
  EXPECT_GT(moved.at("max_abs_log_prob"), 0);
  EXPECT_LT(moved.at("max_abs_log_prob"), 1e-6);
  const Json same = noise_of(steady, "steady", own({"--task", "own/go_on"}));
  EXPECT_EQ(same.at("batch_invariant"), true);
  EXPECT_EQ(items_of("llama"), items_of("steady"));
  // Texts alone tell nothing so small, and are no difference from one whose bits are equal.
  EXPECT_EQ(noise_of(texts, "texts", chat).at("batch_invariant"), false);
  ASSERT_EQ(noise_of(steady, "steady-texts", chat).at("flips"), 0);
  EXPECT_EQ(compared("texts", "steady-texts").change("/server/noise"), "");
}

TEST_F(Personas, OtherTokensAreRefused) {
  expect_refusal("bos_twice", 4, {"puts 1 token in front", "a second <|bos|>", "(P7)"});
  expect_refusal(
      "other_tokenizer", 64,
      {"--tokenizer: not the one of", "text 1 of 20", "is 73 there and 72 here", "(P2)"});
}

TEST_F(Personas, WhatIsNoServerOfThisKindIsSaid) {
  expect_refusal("html", 4, {"a page of HTML, not JSON"});
  expect_refusal("no_models", 64, {"has no /v1/models", "give the URL with its path"});
  expect_refusal("no_context", 64, {"does not say how many tokens", "--server-context N"});
  expect_refusal("no_context", 0, {}, {"--server-context", "512"});
  expect_refusal("vllm", 64, {"--server-model tox", "did you mean \"toy\"", "(P1)"},
                 {"--server-model", "tox"});
  const std::string port = FakeServer("vllm").port();  // gone again
  const auto result = bench_({"eval", "--server", "http://127.0.0.1:" + port + "/v1", "--tokenizer",
                              path("tokenizer.json"), "--task-file", path("mine.yaml"), "--tries",
                              "1", "--results-dir", path("results")});
  expect_sentence(result, 4, {"127.0.0.1:" + port + " does not answer (GET /v1/models, 1 try)"});
}

TEST_F(Personas, AServerThatFailsOnTheWayEndsWithItsSentence) {
  expect_refusal("always_busy", 4, {"answers with status 429", "3 tries"});
  expect_refusal("slow:60", 4, {"gives no answer in time"}, {"--timeout", "0.3"});
  expect_refusal("endless:60", 4, {"sends an answer that is too large"});
  expect_refusal("html_at_item:45", 4, {"a page of HTML"});
}

TEST_F(Personas, FinishedItemsAreKeptAndTheNextRunGoesOn) {
  const FakeServer healthy("vllm");
  ASSERT_EQ(ask(healthy, own(), "whole").exit_code, 0);
  std::string port;
  {
    const FakeServer server("dies_at_item:150");
    port = server.port();
    const auto result = ask(server, own({"--concurrency", "2"}), "killed");
    EXPECT_EQ(result.exit_code, 4) << result.out << result.err;
    EXPECT_NE(result.err.find("does not answer"), std::string::npos) << result.err;
  }
  const FakeServer again("vllm", port);
  const auto result = ask(again, own(), "killed");
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_NE(result.out.find("of them from an earlier run"), std::string::npos) << result.out;
  EXPECT_EQ(items_of("killed"), items_of("whole"));
}

TEST_F(Personas, ItemsAreKeptHoweverAServerFailsOnTheWay) {
  const FakeServer healthy("vllm");
  ASSERT_EQ(ask(healthy, own(), "whole").exit_code, 0);
  for (const std::string persona :
       {"slow:150", "endless:150", "html_at_item:130", "echoes_body:150"}) {
    const std::string name = persona.substr(0, 4);
    std::string port;
    {
      const FakeServer server(persona);
      port = server.port();
      const auto failed =
          ask(server, own({"--concurrency", "2", "--timeout", "1", "--tries", "2"}), name);
      EXPECT_EQ(failed.exit_code, 4) << persona << "\n" << failed.out << failed.err;
    }
    const FakeServer again("vllm", port);
    const auto result = ask(again, own(), name);
    ASSERT_EQ(result.exit_code, 0) << persona << "\n" << result.out << result.err;
    EXPECT_NE(result.out.find("of them from an earlier run"), std::string::npos) << result.out;
    EXPECT_EQ(items_of(name), items_of("whole")) << persona;
  }
}

TEST_F(Personas, AKilledEvaluationGoesOnAtTheNextItem) {
  const FakeServer server("vllm");
  ASSERT_EQ(ask(server, own(), "whole").exit_code, 0);
  std::vector<std::string> command = own({"--concurrency", "1", "--quiet"});
  command.insert(command.begin(),
                 {"eval", "--server", server.url(), "--tokenizer", path("tokenizer.json"), "--name",
                  "killed", "--results-dir", path("results")});
  bool was_killed = false;
  for (int ms = 200; ms < 20000; ms = ms * 3 / 2)
    if (bench_(command, std::chrono::milliseconds(ms)).exit_code == 0)
      break;
    else
      was_killed = true;
  EXPECT_TRUE(was_killed);
  EXPECT_EQ(items_of("killed"), items_of("whole"));
}

TEST_F(Personas, AnotherModelInTheMiddleIsNoticed) {
  expect_refusal("other_model:150", 4,
                 {"serves another model", "log-probabilities of a fixed prompt moved"});
  expect_refusal("other_name:60", 4, {"serves another model", "toy is gone"});
}

// The first half of the items by one model, then a restart with another.
TEST_F(Personas, AnotherModelAfterARestartIsNoticed) {
  std::string port;
  {
    const FakeServer server("dies_at_item:150");
    port = server.port();
    EXPECT_EQ(ask(server, own({"--concurrency", "2"}), "restarted").exit_code, 4);
  }
  const FakeServer other("other_model:0", port);
  const auto refused = ask(other, own(), "restarted");
  EXPECT_EQ(refused.exit_code, 64) << refused.out << refused.err;
  EXPECT_NE(refused.err.find("answered by another model"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("--fresh"), std::string::npos) << refused.err;
  EXPECT_EQ(ask(other, own({"--fresh"}), "restarted").exit_code, 0);
}

TEST_F(Personas, NumbersThatAreNoneGiveNoScore) {
  // "v" of "silver" is in no probe.
  for (const std::string persona : {"nan", "floor"}) {
    const FakeServer server(persona + ":118");
    const auto result = ask(server, own(), persona);
    EXPECT_EQ(result.exit_code, 4) << result.out << result.err;
    EXPECT_NE(result.err.find("no score: own/pick"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("of 40 items"), std::string::npos) << result.err;
  }
  EXPECT_GT(record_of("floor").record.environment->at("server").at("asked").at("floors"), 0);
  EXPECT_EQ(record_of("nan").record.environment->at("server").at("asked").at("floors"), 0);
}

TEST_F(Personas, NoiseStandsInTheRecordAndItsAdviceIsGiven) {
  const FakeServer noisy("noisy"), quiet("vllm");
  const auto result = ask(noisy, own(), "noisy");
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_NE(result.err.find("VLLM_BATCH_INVARIANT=1"), std::string::npos) << result.err;
  const Json noise = record_of("noisy").record.environment->at("server").at("noise");
  EXPECT_GT(noise.at("max_abs_log_prob"), 0.001);
  EXPECT_LT(noise.at("max_abs_log_prob"), 0.021);
  EXPECT_EQ(noise.at("batch_invariant"), false);
  const auto silent = ask(quiet, own(), "quiet");
  ASSERT_EQ(silent.exit_code, 0);
  EXPECT_EQ(silent.err.find("VLLM_BATCH_INVARIANT"), std::string::npos) << silent.err;
  const Record record = record_of("quiet").record;
  EXPECT_EQ(record.environment->at("server").at("noise").at("batch_invariant"), true);
  ASSERT_FALSE(record.host_metrics.empty());
  for (const Metric& metric : record.host_metrics) EXPECT_EQ(metric.clock, Clock::kDevice);
}

TEST_F(Personas, TwoHealthyServersPassAndAPlantedDifferenceIsNamed) {
  const FakeServer gpu("vllm"), npu("vllm_old_echo"), rounded("rounded"), noisy("noisy");
  for (const auto& [server, name] : {std::pair(&gpu, "gpu"), std::pair(&npu, "npu"),
                                     std::pair(&rounded, "rounded"), std::pair(&noisy, "noisy")})
    ASSERT_EQ(ask(*server, own(), name).exit_code, 0);
  const auto healthy = bench_({"gate", path("results/gpu"), path("results/npu")});
  EXPECT_EQ(healthy.exit_code, 0);
  EXPECT_NE(healthy.out.find("1 bit-identical"), std::string::npos) << healthy.out;
  const auto seen = compared("gpu", "rounded");
  EXPECT_NE(seen.text.find("logits of A: finer than 16 bits, of B: 16 bits, steps of 2^-4"),
            std::string::npos)
      << seen.text;
  EXPECT_NE(seen.text.find("log-probabilities of one fixed prompt differ by up to"),
            std::string::npos)
      << seen.text;
  EXPECT_EQ(seen.text.find("on the same device"), std::string::npos) << seen.text;
  // What one of them does from request to request is no difference between the two.
  const auto passed = bench_({"gate", path("results/gpu"), path("results/noisy")});
  EXPECT_EQ(passed.exit_code, 0) << passed.out;
}

// Both were called "confounders: none", as if one device had answered twice.
TEST_F(Personas, TwoServersOfOneModelAreNamedAsTwo) {
  const FakeServer gpu("vllm"), npu("sglang"), noisy("noisy");
  for (const auto& [server, name] :
       {std::pair(&gpu, "gpu"), std::pair(&npu, "npu"), std::pair(&noisy, "noisy")})
    ASSERT_EQ(ask(*server, own(), name).exit_code, 0);
  const Compared healthy = compared("gpu", "npu");
  EXPECT_EQ(healthy.text.find("confounders: none"), std::string::npos) << healthy.text;
  EXPECT_EQ(healthy.change("/server"), "vllm 0.9.1 at " + gpu.host() + ", called gpu → sglang at " +
                                           npu.host() + ", called npu");
  EXPECT_EQ(healthy.change("/server/engine"), "vllm 0.9.1 → sglang");
  EXPECT_EQ(healthy.change("/server/dtype"), "");  // one side does not tell its own
  EXPECT_EQ(healthy.change("/server/prompt_log_probs"), "prompt_logprobs → sglang");
  EXPECT_EQ(healthy.change("/server/chat_template"), "");
  EXPECT_NE(healthy.text.find("that both servers hold the same weights is taken from"),
            std::string::npos)
      << healthy.text;
  const Compared moved = compared("gpu", "noisy");
  EXPECT_TRUE(moved.change("/server/noise").starts_with("batch-invariant → up to")) << moved.text;
  EXPECT_NE(moved.json.at("likely_cause").get<std::string>().find("in and out of a batch"),
            std::string::npos);
  // One server that was asked twice is one.
  ASSERT_EQ(ask(gpu, own(), "again").exit_code, 0);
  EXPECT_EQ(compared("gpu", "again").change("/server"), "");
}

TEST_F(Personas, AnotherChatTemplateIsSeenAndNamed) {
  NB_NEEDS_DATA();
  const FakeServer right("vllm"), wrong("other_template"), same("vllm");
  const auto by = [&](const char* chat) -> std::vector<std::string> {
    return {"--task", "chat_arc_easy,gsm8k", "--max-per-task",    "20",     "--max-new-tokens",
            "20",     "--data-dir",          data_dir().string(), "--chat", chat};
  };
  for (const auto& [server, name] :
       {std::pair(&right, "right"), std::pair(&wrong, "wrong"), std::pair(&same, "same")}) {
    const auto result = ask(*server, by("server"), name);
    ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  }
  const Compared other = compared("right", "wrong");
  EXPECT_NE(other.text.find("chat_arc_easy/template differs"), std::string::npos) << other.text;
  EXPECT_NE(other.json.at("likely_cause")
                .get<std::string>()
                .find("the servers' chat templates make other prompts of one conversation"),
            std::string::npos)
      << other.text;
  const auto refused = bench_({"gate", path("results/right"), path("results/wrong")});
  EXPECT_EQ(refused.exit_code, 3) << refused.out;
  EXPECT_NE(refused.out.find("/template"), std::string::npos) << refused.out;
  const auto passed = bench_({"gate", path("results/right"), path("results/same")});
  EXPECT_EQ(passed.exit_code, 0) << passed.out;
  // Rendered here, no score depends on it, and that is said.
  ASSERT_EQ(ask(right, by("here"), "right-here").exit_code, 0);
  ASSERT_EQ(ask(wrong, by("here"), "wrong-here").exit_code, 0);
  const Compared here = compared("right-here", "wrong-here");
  EXPECT_NE(here.change("/server/chat_template"), "") << here.text;
  EXPECT_EQ(items_of("right-here"), items_of("wrong-here"));
  EXPECT_EQ(bench_({"gate", path("results/right-here"), path("results/wrong-here")}).exit_code, 0);
}

// nanochat's rendering and the server's are one here: so are the letters.
TEST_F(Personas, AChatOfTheServersTemplateNeedsNoIds) {
  NB_NEEDS_DATA();
  const std::vector<std::string> chat = {"--task", "chat_arc_easy", "--max-per-task",
                                         "20",     "--data-dir",    data_dir().string()};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), chat.begin(), chat.end());
    return more;
  };
  const FakeServer vllm("vllm"), mindie("mindie"), thinks("thinks");
  ASSERT_EQ(ask(vllm, with({"--method", "letters"}), "ids").exit_code, 0);
  for (const auto& [server, name] : {std::pair(&vllm, "vllm"), std::pair(&mindie, "mindie")}) {
    const auto result = ask(*server, with({"--chat", "server"}), name);
    ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  }
  const auto ids = read_items(record_of("ids").folder / items_file("chat_arc_easy"));
  const auto messages = read_items(record_of("vllm").folder / items_file("chat_arc_easy"));
  ASSERT_TRUE(ids && messages && ids->size() == messages->size());
  for (std::size_t i = 0; i < ids->size(); ++i)
    EXPECT_EQ((*ids)[i].prediction, (*messages)[i].prediction) << i;
  EXPECT_EQ(record_of("mindie").record.comparability.at("chat_arc_easy/template"),
            "52 tokens of a fixed conversation");
  const std::vector<std::string> text = {
      "--task", "gsm8k",      "--max-per-task",    "3",      "--max-new-tokens",
      "20",     "--data-dir", data_dir().string(), "--chat", "server"};
  ASSERT_EQ(ask(thinks, text, "thinks").exit_code, 0);
  const auto items = read_items(record_of("thinks").folder / items_file("gsm8k"));
  ASSERT_TRUE(items.has_value());
  for (const ItemRecord& item : *items)
    EXPECT_EQ(item.texts.front().find("think"), std::string::npos) << item.texts.front();
  const auto refused = ask(vllm, own({"--chat", "server"}), "refused");
  expect_sentence(refused, 64, {"--chat server: own/pick is no chat"});
}

// Rung 2 scores the same items as rung 1, and is never compared with it.
TEST_F(Personas, UnequalMethodsAreNeverCompared) {
  const FakeServer server("vllm"), llama("llamacpp_silent");
  ASSERT_EQ(ask(server, own({"--task", "own/go_on"}), "scored").exit_code, 0);
  const auto greedy = ask(llama, own({"--task", "own/go_on"}), "greedy");
  ASSERT_EQ(greedy.exit_code, 0) << greedy.out << greedy.err;
  const Record scored = record_of("scored").record, said = record_of("greedy").record;
  EXPECT_EQ(scored.comparability.at("own/go_on/method"), "prompt_logprobs");
  EXPECT_EQ(said.comparability.at("own/go_on/method"), "greedy");
  EXPECT_EQ(find_metric(scored, "own/go_on/accuracy")->value,
            find_metric(said, "own/go_on/accuracy")->value);
  const auto gated = bench_({"gate", path("results/scored"), path("results/greedy")});
  EXPECT_EQ(gated.exit_code, 3) << gated.out;
  EXPECT_NE(gated.out.find("own/go_on/method"), std::string::npos) << gated.out;
  // Asked alike they are compared.
  ASSERT_EQ(ask(server, own({"--task", "own/go_on", "--method", "greedy"}), "forced").exit_code, 0);
  EXPECT_EQ(bench_({"gate", path("results/forced"), path("results/greedy")}).exit_code, 0);
  EXPECT_EQ(ask(server, own({"--method", "letters"}), "unfit").exit_code, 64);
}

TEST_F(Personas, LettersAndTextsAreScoredWithoutPromptLogProbs) {
  NB_NEEDS_DATA();
  const std::vector<std::string> chat = {"--task", "chat_arc_easy", "--max-per-task",
                                         "30",     "--data-dir",    data_dir().string()};
  const FakeServer server("vllm"), echo("llamacpp_silent");
  auto by = [&](const char* method) {
    std::vector<std::string> more = chat;
    more.insert(more.end(), {"--method", method});
    return more;
  };
  ASSERT_EQ(ask(server, by("prompt_logprobs"), "scored").exit_code, 0);
  ASSERT_EQ(ask(server, by("letters"), "letters").exit_code, 0);
  const auto biased = ask(echo, chat, "biased");
  ASSERT_EQ(biased.exit_code, 0) << biased.out << biased.err;
  EXPECT_EQ(record_of("biased").record.comparability.at("chat_arc_easy/method"), "letters");
  const auto scored = read_items(record_of("scored").folder / items_file("chat_arc_easy"));
  for (const char* name : {"letters", "biased"}) {
    const auto items = read_items(record_of(name).folder / items_file("chat_arc_easy"));
    ASSERT_TRUE(items.has_value() && scored.has_value());
    for (std::size_t i = 0; i < items->size(); ++i) {
      EXPECT_EQ((*items)[i].prediction, (*scored)[i].prediction) << name << " " << i;
      EXPECT_TRUE((*items)[i].log_probs.empty());
    }
  }
  const auto texts = ask(echo,
                         {"--task", "gsm8k", "--max-per-task", "4", "--max-new-tokens", "20",
                          "--data-dir", data_dir().string()},
                         "texts");
  ASSERT_EQ(texts.exit_code, 0) << texts.out << texts.err;
  EXPECT_EQ(record_of("texts").record.comparability.at("gsm8k/tools"),
            "none: the server tells no ids");
}

// It held no answer to letters, said A to everything, and was taken to hold them.
TEST_F(Personas, AServerThatHappensToSayAIsNotHeldToLetters) {
  NB_NEEDS_DATA();
  const FakeServer server("says_a");
  std::vector<std::string> words = {"--task",   "chat_arc_easy",  "--max-per-task",
                                    "30",       "--data-dir",     data_dir().string(),
                                    "--method", "prompt_logprobs"};
  ASSERT_EQ(ask(server, words, "scored").exit_code, 0);
  words.back() = "letters";
  const auto result = ask(server, words, "letters");
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_EQ(record_of("letters").record.environment->at("server").at("letters"), "top_logprobs");
  const auto items = read_items(record_of("letters").folder / items_file("chat_arc_easy"));
  const auto scored = read_items(record_of("scored").folder / items_file("chat_arc_easy"));
  ASSERT_TRUE(items.has_value() && scored.has_value());
  for (std::size_t i = 0; i < items->size(); ++i)
    EXPECT_EQ((*items)[i].prediction, (*scored)[i].prediction) << i;
}

// They ended as if the model's numbers were not finite.
TEST_F(Personas, ItemsWhoseLettersAreNotToldSaySo) {
  NB_NEEDS_DATA();
  const FakeServer server("few_letters");
  const auto result = ask(server,
                          {"--task", "chat_arc_easy", "--max-per-task", "20", "--data-dir",
                           data_dir().string(), "--chat", "server"},
                          "few");
  EXPECT_EQ(result.exit_code, 4) << result.out << result.err;
  EXPECT_NE(result.err.find("their letters are not among what the server tells"), std::string::npos)
      << result.err;
  EXPECT_EQ(result.err.find("finite"), std::string::npos) << result.err;
  const auto items = read_items(record_of("few").folder / items_file("chat_arc_easy"));
  ASSERT_TRUE(items.has_value());
  const auto untold = std::ranges::count(*items, "letters not told", &ItemRecord::reason);
  EXPECT_GT(untold, 0);
  EXPECT_LT(untold, 20);
  for (const ItemRecord& item : *items) EXPECT_EQ(item.prediction.empty(), !item.reason.empty());
}

TEST_F(Personas, NeitherKeyNorBodyIsWrittenAnywhere) {
  bench_.environment = {{"FAKE_KEY", "secret-key"}};
  const FakeServer locked("needs_key"), quotes("echoes_body:60");
  const auto refused = ask(locked, own(), "refused");
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_NE(refused.err.find("--key-env"), std::string::npos) << refused.err;
  const auto taken = ask(locked, own({"--key-env", "FAKE_KEY"}), "taken");
  ASSERT_EQ(taken.exit_code, 0) << taken.out << taken.err;
  EXPECT_EQ(everything(taken).find("secret-key"), std::string::npos);
  const auto quoted = ask(quotes, own({"--key-env", "FAKE_KEY"}), "quoted");
  EXPECT_EQ(quoted.exit_code, 4);
  EXPECT_NE(quoted.err.find("cannot read the input"), std::string::npos) << quoted.err;
  const std::string all = everything(quoted);
  // "Nu", behind <|bos|>: how every item begins.
  EXPECT_EQ(all.find("256, 78, 117"), std::string::npos);
  EXPECT_EQ(all.find("256,78,117"), std::string::npos);
  const auto without = ask(locked, own({"--key-env", "NO_SUCH_KEY"}), "without");
  expect_sentence(without, 64, {"--key-env NO_SUCH_KEY: there is no such environment variable"});
}

TEST_F(Personas, ACertificateIsCheckedAndSoIsTheNameInIt) {
  const auto make = [&](const std::string& name, const std::string& subject) {
    const std::string command =
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=x -keyout '" +
        path(name + ".key") + "' -out '" + path(name + ".pem") +
        "' -addext subjectAltName=" + subject + " 2>/dev/null";
    return std::system(command.c_str()) == 0;
  };
  if (!make("right", "IP:127.0.0.1") || !make("wrong", "DNS:elsewhere.example"))
    GTEST_SKIP() << "no openssl program";
  const FakeServer right("vllm", "", {path("right.pem"), path("right.key")});
  const FakeServer wrong("vllm", "", {path("wrong.pem"), path("wrong.key")});
  const auto taken = ask(right, own({"--ca-file", path("right.pem")}), "right");
  EXPECT_EQ(taken.exit_code, 0) << taken.out << taken.err;
  expect_sentence(ask(right, own(), "untrusted"), 4,
                  {"shows a certificate of an authority that is not trusted here"});
  expect_sentence(ask(wrong, own({"--ca-file", path("wrong.pem")}), "wrong"), 4,
                  {"shows a certificate for another host"});
}

TEST_F(Personas, BadFlagsAreRefusedBeforeAnythingIsAsked) {
  const FakeServer server("vllm");
  const auto refused = [&](std::vector<std::string> arguments, const std::string& part) {
    arguments.insert(arguments.begin(), "eval");
    arguments.insert(arguments.end(),
                     {"--task-file", path("mine.yaml"), "--results-dir", path("results")});
    const auto result = bench_(arguments);
    EXPECT_EQ(result.exit_code, 64) << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  };
  const std::string tokenizer = path("tokenizer.json");
  refused({"--server", server.url()}, "give the served model's tokenizer by --tokenizer");
  refused({"--server", server.url(), "--model", "oracle"}, "exactly one of");
  refused({"--server", server.url(), "--tokenizer", tokenizer, "--device", "tiny"}, "--device");
  refused({"--model", "oracle", "--concurrency", "3"}, "--concurrency");
  refused({"--server", "http://me:hidden@x/v1", "--tokenizer", tokenizer}, "no user and password");
  refused({"--server", server.url(), "--tokenizer", tokenizer, "--task", "mw/facts"}, "--world");
  refused({"--server", server.url(), "--tokenizer", tokenizer, "--method", "best"}, "--method");
  EXPECT_TRUE(server.requests().empty());
}

}  // namespace
}  // namespace nb::test
