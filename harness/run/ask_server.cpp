#include "harness/run/ask_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "evals/composites.hpp"
#include "evals/evaluate.hpp"
#include "evals/task_registry.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/progress.hpp"
#include "harness/base/say.hpp"
#include "harness/remote/messages.hpp"
#include "harness/remote/method.hpp"
#include "harness/remote/server.hpp"
#include "harness/run/evaluation_run.hpp"
#include "harness/run/open_model.hpp"
#include "harness/run/open_weights.hpp"

namespace nb {
namespace {

using Methods = std::map<std::string, ScoringMethod>;

struct AskedServer {
  OpenedModel opened;
  std::shared_ptr<const ServedTokenizer> served;  // null: the tokenizer is a file's
  std::shared_ptr<RemoteServer> server;           // owned by opened.parts
  RemoteLanguageModel* model = nullptr;           // opened.model
  std::vector<Task> tasks;
  Methods methods;
};

bool asks_about_world(std::span<const Task> tasks) {
  return std::ranges::any_of(tasks,
                             [](const Task& task) { return task.dataset == kGeneratedWorld; });
}

// The world of the training that --world names.
Result<void> take_world(const ServerChoice& choice, std::span<const Task> tasks,
                        EvalContext& context) {
  if (!asks_about_world(tasks)) {
    if (choice.world.empty()) return {};
    return bad_input("--world: none of the tasks asks about a generated world; leave it out");
  }
  if (choice.world.empty())
    return bad_input(
        "--task mw/…: its questions are about the generated world that the model was "
        "trained on, and a server does not say which one; give the folder of its "
        "training by --world");
  NB_TRY(const auto world, world_of(choice.world), "--world");
  if (!world)
    return bad_input(
        fmt::format("--world {}: this training was not made on a generated world", choice.world));
  context.microworld = *world;
  return {};
}

Result<void> check_all_are_chats(std::span<const Task> tasks) {
  for (const Task& task : tasks)
    if (task.kind != kTextTask && task.kind != kLetterTask)
      return bad_input(fmt::format(
          "--chat server: {} is no chat, its prompts are texts to go on with; evaluate it without",
          task.id));
  return {};
}

// What a tokenizer that is the server's throws, which probes and evaluators know nothing of.
template <class Body>
std::invoke_result_t<Body> with_failures_as_errors(Body body) {
  try {
    return body();
  } catch (const ModelFailure& failure) {
    return run_error(failure.what());
  }
}

Result<AskedServer> open(const EvaluationRequest& request, EvalContext& context) {
  AskedServer asked;
  NB_TRY(asked.tasks, expand_tasks(request.settings, "--task"));
  NB_TRY_VOID(take_world(request.server, asked.tasks, context));
  if (request.model.tokenizer.empty())
    return bad_input(
        "--server: give the served model's tokenizer by --tokenizer FILE (tokenizer.json), or "
        "have texts encoded there by --tokenizer server; prompts are sent as ids");
  const bool is_served = request.model.tokenizer == "server";
  OpenedModel& opened = asked.opened;
  if (!is_served) {
    NB_TRY(opened.tokenizer, load_tokenizer(request.model.tokenizer), "--tokenizer");
  }
  const bool by_chat = request.server.chat == "server";
  if (by_chat) NB_TRY_VOID(check_all_are_chats(asked.tasks));
  NB_TRY_VOID(preflight(context));
  if (is_served) {
    NB_TRY(asked.served, open_served_tokenizer(request.server));
    opened.tokenizer = std::make_unique<Tokenizer>(asked.served, asked.served->facts());
  }
  if (by_chat) *opened.tokenizer = with_chat_tokens(std::move(*opened.tokenizer));
  NB_TRY(asked.server, open_server(request.server, *opened.tokenizer, asked.served.get()));
  RemoteServer& server = *asked.server;
  NB_TRY(asked.methods, methods_of(asked.tasks, server.facts, request.server.method));
  opened.name = opened.label = short_model_name(server.facts.model.id);
  opened.weights = "served as " + opened.name;
  opened.parts = asked.server;
  if (asks_about_world(asked.tasks)) opened.microworld = context.microworld;
  auto model = std::make_unique<RemoteLanguageModel>(server.connection, server.wire, server.facts,
                                                     *opened.tokenizer, asked.served.get());
  asked.model = model.get();
  opened.model = std::move(model);
  return asked;
}

void say_facts(const AskedServer& asked) {
  if (progress_mode() == ProgressMode::kQuiet) return;
  const ServerFacts& facts = asked.server->facts;
  std::map<std::string_view, std::vector<std::string>> tasks_by_method;
  for (const auto& [task, method] : asked.methods) tasks_by_method[name(method)].push_back(task);
  say_on_stderr(fmt::format("{}: {}{}{} serves {}, context {} tokens\n", facts.host, facts.kind,
                            facts.version.empty() ? "" : " ", facts.version, facts.model.id,
                            facts.context_length));
  for (const auto& [method, tasks] : tasks_by_method)
    say_on_stderr(fmt::format("  by {}: {}\n", method, fmt::join(tasks, ", ")));
  for (const std::string& note : facts.notes) say_on_stderr("  " + note + "\n");
}

// `<task>/method` of every task, and `<task>/tools` where a server's answers lose what the
// calculator is called by: results of unequal ones are never compared.
void add_methods(const AskedServer& asked, EvalResult& result) {
  const ScoringMethod method = asked.methods.at(result.task);
  result.comparability[result.task + "/method"] = name(method);
  if (asked.server->facts.by_chat) {
    const ChatTemplate& chat = asked.server->facts.chat;
    result.comparability[result.task + "/template"] =
        !chat.digest.empty() ? chat.digest.substr(0, 16)
        : chat.tokens > 0    ? fmt::format("{} tokens of a fixed conversation", chat.tokens)
                             : "not shown";
  }
  if (method == ScoringMethod::kGeneration && !asked.server->facts.returns_ids)
    result.comparability[result.task + "/tools"] = asked.server->facts.by_chat
                                                       ? "none: in a chat of the server"
                                                       : "none: the server tells no ids";
}

Result<std::vector<EvalResult>> answer(const AskedServer& asked, const EvalContext& context) {
  std::vector<EvalResult> results;
  for (const Task& task : asked.tasks) {
    NB_TRY(const auto evaluator, load_evaluator(task, context));
    asked.model->use(asked.methods.at(task.id));
    NB_TRY(EvalResult result, with_failures_as_errors([&] {
             return evaluate(task, *evaluator, context, *asked.model);
           }));
    results.push_back(std::move(result));
  }
  for (EvalResult& composite : composites(results, context.settings))
    results.push_back(std::move(composite));
  // Behind the composites, whose key holds the maps of their tasks: one of usual methods is that of
  // a model here.
  std::string unusual;
  for (EvalResult& result : results) {
    const auto method = asked.methods.find(result.task);
    if (method == asked.methods.end()) {
      if (!unusual.empty()) result.comparability[result.task + "/method"] = unusual;
      continue;
    }
    add_methods(asked, result);
    if (method->second == ScoringMethod::kGreedy || method->second == ScoringMethod::kLetters)
      unusual +=
          fmt::format("{}{} by {}", unusual.empty() ? "" : ", ", result.task, name(method->second));
  }
  return results;
}

Metric device_metric(const char* name, const char* unit, double value, std::int64_t n) {
  Metric metric;
  metric.name = name;
  metric.value = value;
  metric.unit = unit;
  metric.direction = Direction::kHigher;
  metric.clock = Clock::kDevice;
  metric.n = n;
  return metric;
}

// Of this process, whose clock the server's work was measured on from here.
void describe_server(const AskedServer& asked, const std::string& run, Record& record) {
  const RemoteServer& server = *asked.server;
  Json facts = facts_json(server.facts);
  const ConnectionCounts counts = server.connection.counts();
  const RemoteCounts tokens = asked.model->counts();
  facts["name"] = run;
  facts["tokenizer"] = asked.opened.tokenizer->hash();
  facts["asked"] = {{"requests", counts.requests},
                    {"retries", counts.retries},
                    {"scored_tokens", tokens.scored_tokens},
                    {"generated_tokens", tokens.generated_tokens},
                    {"ties", tokens.ties},
                    {"floors", tokens.floors}};
  if (asked.served != nullptr) facts["asked"]["texts"] = asked.served->texts_asked();
  (*record.environment)["server"] = std::move(facts);
  if (counts.busy_seconds <= 0) return;
  record.host_metrics.push_back(
      device_metric("server/requests_s", "1/s",
                    static_cast<double>(counts.requests) / counts.busy_seconds, counts.requests));
  if (tokens.scored_tokens > 0)
    record.host_metrics.push_back(device_metric(
        "server/scored_tok_s", "tok/s",
        static_cast<double>(tokens.scored_tokens) / counts.busy_seconds, tokens.scored_tokens));
  if (tokens.generated_tokens > 0)
    record.host_metrics.push_back(
        device_metric("server/generated_tok_s", "tok/s",
                      static_cast<double>(tokens.generated_tokens) / counts.busy_seconds,
                      tokens.generated_tokens));
}

}  // namespace

Result<EvaluationOutcome> ask_server(const EvaluationRequest& request, EvalContext context) {
  NB_TRY(AskedServer asked, with_failures_as_errors([&] { return open(request, context); }));
  say_facts(asked);
  const ServerFacts& facts = asked.server->facts;
  AnswerSource source;
  source.name = source.folder = asked.opened.name + "." + task_set(request.settings);
  source.weights = asked.opened.weights;
  source.opened = &asked.opened;
  Json who{{"host", facts.host}, {"model", facts.model.id}, {"context", facts.context_length}};
  if (facts.by_chat) who["chat"] = "server";
  for (const auto& [task, method] : asked.methods) who["methods"][task] = name(method);
  source.server = sha256_json(who);
  source.server_facts = facts_json(facts);
  source.describe = [&](Record& record) { describe_server(asked, request.suite, record); };
  return run_in_folder(request, std::move(context), source,
                       [&](const EvalContext& c) { return answer(asked, c); });
}

Result<std::vector<ShownTask>> server_prompts(const EvaluationRequest& request, EvalContext context,
                                              std::int64_t items) {
  return with_failures_as_errors([&]() -> Result<std::vector<ShownTask>> {
    NB_TRY(const AskedServer asked, open(request, context));
    return show_prompts(context, *asked.opened.tokenizer, asked.model->context_length(), items);
  });
}

}  // namespace nb
