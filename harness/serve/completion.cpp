#include "harness/serve/completion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "harness/serve/answer_text.hpp"
#include "harness/serve/completion_work.hpp"
#include "harness/serve/log_probs_json.hpp"
#include "model/tokenizer/utf8.hpp"

namespace nb {
namespace {

constexpr const char* kEnds = "the server ends";

// The answer in OpenAI's words, whole or piece by piece.
class CompletionAnswer {
 public:
  CompletionAnswer(CompletionRequest request, const Served& served, const HttpPeer& peer,
                   std::string id)
      : work_(std::move(request), served, peer),
        request_(work_.request()),
        served_(served),
        id_(std::move(id)),
        tokenizer_(served.model->tokenizer()),
        writer_(request_, tokenizer_) {
    work_.ask();
  }

  Result<Json> whole() {
    Json choices = Json::array();
    for (std::size_t p = 0; p < work_.size(); ++p) {
      NB_TRY_VOID(work_.wait_scores(p));
      NB_TRY_VOID(work_.wait_samples(p));
      for (int s = 0; s < request_.n; ++s) choices.push_back(choice(p, s));
    }
    Json answer = envelope(request_.is_chat ? "chat.completion" : "text_completion");
    answer["choices"] = std::move(choices);
    answer["usage"] = usage();
    return answer;
  }

  void stream(HttpStream& out) {
    for (std::size_t p = 0; p < work_.size(); ++p) {
      if (const auto scored = work_.wait_scores(p); !scored)
        return write_error(out, scored.error());
      for (int s = 0; s < request_.n; ++s)
        if (!write_first(out, p, s)) return;
    }
    for (std::size_t open = request_.max_tokens > 0 ? work_.size() : 0; open > 0;) {
      if (work_.gets_token_by_score()) break;
      const AnswerChannel::Event event = work_.next();
      if (event.sample >= 0) {
        if (!write_piece(out, event)) return;
        continue;
      }
      --open;
      if (const auto done = work_.wait_samples(event.prompt); !done)
        return write_error(out, done.error());
      for (int s = 0; s < request_.n; ++s)
        if (!write_last(out, event.prompt, s)) return;
    }
    if (request_.max_tokens == 0 || work_.gets_token_by_score())
      for (std::size_t p = 0; p < work_.size(); ++p) {
        if (const auto done = work_.wait_samples(p); !done) return write_error(out, done.error());
        for (int s = 0; s < request_.n; ++s)
          if (!write_last(out, p, s)) return;
      }
    if (request_.includes_usage) {
      Json chunk = chunk_envelope();
      chunk["choices"] = Json::array();
      chunk["usage"] = usage();
      if (!write_event(out, chunk)) return;
    }
    out.write("data: [DONE]\n\n");
  }

  bool streams() const { return request_.streams; }
  const std::vector<std::string>& ignored() const { return request_.ignored; }

 private:
  static ScoredToken scored_token(const GeneratedSample& sample, std::size_t i) {
    ScoredToken scored{sample.tokens[i], std::nullopt, {}};
    if (i < sample.log_probs.size()) scored.log_prob = sample.log_probs[i];
    if (i < sample.top.size()) scored.top = sample.top[i];
    return scored;
  }

  std::string echoed(std::size_t p) const {
    if (!request_.echo) return "";
    const auto& [tokens, hidden] = request_.prompts[p];
    return text_of(std::span(tokens).subspan(hidden), tokenizer_, request_.skips_specials);
  }

  Json choice(std::size_t p, int s) const {
    const CompletionWork::Prompt& prompt = work_.prompt(p);
    const CompletionWork::Sample& sample = work_.sample(p, s);
    const std::string text = echoed(p) + sample.shown;
    Json choice{{"index", index(p, s)}, {"logprobs", nullptr}};
    if (request_.is_chat)
      choice["message"] = {{"role", "assistant"}, {"content", text}};
    else
      choice["text"] = text;
    if (request_.logprobs) {
      std::vector<ScoredToken> tokens;
      if (request_.echo) tokens = prompt.scored;
      for (std::size_t i = 0; i < sample.result.tokens.size(); ++i)
        tokens.push_back(scored_token(sample.result, i));
      choice["logprobs"] = writer_.of(tokens, 0);
    }
    if (request_.prompt_logprobs)
      choice["prompt_logprobs"] = prompt_log_probs(
          request_.prompts[p].tokens.size() - request_.prompts[p].hidden - prompt.scored.size(),
          prompt.scored, *request_.prompt_logprobs);
    add_end(choice, sample);
    if (request_.returns_ids) {
      choice["token_ids"] = sample.result.tokens;
      choice["prompt_token_ids"] = shown_prompt(p);
    }
    return choice;
  }

  std::vector<int> shown_prompt(std::size_t p) const {
    const auto& [tokens, hidden] = request_.prompts[p];
    return {tokens.begin() + static_cast<std::ptrdiff_t>(hidden), tokens.end()};
  }

  std::size_t index(std::size_t p, int s) const {
    return p * static_cast<std::size_t>(request_.n) + static_cast<std::size_t>(s);
  }

  void add_end(Json& choice, const CompletionWork::Sample& sample) const {
    const GeneratedSample& result = sample.result;
    choice["stop_reason"] = nullptr;
    choice["finish_reason"] = "length";
    if (const auto hit = sample.text->hit()) {
      choice["finish_reason"] = "stop";
      choice["stop_reason"] = request_.stop[*hit];
    } else if (result.stop == StopReason::kStopToken) {
      choice["finish_reason"] = "stop";
      const auto& ids = request_.stop_token_ids;
      if (std::ranges::find(ids, result.stop_token) != ids.end())
        choice["stop_reason"] = result.stop_token;
    }
  }

  Json envelope(const char* object) const {
    return {{"id", id_},
            {"object", object},
            {"created", static_cast<std::int64_t>(std::time(nullptr))},
            {"model", served_.id}};
  }
  Json chunk_envelope() const {
    return envelope(request_.is_chat ? "chat.completion.chunk" : "text_completion");
  }

  Json usage() const {
    std::int64_t prompt_tokens = 0;
    SimulatedTime sum;
    for (std::size_t p = 0; p < work_.size(); ++p) {
      prompt_tokens += std::ssize(request_.prompts[p].tokens);
      sum.prefill_ns += work_.prompt(p).simulated.prefill_ns;
      sum.decode_ns += work_.prompt(p).simulated.decode_ns;
      sum.batch = std::max(sum.batch, work_.prompt(p).simulated.batch);
    }
    Json ours{{"seed", request_.sampling.seed}, {"batch", sum.batch}};
    if (!served_.device.empty()) {
      ours["device"] = served_.device;
      ours["simulated_prefill_ms"] = static_cast<double>(sum.prefill_ns) / 1e6;
      ours["simulated_decode_ms"] = static_cast<double>(sum.decode_ns) / 1e6;
    }
    return {{"prompt_tokens", prompt_tokens},
            {"completion_tokens", work_.completion_tokens()},
            {"total_tokens", prompt_tokens + work_.completion_tokens()},
            {"npubench", std::move(ours)}};
  }

  static bool write_event(HttpStream& out, const Json& json) {
    return out.write("data: " + json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n\n");
  }
  void write_error(HttpStream& out, const Error& error) const {
    write_event(out, error_json(server_error(error)));
  }

  Json chunk(std::size_t p, int s, const std::string& text, Json log_probs) const {
    Json choice{
        {"index", index(p, s)}, {"logprobs", std::move(log_probs)}, {"finish_reason", nullptr}};
    if (request_.is_chat)
      choice["delta"] = text.empty() ? Json::object() : Json{{"content", text}};
    else
      choice["text"] = text;
    Json json = chunk_envelope();
    json["choices"] = Json::array({std::move(choice)});
    return json;
  }

  // What stands before the first token: a role, or the echo.
  bool write_first(HttpStream& out, std::size_t p, int s) const {
    if (request_.is_chat) {
      Json first = chunk(p, s, "", nullptr);
      first["choices"][0]["delta"] = {{"role", "assistant"}, {"content", ""}};
      return write_event(out, first);
    }
    if (!request_.echo) return true;
    Json log_probs;
    if (request_.logprobs) log_probs = writer_.of(work_.prompt(p).scored, 0);
    return write_event(out, chunk(p, s, echoed(p), std::move(log_probs)));
  }

  bool write_piece(HttpStream& out, const AnswerChannel::Event& event) {
    std::size_t& offset = offsets_[index(event.prompt, event.sample)];
    Json log_probs;
    if (request_.logprobs)
      log_probs =
          writer_.of({&event.token, 1}, offset + utf8_code_points(echoed_once(event.prompt)));
    offset += utf8_code_points(event.text);
    streamed_[index(event.prompt, event.sample)] += event.text.size();
    Json json = chunk(event.prompt, event.sample, event.text, std::move(log_probs));
    if (request_.returns_ids) json["choices"][0]["token_ids"] = {event.token.token};
    return write_event(out, json);
  }
  const std::string& echoed_once(std::size_t p) {
    const auto [found, is_new] = echoes_.emplace(p, "");
    if (is_new) found->second = echoed(p);
    return found->second;
  }

  // What was held back, and why it ended.
  bool write_last(HttpStream& out, std::size_t p, int s) {
    const CompletionWork::Sample& sample = work_.sample(p, s);
    Json log_probs;
    if (request_.logprobs && work_.gets_token_by_score()) {
      std::vector<ScoredToken> tokens;
      for (std::size_t i = 0; i < sample.result.tokens.size(); ++i)
        tokens.push_back(scored_token(sample.result, i));
      log_probs = writer_.of(tokens, utf8_code_points(echoed_once(p)));
    }
    Json last = chunk(p, s, sample.shown.substr(streamed_[index(p, s)]), std::move(log_probs));
    add_end(last["choices"][0], sample);
    return write_event(out, last);
  }

  CompletionWork work_;
  const CompletionRequest& request_;
  const Served& served_;
  std::string id_;
  const Tokenizer& tokenizer_;
  LogProbWriter writer_;
  std::map<std::size_t, std::size_t> offsets_, streamed_;  // by index: code points, bytes
  std::map<std::size_t, std::string> echoes_;
};

void name_ignored(HttpResponse& response, const std::vector<std::string>& ignored) {
  if (!ignored.empty())
    response.headers.emplace_back("x-npubench-ignored", fmt::format("{}", fmt::join(ignored, ",")));
}

}  // namespace

HttpResponse json_response(const Json& json, int status) {
  HttpResponse response;
  response.status = status;
  response.body = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return response;
}

HttpResponse error_response(const ApiError& error) {
  return json_response(error_json(error), error.status);
}

ApiError server_error(const Error& error) {
  ApiError out;
  out.status = error.message == kEnds ? 503 : 500;
  out.type = out.status == 503 ? "service_unavailable" : "server_error";
  out.message = error.message;
  return out;
}

HttpResponse complete(CompletionRequest request, const Served& served, const HttpPeer& peer,
                      const std::string& id) {
  auto completion = std::make_shared<CompletionAnswer>(std::move(request), served, peer, id);
  if (completion->streams()) {
    HttpResponse response;
    response.content_type = "text/event-stream";
    response.headers = {{"Cache-Control", "no-cache"}};
    response.stream = [completion](HttpStream& out) { completion->stream(out); };
    name_ignored(response, completion->ignored());
    return response;
  }
  const auto answer = completion->whole();
  if (!answer) return error_response(server_error(answer.error()));
  HttpResponse response = json_response(*answer);
  name_ignored(response, completion->ignored());
  return response;
}

}  // namespace nb
