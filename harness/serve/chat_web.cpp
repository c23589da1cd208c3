#include "harness/serve/chat_web.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "harness/serve/answer_text.hpp"
#include "harness/serve/completion_request.hpp"
#include "harness/serve/page.hpp"
#include "harness/serve/service.hpp"
#include "model/engine/chat_session.hpp"
#include "model/tokenizer/utf8.hpp"

namespace nb {
namespace {

// scripts/chat_web.py @ da32e1d^.
constexpr std::size_t kMostMessages = 500;
constexpr std::size_t kLongestMessage = 8000, kLongestConversation = 32000;  // code points
constexpr std::int64_t kHighestTopK = 200, kMostTokens = 4096;
constexpr double kTemperature = 0.8;
constexpr int kTopK = 50;
constexpr std::int64_t kTokens = 512;

HttpResponse detail(const std::string& why, int status = 400) {
  return json_response({{"detail", why}}, status);
}

std::optional<std::string> trouble_with(std::span<const ChatMessage> messages) {
  if (messages.size() > kMostMessages)
    return fmt::format("Too many messages. Maximum {} messages allowed per request", kMostMessages);
  std::size_t sum = 0;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::size_t length = utf8_code_points(messages[i].content);
    if (length == 0) return fmt::format("Message {} has empty content", i);
    if (length > kLongestMessage)
      return fmt::format("Message {} is too long. Maximum {} characters allowed per message", i,
                         kLongestMessage);
    sum += length;
    if (messages[i].role != "user" && messages[i].role != "assistant")
      return fmt::format("Message {} has an invalid role. Must be 'user' or 'assistant'", i);
  }
  if (sum > kLongestConversation)
    return fmt::format("Total conversation is too long. Maximum {} characters allowed",
                       kLongestConversation);
  return std::nullopt;
}

// Texts on their way from the engine's thread; none: the end.
struct Texts {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::optional<std::string>> waiting;

  void put(std::optional<std::string> text) {
    {
      const std::scoped_lock lock(mutex);
      waiting.push_back(std::move(text));
    }
    changed.notify_one();
  }
  std::optional<std::string> take() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return !waiting.empty(); });
    std::optional<std::string> text = std::move(waiting.front());
    waiting.pop_front();
    return text;
  }
};

struct Answer {
  std::shared_ptr<Texts> texts = std::make_shared<Texts>();
  std::shared_ptr<AnswerText> text;
  std::unique_ptr<PendingSamples> pending;
};

bool write_event(HttpStream& out, const Json& json) {
  return out.write("data: " + json.dump() + "\n\n");
}

void stream_answer(HttpStream& out, Answer& answer, std::size_t place, const Served& served) {
  while (const auto text = answer.texts->take())
    if (!write_event(out, {{"token", *text}, {"gpu", place}})) return;
  const auto result = answer.pending->wait();
  if (!result) {
    write_event(out, {{"error", result.error().message}, {"done", true}});
    return;
  }
  if (const std::string rest = answer.text->finish(); !rest.empty())
    if (!write_event(out, {{"token", rest}, {"gpu", place}})) return;
  const GeneratedSample& sample = result->samples.at(0);
  Json last{{"done", true}, {"tokens", sample.tokens.size()}};
  if (sample.stop == StopReason::kNotFiniteLogits)
    last["error"] = "the model's logits are not finite: it has nothing to say";
  if (!served.device.empty()) {
    const SimulatedTime time = answer.pending->simulated();
    last["device"] = served.device;
    last["simulated_prefill_ms"] = static_cast<double>(time.prefill_ns) / 1e6;
    last["simulated_decode_ms"] = static_cast<double>(time.decode_ns) / 1e6;
    last["batch"] = time.batch;
  }
  write_event(out, last);
}

}  // namespace

HttpResponse serve_page(Service&, const HttpRequest&, const HttpPeer&) {
  HttpResponse response;
  response.content_type = "text/html; charset=utf-8";
  response.headers = {{"Content-Security-Policy", std::string(page_policy())},
                      {"Referrer-Policy", "no-referrer"},
                      {"X-Frame-Options", "DENY"},
                      {"Cache-Control", "no-cache"}};
  response.body = page_html();
  return response;
}

HttpResponse serve_logo(Service&, const HttpRequest&, const HttpPeer&) {
  HttpResponse response;
  response.content_type = "image/svg+xml";
  response.body = logo_svg();
  return response;
}

HttpResponse serve_health(Service& service, const HttpRequest&, const HttpPeer&) {
  std::size_t idle = 0;
  for (const Served& served : service.models()) idle += served.engine->stats().running == 0 ? 1 : 0;
  return json_response({{"status", "ok"},
                        {"ready", true},
                        {"num_gpus", service.models().size()},
                        {"available_workers", idle}});
}

HttpResponse serve_stats(Service& service, const HttpRequest&, const HttpPeer&) {
  Json workers = Json::array(), ours = Json::array();
  std::size_t busy = 0;
  for (std::size_t i = 0; i < service.models().size(); ++i) {
    const Served& served = service.models()[i];
    const Engine::Stats stats = served.engine->stats();
    busy += stats.running > 0 ? 1 : 0;
    workers.push_back({{"gpu_id", i}, {"device", served.device}});
    ours.push_back({{"model", served.id},
                    {"device", served.device},
                    {"chats", has_chat_tokens(served.model->tokenizer())},
                    {"context", served.model->context_length()},
                    {"waiting", stats.waiting},
                    {"running", stats.running},
                    {"requests", stats.requests},
                    {"cancelled", stats.cancelled},
                    {"failed", stats.failed},
                    {"calls", stats.calls},
                    {"largest_call", stats.largest},
                    {"prompt_tokens", stats.prompt_tokens},
                    {"scored_tokens", stats.scored_tokens},
                    {"generated_tokens", stats.generated_tokens},
                    {"simulated_ms", static_cast<double>(stats.simulated_ns) / 1e6}});
  }
  const HttpServer::Counts counts = service.connections();
  return json_response(
      {{"total_workers", workers.size()},
       {"available_workers", workers.size() - busy},
       {"busy_workers", busy},
       {"workers", std::move(workers)},
       {"npubench",
        {{"models", std::move(ours)},
         {"connections", {{"open", counts.connections}, {"turned_away", counts.turned_away}}}}}});
}

HttpResponse serve_chat_web(Service& service, const HttpRequest& request, const HttpPeer& peer) {
  auto body = Body::parse(request.body);
  if (!body) return detail(body.error().message);
  const std::vector<ChatMessage> messages = read_messages(*body);
  if (!body->error())
    if (const auto trouble = trouble_with(messages)) return detail(*trouble);
  GenerateRequest wish;
  wish.temperature = body->number("temperature", 0, 2).value_or(kTemperature);
  const auto top_k = body->whole("top_k", 0, kHighestTopK).value_or(kTopK);
  if (top_k > 0) wish.top_k = static_cast<int>(top_k);
  wish.max_tokens = body->whole("max_tokens", 1, kMostTokens).value_or(kTokens);
  wish.seed = static_cast<std::uint64_t>(body->whole("seed", 0).value_or(42));
  // Ours: which of two devices answers.
  const auto place =
      static_cast<std::size_t>(body->whole("gpu", 0, std::ssize(service.models()) - 1).value_or(0));
  if (body->error()) return detail(body->error()->message);
  const Served& served = service.models()[place];
  auto prompt = render_chat(messages, served.model->tokenizer());
  if (!prompt) return detail(prompt.error().message);
  const std::int64_t context = served.model->context_length();
  if (std::ssize(*prompt) > context)
    return detail(
        fmt::format("This model's maximum context length is {} tokens, the conversation has {}: "
                    "start a new one",
                    context, prompt->size()));
  wish.prompt = std::move(*prompt);

  auto answer = std::make_shared<Answer>();
  answer->text = std::make_shared<AnswerText>(served.model->tokenizer(), std::vector<std::string>(),
                                              false, true);
  wish.on_token = [texts = answer->texts, text = answer->text](const NewToken& token) {
    if (std::string piece = text->push(token.token); !piece.empty()) texts->put(std::move(piece));
    return AfterToken::kContinue;
  };
  answer->pending = served.engine->generate(
      std::move(wish), [&peer] { return !peer.is_gone(); },
      [texts = answer->texts] { texts->put(std::nullopt); });
  HttpResponse response;
  response.content_type = "text/event-stream";
  response.headers = {{"Cache-Control", "no-cache"}};
  response.stream = [answer, place, &served](HttpStream& out) {
    stream_answer(out, *answer, place, served);
  };
  return response;
}

}  // namespace nb
