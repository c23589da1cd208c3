// The closed loop: a model behind HTTP gives the items that it gives here, bit for bit, however
// many requests are under way and whoever is killed on the way.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/base/fs.hpp"
#include "results/store/items.hpp"
#include "results/store/store.hpp"
#include "tests/e2e/bench.hpp"
#include "tests/remote/fake_server.hpp"
#include "tests/serve/serve_process.hpp"
#include "tests/support/data_dir.hpp"

namespace nb::test {
namespace {

class ClosedLoop : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    bench_ = new Bench;
    const auto result = bench_->run(kSmallSuite, {"--set", R"(/devices=["ascend_910b3"])"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  static void TearDownTestSuite() { delete bench_; }

  static fs::path model() { return bench_->node("train-base"); }
  static std::vector<std::string> task_flags(const std::string& tasks,
                                             std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"--task", tasks, "--max-new-tokens", "24"});
    if (!data_dir().empty()) more.insert(more.end(), {"--data-dir", data_dir().string()});
    return more;
  }
  static std::vector<std::string> here(std::vector<std::string> more, const std::string& name) {
    more.insert(more.begin(), {"eval", "--model", model().string(), "--name", name, "--results-dir",
                               (bench_->results() / "loop").string(), "--quiet"});
    return more;
  }
  static std::vector<std::string> there(const ServeProcess& server, std::vector<std::string> more,
                                        const std::string& name, bool has_world = true) {
    more.insert(more.begin(),
                {"eval", "--server", server.api(), "--tokenizer",
                 (bench_->node("tokenizer") / "tokenizer.json").string(), "--name", name,
                 "--results-dir", (bench_->results() / "loop").string(), "--quiet"});
    if (has_world) more.insert(more.end(), {"--world", model().string()});
    return more;
  }
  static Record record_of(const std::string& name) {
    auto run = read_run(bench_->results() / "loop" / name);
    EXPECT_TRUE(run.has_value() && run->records.size() == 1) << name;
    return run && run->records.size() == 1 ? run->records[0].record : Record{};
  }
  // Digests of every items file, and every metric.
  static std::string results_of(const std::string& name) {
    const Record record = record_of(name);
    std::string text;
    for (const auto& [task, file] : record.items)
      text += task + " " + record.artifacts.at(file) + "\n";
    for (const Metric& metric : record.metrics)
      text += metric.name + " " + std::to_string(metric.value.value_or(-1)) + "\n";
    return text;
  }
  static void expect_done(const SubprocessResult& result) {
    ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  }

  static Bench* bench_;
};
Bench* ClosedLoop::bench_ = nullptr;

TEST_F(ClosedLoop, GeneratedWorldHasTheSameItems) {
  const ServeProcess server({"--model", model().string()});
  const auto tasks = task_flags("mw,mw_chat");
  expect_done((*bench_)(here(tasks, "world-here")));
  for (const char* concurrency : {"1", "16"}) {
    const std::string name = std::string("world-") + concurrency;
    auto command = there(server, tasks, name);
    command.insert(command.end(), {"--concurrency", concurrency});
    expect_done((*bench_)(command));
    EXPECT_EQ(results_of(name), results_of("world-here"));
  }
  const auto gated = (*bench_)({"gate", (bench_->results() / "loop" / "world-1").string(),
                                (bench_->results() / "loop" / "world-16").string()});
  EXPECT_EQ(gated.exit_code, 0) << gated.out;
  EXPECT_NE(gated.out.find("PASS"), std::string::npos) << gated.out;
}

TEST_F(ClosedLoop, PublicTasksHaveTheSameItems) {
  NB_NEEDS_DATA();
  const ServeProcess server({"--model", model().string()});
  const auto tasks =
      task_flags("copa,winograd,lambada_openai,chat_arc_easy,mmlu", {"--max-per-task", "30"});
  expect_done((*bench_)(here(tasks, "public-here")));
  expect_done((*bench_)(there(server, tasks, "public-there", /*has_world=*/false)));
  EXPECT_EQ(results_of("public-there"), results_of("public-here"));
}

// Nothing of the tokenizer is here: text to ids and back, specials, what begins a text.
TEST_F(ClosedLoop, TheServersOwnTokenizerGivesTheSameItems) {
  const ServeProcess server({"--model", model().string()});
  const auto served = [&](std::vector<std::string> command) {
    *(std::ranges::find(command, "--tokenizer") + 1) = "server";
    return command;
  };
  const auto world = task_flags("mw,mw_chat");
  expect_done((*bench_)(there(server, world, "world-file")));
  expect_done((*bench_)(served(there(server, world, "world-served"))));
  EXPECT_EQ(results_of("world-served"), results_of("world-file"));
  const Record record = record_of("world-served");
  EXPECT_TRUE(record.comparability.at("tokenizer").starts_with("server:"));
  EXPECT_EQ(record.environment->at("server").at("tokenizes"), "there");
  EXPECT_FALSE(record_of("world-file").environment->at("server").contains("tokenizes"));
  if (data_dir().empty()) return;
  const auto tasks =
      task_flags("copa,winograd,lambada_openai,chat_arc_easy,gsm8k", {"--max-per-task", "20"});
  expect_done((*bench_)(there(server, tasks, "public-file", false)));
  expect_done((*bench_)(served(there(server, tasks, "public-served", false))));
  EXPECT_EQ(results_of("public-served"), results_of("public-file"));
}

// An emulated NPU and an fp32 machine behind two servers: two, with what makes them differ.
TEST_F(ClosedLoop, RoundingToBf16OnOneServerIsNamed) {
  const ServeProcess exact({"--model", model().string(), "--device", "cpu_ref"}),
      rounded({"--model", model().string(), "--device", "h100_sxm"}),
      twin({"--model", model().string(), "--device", "h100_sxm"});
  for (const auto& [server, name] :
       {std::pair(&exact, "exact"), std::pair(&rounded, "rounded"), std::pair(&twin, "twin")})
    expect_done((*bench_)(there(*server, task_flags("mw/facts,mw/arc_easy,mw/gsm8k"), name)));
  const auto run = [&](const char* name) { return (bench_->results() / "loop" / name).string(); };
  const auto compared = (*bench_)({"compare", run("exact"), run("rounded"), "--json"});
  ASSERT_EQ(compared.exit_code, 0) << compared.out << compared.err;
  const Json json = Json::parse(compared.out);
  EXPECT_EQ(json.at("pairs").at(0).at("bit_identical"), false);
  const std::string cause = json.at("likely_cause");
  EXPECT_NE(cause.find("log-probabilities of one fixed prompt differ by up to"), std::string::npos)
      << cause;
  EXPECT_NE(cause.find("as rounding makes"), std::string::npos) << cause;
  std::map<std::string, std::string> changes;
  for (const Json& one : json.at("confounders"))
    changes[one.at("field")] =
        one.at("a").get<std::string>() + " > " + one.at("b").get<std::string>();
  EXPECT_EQ(changes["/server/device"], "cpu_ref > h100_sxm");
  EXPECT_NE(changes["/server"].find("cpu_ref, called exact > npubench"), std::string::npos)
      << changes["/server"];
  EXPECT_TRUE(changes.contains("/server/matmul_inputs")) << compared.out;
  const auto healthy = (*bench_)({"gate", run("rounded"), run("twin")});
  EXPECT_EQ(healthy.exit_code, 0) << healthy.out;
  EXPECT_NE(healthy.out.find("PASS"), std::string::npos) << healthy.out;
}

TEST_F(ClosedLoop, AnotherChatTemplateBeforeOneServerIsNamed) {
  const ServeProcess server({"--model", model().string()});
  const FakeServer before("template_proxy:" + std::to_string(server.port()));
  auto direct = there(server, task_flags("mw/arc_easy,mw/gsm8k", {"--chat", "server"}), "direct");
  auto changed = direct;
  *(std::ranges::find(changed, server.api())) = before.url();
  *(std::ranges::find(changed, "direct")) = "changed";
  expect_done((*bench_)(direct));
  expect_done((*bench_)(changed));
  const auto run = [&](const char* name) { return (bench_->results() / "loop" / name).string(); };
  const auto compared = (*bench_)({"compare", run("direct"), run("changed"), "--json"});
  ASSERT_EQ(compared.exit_code, 0) << compared.out << compared.err;
  EXPECT_NE(compared.out.find("the servers' chat templates make other prompts"), std::string::npos)
      << compared.out;
  EXPECT_EQ((*bench_)({"gate", run("direct"), run("changed")}).exit_code, 3);
  // The template of the server is nanochat's, too: rendered there as here.
  auto here = there(server, task_flags("mw/arc_easy", {"--method", "letters"}), "letters-here");
  expect_done((*bench_)(here));
  const auto predictions = [&](const char* name) {
    std::vector<std::string> all;
    const auto stored = read_run(bench_->results() / "loop" / name);
    const auto items = read_items(stored->records[0].folder / items_file("mw/arc_easy"));
    for (const ItemRecord& item : *items) all.push_back(item.prediction);
    return all;
  };
  EXPECT_EQ(predictions("direct"), predictions("letters-here"));
}

TEST_F(ClosedLoop, AKillOfEitherSideChangesNothing) {
  const auto tasks = task_flags("mw/facts,mw/cloze");
  expect_done((*bench_)(here(tasks, "kill-here")));
  auto server =
      std::make_unique<ServeProcess>(std::vector<std::string>{"--model", model().string()});
  const std::string port = std::to_string(server->port());
  const auto command = there(*server, tasks, "kill-there");
  for (int ms = 150; ms < 1000; ms += 150)
    (void)(*bench_)(command, std::chrono::milliseconds(ms));  // killed, unless it was done
  server.reset();                                             // kill -9
  auto twice = command;
  twice.insert(twice.end(), {"--tries", "2"});
  const auto alone = (*bench_)(twice);
  EXPECT_TRUE(alone.exit_code == 4 || alone.exit_code == 0) << alone.err;
  const ServeProcess again({"--model", model().string(), "--port", port});
  expect_done((*bench_)(command));
  EXPECT_EQ(results_of("kill-there"), results_of("kill-here"));
}

TEST_F(ClosedLoop, AServerThatIsKilledInTheMiddleAndStartedAgainChangesNothing) {
  const auto tasks = task_flags("mw,mw_chat");
  expect_done((*bench_)(here(tasks, "dead-here")));
  auto server =
      std::make_unique<ServeProcess>(std::vector<std::string>{"--model", model().string()});
  const std::string port = std::to_string(server->port());
  auto command = there(*server, tasks, "dead-there");
  command.insert(command.end(), {"--tries", "1"});
  for (int ms = 300; ms < 1200; ms += 300) {
    auto running = std::async(std::launch::async, [&] { return (*bench_)(command); });
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    server.reset();  // kill -9
    const auto result = running.get();
    EXPECT_TRUE(result.exit_code == 4 || result.exit_code == 0) << result.err;
    server = std::make_unique<ServeProcess>(
        std::vector<std::string>{"--model", model().string(), "--port", port});
  }
  expect_done((*bench_)(command));
  EXPECT_EQ(results_of("dead-there"), results_of("dead-here"));
}

}  // namespace
}  // namespace nb::test
