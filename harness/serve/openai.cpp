#include "harness/serve/openai.hpp"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/serve/answer_text.hpp"
#include "harness/serve/body.hpp"
#include "harness/serve/completion_request.hpp"
#include "harness/serve/service.hpp"

namespace nb {
namespace {

using Parse = tl::expected<CompletionRequest, ApiError> (*)(std::string_view, const ServedLimits&);

// The model is named in the body, and says how the body is read. Those that are served beside each
// other have one tokenizer.
HttpResponse answer(Service& service, const HttpRequest& request, const HttpPeer& peer, Parse parse,
                    std::string_view prefix) {
  auto parsed = parse(request.body, service.limits_of(service.models().front()));
  if (!parsed) return error_response(parsed.error());
  const auto served = service.find(parsed->model);
  if (!served) return error_response(served.error());
  return complete(std::move(*parsed), **served, peer, service.next_id(prefix));
}

std::string special_name(const Tokenizer& tokenizer, int id) {
  return id < 0 ? "" : tokenizer.decode(std::span(&id, 1));
}

// "a%40b" -> "a@b"; what is no escape stays.
std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '%' && text.size() - i > 2 &&
        std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

Json model_json(const Served& served) {
  return {{"id", served.id},
          {"object", "model"},
          {"created", served.created},
          {"owned_by", "npubench"},
          {"max_model_len", served.model->context_length()},
          {"device", or_null(served.device)},
          {"numerics", served.numerics}};
}

}  // namespace

HttpResponse serve_models(Service& service, const HttpRequest&, const HttpPeer&) {
  Json list = Json::array();
  for (const Served& served : service.models()) list.push_back(model_json(served));
  return json_response({{"object", "list"}, {"data", std::move(list)}});
}

HttpResponse serve_model(Service& service, const HttpRequest& request, const HttpPeer&) {
  const auto served = service.find(percent_decoded(request.path.substr(kModelPath.size())));
  return served ? json_response(model_json(**served)) : error_response(served.error());
}

HttpResponse serve_completions(Service& service, const HttpRequest& request, const HttpPeer& peer) {
  return answer(service, request, peer, parse_completion, "cmpl");
}

HttpResponse serve_chat_completions(Service& service, const HttpRequest& request,
                                    const HttpPeer& peer) {
  return answer(service, request, peer, parse_chat_completion, "chatcmpl");
}

HttpResponse serve_tokenize(Service& service, const HttpRequest& request, const HttpPeer&) {
  auto body = Body::parse(request.body);
  if (!body) return error_response(body.error());
  const auto served = service.find(body->text("model").value_or(""));
  if (!served) return error_response(served.error());
  const ServedLimits limits = service.limits_of(**served);
  const bool adds_bos = body->flag("add_special_tokens", true);
  const bool wants_texts = body->flag("return_token_strs", false);
  std::vector<int> tokens;
  if (const auto prompt = body->text("prompt")) {
    tokens = limits.tokenizer->encode(*prompt);
    if (adds_bos && limits.bos != BosRule::kNever && limits.tokenizer->bos() >= 0)
      tokens.insert(tokens.begin(), limits.tokenizer->bos());
  } else if (body->find("messages") != nullptr && !body->error()) {
    const auto messages = read_messages(*body);
    if (!body->error()) {
      auto rendered = render_chat(messages, *limits.tokenizer);
      if (!rendered) return error_response(rendered.error());
      tokens = std::move(*rendered);
    }
  } else {
    body->refuse(wrong("prompt", "missing"));
  }
  if (body->error()) return error_response(*body->error());
  Json answer{
      {"tokens", tokens}, {"count", tokens.size()}, {"max_model_len", limits.context_length}};
  if (wants_texts) {
    Json texts = Json::array();
    for (const int token : tokens) texts.push_back(token_text(token, *limits.tokenizer));
    answer["token_strs"] = std::move(texts);
  }
  return json_response(answer);
}

HttpResponse serve_detokenize(Service& service, const HttpRequest& request, const HttpPeer&) {
  auto body = Body::parse(request.body);
  if (!body) return error_response(body.error());
  const auto served = service.find(body->text("model").value_or(""));
  if (!served) return error_response(served.error());
  const Tokenizer& tokenizer = (*served)->model->tokenizer();
  if (body->find("tokens") == nullptr) body->refuse(wrong("tokens", "missing"));
  const std::vector<int> tokens = body->ids("tokens", tokenizer.vocab_size());
  if (body->error()) return error_response(*body->error());
  return json_response({{"prompt", tokenizer.decode(tokens)}});
}

HttpResponse serve_tokenizer_info(Service& service, const HttpRequest&, const HttpPeer&) {
  const Served& served = service.models().front();
  const Tokenizer& tokenizer = served.model->tokenizer();
  // Documents are divided by <|bos|>: it is what stands before a text and what ends one. A chat's
  // specials are no text: a template would be read as words.
  Json specials = Json::object();
  for (const SpecialToken& special : tokenizer.vocabulary().specials)
    specials[special.name] = special.id;
  const Json bos = or_null(special_name(tokenizer, tokenizer.bos()));
  return json_response({{"tokenizer_class", "npubench"},
                        {"bos_token", bos},
                        {"eos_token", bos},
                        {"pad_token", bos},
                        {"unk_token", nullptr},
                        {"chat_template", nullptr},
                        {"vocab_size", tokenizer.vocab_size()},
                        {"special_tokens", std::move(specials)},
                        {"model_max_length", served.model->context_length()},
                        {"hash", tokenizer.hash()}});
}

HttpResponse serve_version(Service& service, const HttpRequest&, const HttpPeer&) {
  return json_response({{"version", service.options().version}});
}

HttpResponse serve_metrics(Service& service, const HttpRequest&, const HttpPeer&) {
  const auto& models = service.models();
  std::string text;
  struct Metric {
    const char* name;
    const char* type;
    const char* help;
    double (*value)(const Engine::Stats&);
  };
  constexpr Metric kMetrics[] = {
      {"requests_total", "counter", "Requests that reached the engine",
       [](const Engine::Stats& s) { return static_cast<double>(s.requests); }},
      {"requests_waiting", "gauge", "Requests that wait for the engine",
       [](const Engine::Stats& s) { return static_cast<double>(s.waiting); }},
      {"requests_running", "gauge", "Requests in the call under way",
       [](const Engine::Stats& s) { return static_cast<double>(s.running); }},
      {"requests_cancelled_total", "counter", "Requests whose client hung up",
       [](const Engine::Stats& s) { return static_cast<double>(s.cancelled); }},
      {"requests_failed_total", "counter", "Requests that the model failed at",
       [](const Engine::Stats& s) { return static_cast<double>(s.failed); }},
      {"model_calls_total", "counter", "Calls of the model",
       [](const Engine::Stats& s) { return static_cast<double>(s.calls); }},
      {"prompt_tokens_total", "counter", "Tokens of prompts",
       [](const Engine::Stats& s) { return static_cast<double>(s.prompt_tokens); }},
      {"scored_tokens_total", "counter", "Tokens whose log-probability was asked for",
       [](const Engine::Stats& s) { return static_cast<double>(s.scored_tokens); }},
      {"generated_tokens_total", "counter", "Tokens of answers",
       [](const Engine::Stats& s) { return static_cast<double>(s.generated_tokens); }},
      {"simulated_seconds_total", "counter", "Time of the emulated device",
       [](const Engine::Stats& s) { return static_cast<double>(s.simulated_ns) / 1e9; }},
  };
  std::vector<Engine::Stats> stats;
  for (const Served& served : models) stats.push_back(served.engine->stats());
  for (const Metric& metric : kMetrics) {
    text += fmt::format("# HELP npubench_{} {}\n# TYPE npubench_{} {}\n", metric.name, metric.help,
                        metric.name, metric.type);
    for (std::size_t i = 0; i < models.size(); ++i) {
      std::string id;  // Prometheus' escapes
      for (const char c : models[i].id)
        id += c == '\n'               ? std::string("\\n")
              : c == '"' || c == '\\' ? std::string{'\\', c}
                                      : std::string{c};
      text +=
          fmt::format("npubench_{}{{model=\"{}\"}} {}\n", metric.name, id, metric.value(stats[i]));
    }
  }
  const HttpServer::Counts counts = service.connections();
  text += fmt::format(
      "# HELP npubench_connections Open connections\n# TYPE npubench_connections gauge\n"
      "npubench_connections {}\n"
      "# HELP npubench_turned_away_total Connections that found no place\n"
      "# TYPE npubench_turned_away_total counter\nnpubench_turned_away_total {}\n",
      counts.connections, counts.turned_away);
  HttpResponse response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = std::move(text);
  return response;
}

}  // namespace nb
