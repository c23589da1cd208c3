// A model of ours behind the protocol, as small as a test allows: what harness/remote asks,
// answered by the model that `eval --model` would open, so that both ways can be compared bit by
// bit.
//
//   nb_loopback_server MODEL PORT_FILE [PORT [DELAY_MS]]
//
// HTTP threads queue what they are asked; one thread takes all that waits into one call of the
// model. Ends when its stdin is closed.
#include <httplib.h>

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "harness/base/fs.hpp"
#include "harness/run/open_model.hpp"

namespace nb::test {
namespace {

template <class Request, class Answer>
struct Waiting {
  Request request;
  std::promise<Answer> answer;
};

class Engine {
 public:
  explicit Engine(LanguageModel& model) : model_(model), thread_([this] { run(); }) {}

  ScoreResult score(ScoreRequest request) { return ask(scores_, std::move(request)); }
  GenerateResult generate(GenerateRequest request) { return ask(texts_, std::move(request)); }

 private:
  template <class Request, class Answer>
  Answer ask(std::vector<Waiting<Request, Answer>>& queue, Request request) {
    std::future<Answer> answer;
    {
      const std::scoped_lock lock(mutex_);
      queue.push_back({std::move(request), {}});
      answer = queue.back().answer.get_future();
    }
    has_work_.notify_one();
    return answer.get();
  }
  template <class Request, class Answer, class Call>
  static void answer_all(std::vector<Waiting<Request, Answer>> queue, Call call) {
    if (queue.empty()) return;
    std::vector<Request> requests;
    for (auto& waiting : queue) requests.push_back(waiting.request);
    std::vector<Answer> answers = call(requests);
    for (std::size_t i = 0; i < queue.size(); ++i) queue[i].answer.set_value(std::move(answers[i]));
  }
  [[noreturn]] void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      has_work_.wait(lock, [&] { return !scores_.empty() || !texts_.empty(); });
      auto scores = std::exchange(scores_, {});
      auto texts = std::exchange(texts_, {});
      lock.unlock();
      answer_all(std::move(scores), [&](const auto& requests) { return model_.score(requests); });
      answer_all(std::move(texts), [&](const auto& requests) { return model_.generate(requests); });
    }
  }

  LanguageModel& model_;
  std::mutex mutex_;
  std::condition_variable has_work_;
  std::vector<Waiting<ScoreRequest, ScoreResult>> scores_;
  std::vector<Waiting<GenerateRequest, GenerateResult>> texts_;
  std::thread thread_;
};

// The score that only has to stand above the token's own: this model tells the likeliest token but
// not how likely it is.
float just_above(float value) { return std::nextafter(value, 1.0F); }

Json scores_of(Engine& engine, const std::vector<int>& prompt, std::size_t start) {
  ScoreRequest request;
  request.tokens = prompt;
  request.start = start;
  request.end = prompt.size();
  const ScoreResult result = engine.score(std::move(request));
  Json list = Json::array();
  for (std::size_t i = 0; i < start; ++i) list.push_back(nullptr);
  for (std::size_t k = 0; k < result.log_probs.size(); ++k) {
    const int own = prompt[start + k], top = result.argmax[k];
    Json entry{{std::to_string(own), {{"logprob", result.log_probs[k]}}}};
    if (top != own) entry[std::to_string(top)] = {{"logprob", just_above(result.log_probs[k])}};
    list.push_back(std::move(entry));
  }
  return list;
}

Json complete(Engine& engine, const Json& body) {
  const auto prompt = body.at("prompt").get<std::vector<int>>();
  Json choice{
      {"index", 0}, {"text", ""}, {"finish_reason", "length"}, {"token_ids", Json::array()}};
  if (body.contains("prompt_logprobs")) {
    choice["prompt_logprobs"] =
        scores_of(engine, prompt, body.value("logprob_start_len", std::size_t{1}));
  } else {
    GenerateRequest request;
    request.prompt = prompt;
    request.max_tokens = body.at("max_tokens");
    request.temperature = body.at("temperature");
    request.tools = false;
    request.seed = body.value("seed", std::uint64_t{0});
    request.stop_tokens = body.value("stop_token_ids", std::vector<int>{});
    const GeneratedSample sample = engine.generate(std::move(request)).samples.at(0);
    choice["token_ids"] = sample.tokens;
    if (sample.stop == StopReason::kStopToken) choice["finish_reason"] = "stop";
  }
  return {{"id", "cmpl"},
          {"object", "text_completion"},
          {"choices", {choice}},
          {"usage", {{"prompt_tokens", prompt.size()}}}};
}

void answer(httplib::Response& response, const Json& json) {
  response.set_content(json.dump(), "application/json");
}

int serve(int argc, char** argv) {
  ModelChoice choice;
  choice.model = argv[1];
  const auto opened = open_model(choice);
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.error().message.c_str());
    return 1;
  }
  const Tokenizer& tokenizer = *opened->tokenizer;
  const int delay_ms = argc > 4 ? std::atoi(argv[4]) : 0;
  Engine engine(*opened->model);
  httplib::Server server;
  server.new_task_queue = [] { return new httplib::ThreadPool(40); };
  server.set_tcp_nodelay(true);
  server.set_keep_alive_max_count(1 << 30);
  server.Get("/v1/models", [&](const httplib::Request&, httplib::Response& response) {
    answer(response, {{"data",
                       {{{"id", "ours"},
                         {"owned_by", "npubench"},
                         {"max_model_len", opened->model->context_length()}}}}});
  });
  server.Post("/tokenize", [&](const httplib::Request& request, httplib::Response& response) {
    const Json body = Json::parse(request.body);
    answer(response, {{"tokens", tokenizer.encode(body.at("prompt").get<std::string>())}});
  });
  server.Post("/v1/completions", [&](const httplib::Request& request, httplib::Response& response) {
    if (delay_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    answer(response, complete(engine, Json::parse(request.body)));
  });
  const int wanted = argc > 3 ? std::atoi(argv[3]) : 0;
  const int port = wanted > 0 ? (server.bind_to_port("127.0.0.1", wanted) ? wanted : -1)
                              : server.bind_to_any_port("127.0.0.1");
  if (port <= 0 || !write_file(argv[2], std::to_string(port))) return 1;
  std::thread listening([&] { server.listen_after_bind(); });
  while (std::getchar() != EOF) continue;
  std::_Exit(0);
}

}  // namespace
}  // namespace nb::test

int main(int argc, char** argv) { return argc < 3 ? 64 : nb::test::serve(argc, argv); }
