#include "harness/serve/completion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <ctime>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <span>
#include <utility>

#include "harness/serve/answer_text.hpp"
#include "model/tokenizer/utf8.hpp"

namespace nb {
namespace {

constexpr const char* kEnds = "the server ends";

// A token of a prompt or an answer with what is known of it.
struct ScoredToken {
  int token = 0;
  std::optional<float> log_prob = {};
  std::vector<TokenLogProb> top = {};
};

Json number(std::optional<float> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return static_cast<double>(*value);
}

// Which words for what there is: OpenAI's two forms of log-probabilities.
class LogProbWriter {
 public:
  LogProbWriter(const CompletionRequest& request, const Tokenizer& tokenizer)
      : request_(request), tokenizer_(tokenizer) {}

  // {"tokens", "token_logprobs", "top_logprobs", "text_offset"}. Offsets count code points of the
  // whole text, of which `offset` stand before these.
  Json of_completion(std::span<const ScoredToken> tokens, std::size_t offset) const {
    Json names = Json::array(), own = Json::array(), top = Json::array(), offsets = Json::array();
    TextStream stream(tokenizer_);
    for (const ScoredToken& token : tokens) {
      names.push_back(name(token.token));
      own.push_back(number(token.log_prob));
      top.push_back(token.log_prob ? dictionary(token) : Json());
      offsets.push_back(offset);
      if (!request_.skips_specials || !tokenizer_.is_special(token.token))
        offset += utf8_code_points(stream.push(token.token));
    }
    return {{"tokens", std::move(names)},
            {"token_logprobs", std::move(own)},
            {"top_logprobs", std::move(top)},
            {"text_offset", std::move(offsets)}};
  }

  // {"content": [{"token", "logprob", "bytes", "top_logprobs"}]}
  Json of_chat(std::span<const ScoredToken> tokens) const {
    Json content = Json::array();
    for (const ScoredToken& token : tokens) {
      Json entry = entry_of({token.token, token.log_prob.value_or(0)});
      Json top = Json::array();
      for (const TokenLogProb& likely : likeliest(token)) top.push_back(entry_of(likely));
      entry["top_logprobs"] = std::move(top);
      content.push_back(std::move(entry));
    }
    return {{"content", std::move(content)}};
  }

  Json of(std::span<const ScoredToken> tokens, std::size_t offset) const {
    return request_.is_chat ? of_chat(tokens) : of_completion(tokens, offset);
  }

 private:
  std::string name(int token) const {
    return request_.tokens_as_ids ? token_id_text(token) : token_text(token, tokenizer_);
  }
  std::span<const TokenLogProb> likeliest(const ScoredToken& token) const {
    return std::span(token.top).first(
        std::min(token.top.size(), static_cast<std::size_t>(*request_.logprobs)));
  }
  // The likeliest, and the token itself where it is none of them. Two of one text: the second by
  // its id, so that none is lost.
  Json dictionary(const ScoredToken& token) const {
    Json entries = Json::object();
    const auto put = [&](int id, float log_prob) {
      std::string key = name(id);
      if (entries.contains(key)) key = token_id_text(id);
      entries[key] = number(log_prob);
    };
    bool has_own = false;
    for (const auto& [id, log_prob] : likeliest(token)) {
      put(id, log_prob);
      has_own = has_own || id == token.token;
    }
    if (!has_own) put(token.token, *token.log_prob);
    return entries;
  }
  Json entry_of(const TokenLogProb& token) const {
    Json bytes = Json::array();
    if (token.token >= 0 && token.token < tokenizer_.vocab_size())
      for (const char byte : tokenizer_.decode_bytes(std::span(&token.token, 1)))
        bytes.push_back(static_cast<unsigned char>(byte));
    return {{"token", name(token.token)},
            {"logprob", number(token.log_prob)},
            {"bytes", std::move(bytes)}};
  }

  const CompletionRequest& request_;
  const Tokenizer& tokenizer_;
};

// vLLM's form: null, then {"42": {"logprob": -1.5, "rank": 3}, ...} for each token of the prompt.
// unscored: tokens before these, each a null.
Json prompt_log_probs(std::size_t unscored, std::span<const ScoredToken> tokens, int k) {
  Json::array_t list(unscored);
  list.reserve(unscored + tokens.size());
  for (const ScoredToken& token : tokens) {
    if (!token.log_prob) {
      list.emplace_back(nullptr);
      continue;
    }
    Json entry = Json::object();
    int rank = 0;
    for (const auto& [id, log_prob] : token.top) {
      if (++rank > k) break;
      entry[std::to_string(id)] = {{"logprob", number(log_prob)}, {"rank", rank}};
    }
    if (const std::string own = std::to_string(token.token); !entry.contains(own))
      entry[own] = {{"logprob", number(token.log_prob)}};
    list.push_back(std::move(entry));
  }
  return list;
}

// Pieces of streamed answers on their way from the engine's thread to the connection's.
class Channel {
 public:
  struct Event {
    std::size_t prompt = 0;
    int sample = -1;  // -1: all samples of the prompt are done
    std::string text = {};
    ScoredToken token = {};
  };
  void put(Event event) {
    {
      const std::scoped_lock lock(mutex_);
      events_.push_back(std::move(event));
    }
    changed_.notify_one();
  }
  Event take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !events_.empty(); });
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Event> events_;
};

class Completion {
 public:
  Completion(CompletionRequest request, const Served& served, const HttpPeer& peer, std::string id)
      : request_(std::move(request)),
        served_(served),
        peer_(peer),
        id_(std::move(id)),
        tokenizer_(served.model->tokenizer()),
        writer_(request_, tokenizer_),
        prompts_(request_.prompts.size()) {
    if (!request_.has_seed && request_.max_tokens > 0 && request_.sampling.temperature > 0) {
      std::random_device device;
      request_.sampling.seed = device() & 0x7fffffffU;  // any client's integers hold it
    }
  }

  // Everything is asked before anything is waited for.
  void ask() {
    for (std::size_t p = 0; p < prompts_.size(); ++p) {
      if (request_.scores_prompt()) ask_scores(p);
      if (request_.max_tokens > 0 && !gets_token_by_score()) ask_samples(p);
    }
  }

  Result<Json> whole() {
    Json choices = Json::array();
    for (std::size_t p = 0; p < prompts_.size(); ++p) {
      NB_TRY_VOID(wait_scores(p));
      NB_TRY_VOID(wait_samples(p));
      for (int s = 0; s < request_.n; ++s) choices.push_back(choice(p, s));
    }
    Json answer = envelope(request_.is_chat ? "chat.completion" : "text_completion");
    answer["choices"] = std::move(choices);
    answer["usage"] = usage();
    return answer;
  }

  void stream(HttpStream& out) {
    for (std::size_t p = 0; p < prompts_.size(); ++p) {
      if (const auto scored = wait_scores(p); !scored) return write_error(out, scored.error());
      for (int s = 0; s < request_.n; ++s)
        if (!write_first(out, p, s)) return;
    }
    for (std::size_t open = request_.max_tokens > 0 ? prompts_.size() : 0; open > 0;) {
      if (gets_token_by_score()) break;
      const Channel::Event event = channel_->take();
      if (event.sample >= 0) {
        if (!write_piece(out, event)) return;
        continue;
      }
      --open;
      if (const auto done = wait_samples(event.prompt); !done)
        return write_error(out, done.error());
      for (int s = 0; s < request_.n; ++s)
        if (!write_last(out, event.prompt, s)) return;
    }
    if (request_.max_tokens == 0 || gets_token_by_score())
      for (std::size_t p = 0; p < prompts_.size(); ++p) {
        if (const auto done = wait_samples(p); !done) return write_error(out, done.error());
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
  struct Sample {
    std::unique_ptr<AnswerText> text;
    std::string shown;
    std::size_t told = 0;  // tokens that a stream has told of
    GeneratedSample result;
  };
  struct Prompt {
    std::unique_ptr<PendingScore> scores;
    std::unique_ptr<PendingSamples> pending;
    std::vector<ScoredToken> scored;                    // the last ones of the prompt
    std::shared_ptr<std::vector<Sample>> samples = {};  // the engine's thread writes until it ends
    SimulatedTime simulated;
  };

  Engine::IsWanted is_wanted() const {
    return [&peer = peer_] { return !peer.is_gone(); };
  }

  // One greedy token behind a scored prompt is the likeliest one there: one row more to score
  // instead of the prompt once more.
  bool gets_token_by_score() const {
    const GenerateRequest& sampling = request_.sampling;
    SamplingOptions rest = sampling.sampling;  // of these a greedy answer does not depend on
    rest.top_p = 1;
    rest.min_p = 0;
    rest.ties = TopKTies::kLowestId;
    return request_.scores_prompt() && request_.max_tokens == 1 && sampling.temperature == 0 &&
           rest.is_off();
  }

  void ask_scores(std::size_t p) {
    ScoreRequest wish;
    wish.tokens = request_.prompts[p].tokens;
    const std::size_t size = wish.tokens.size();
    wish.start = std::clamp<std::size_t>(request_.first_scored, 1, size);
    wish.end = size;
    wish.top = std::max(request_.prompt_logprobs.value_or(0), request_.logprobs.value_or(0));
    if (gets_token_by_score()) {
      wish.tokens.push_back(0);  // any: only what stands before it counts
      ++wish.end;
      wish.top = std::max(wish.top, 1);
    }
    prompts_[p].scores = served_.engine->score(std::move(wish), is_wanted());
  }

  void ask_samples(std::size_t p) {
    GenerateRequest wish = request_.sampling;
    wish.prompt = request_.prompts[p].tokens;
    wish.num_samples = request_.n;
    wish.max_tokens = request_.max_tokens;
    wish.log_probs = request_.logprobs.has_value();
    wish.top = request_.logprobs.value_or(0);
    auto samples = std::make_shared<std::vector<Sample>>(static_cast<std::size_t>(request_.n));
    for (Sample& sample : *samples) sample.text = new_text();
    prompts_[p].samples = samples;
    const bool tells = request_.streams;
    wish.on_token = [samples, p, tells, keeps = wish.log_probs,
                     channel = channel_](const NewToken& token) {
      Sample& sample = (*samples)[static_cast<std::size_t>(token.sample)];
      std::string text = sample.text->push(token.token);
      sample.shown += text;
      const bool stops = sample.text->is_stopped();
      if (tells && (keeps || !text.empty())) {
        ScoredToken scored{token.token, std::nullopt, {}};
        if (keeps) scored = {token.token, token.log_prob, {token.top.begin(), token.top.end()}};
        channel->put({p, token.sample, std::move(text), std::move(scored)});
      }
      return stops ? AfterToken::kStop : AfterToken::kContinue;
    };
    std::function<void()> on_done;
    if (tells) on_done = [p, channel = channel_] { channel->put({p, -1}); };
    prompts_[p].pending =
        served_.engine->generate(std::move(wish), is_wanted(), std::move(on_done));
  }

  std::unique_ptr<AnswerText> new_text() const {
    return std::make_unique<AnswerText>(tokenizer_, request_.stop, request_.includes_stop,
                                        request_.skips_specials);
  }

  Result<void> wait_scores(std::size_t p) {
    Prompt& prompt = prompts_[p];
    if (!prompt.scores) return {};
    NB_TRY(ScoreResult result, prompt.scores->wait());
    prompt.simulated = prompt.scores->simulated();
    const auto& [tokens, hidden] = request_.prompts[p];
    const std::size_t first = std::clamp<std::size_t>(request_.first_scored, 1, tokens.size());
    // An echo tells of every token.
    for (std::size_t i = request_.echo ? hidden : std::max(first, hidden); i < tokens.size(); ++i) {
      ScoredToken scored{tokens[i], std::nullopt, {}};
      if (i >= first) {
        scored.log_prob = result.log_probs[i - first];
        if (!result.top.empty()) scored.top = std::move(result.top[i - first]);
      }
      prompt.scored.push_back(std::move(scored));
    }
    // No likely one is of the tokenizer's: the model's vocabulary is padded.
    if (gets_token_by_score() && !take_token(p, result)) ask_samples(p);
    return {};
  }

  // The answer of one token, out of the scores behind the prompt; false: it is not among them.
  bool take_token(std::size_t p, const ScoreResult& result) {
    GeneratedSample answer;
    answer.stop = StopReason::kMaxTokens;
    std::vector<TokenLogProb> top;
    if (!result.top.empty()) top = result.top.back();
    const bool is_dry = top.empty();  // a device that does not compute: token 0
    std::erase_if(top, [&](const auto& one) { return one.token >= tokenizer_.vocab_size(); });
    if (top.empty() && !is_dry) return false;
    const TokenLogProb likeliest = is_dry ? TokenLogProb{} : top.front();
    const auto& stops = request_.sampling.stop_tokens;
    if (std::ranges::find(stops, likeliest.token) != stops.end()) {
      answer.stop = StopReason::kStopToken;
      answer.stop_token = likeliest.token;
    } else {
      answer.tokens = {likeliest.token};
      answer.mask = {1};
      if (request_.logprobs) {
        answer.log_probs = {likeliest.log_prob};
        answer.top = {top};
      }
    }
    auto samples = std::make_shared<std::vector<Sample>>(static_cast<std::size_t>(request_.n));
    for (Sample& sample : *samples) {
      sample.text = new_text();
      sample.result = answer;
      for (const int token : answer.tokens) sample.shown += sample.text->push(token);
    }
    prompts_[p].samples = std::move(samples);
    return true;
  }

  Result<void> wait_samples(std::size_t p) {
    Prompt& prompt = prompts_[p];
    if (prompt.pending) {
      NB_TRY(GenerateResult result, prompt.pending->wait());
      const SimulatedTime simulated = prompt.pending->simulated();
      prompt.simulated.prefill_ns += simulated.prefill_ns;
      prompt.simulated.decode_ns += simulated.decode_ns;
      prompt.simulated.batch = simulated.batch;
      for (std::size_t s = 0; s < result.samples.size(); ++s)
        (*prompt.samples)[s].result = std::move(result.samples[s]);
      prompt.pending.reset();
    } else if (!prompt.samples) {  // nothing but the prompt was wished
      prompt.samples = std::make_shared<std::vector<Sample>>(static_cast<std::size_t>(request_.n));
      for (Sample& sample : *prompt.samples) sample.text = new_text();
    }
    for (Sample& sample : *prompt.samples) {
      if (sample.result.stop == StopReason::kNotFiniteLogits)
        return run_error("the model's logits are not finite: it has nothing to say");
      sample.shown += sample.text->finish();
      completion_tokens_ += std::ssize(sample.result.tokens);
    }
    return {};
  }

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
    const Prompt& prompt = prompts_[p];
    const Sample& sample = (*prompt.samples)[static_cast<std::size_t>(s)];
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

  void add_end(Json& choice, const Sample& sample) const {
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
    for (std::size_t p = 0; p < prompts_.size(); ++p) {
      prompt_tokens += std::ssize(request_.prompts[p].tokens);
      sum.prefill_ns += prompts_[p].simulated.prefill_ns;
      sum.decode_ns += prompts_[p].simulated.decode_ns;
      sum.batch = std::max(sum.batch, prompts_[p].simulated.batch);
    }
    Json ours{{"seed", request_.sampling.seed}, {"batch", sum.batch}};
    if (!served_.device.empty()) {
      ours["device"] = served_.device;
      ours["simulated_prefill_ms"] = static_cast<double>(sum.prefill_ns) / 1e6;
      ours["simulated_decode_ms"] = static_cast<double>(sum.decode_ns) / 1e6;
    }
    return {{"prompt_tokens", prompt_tokens},
            {"completion_tokens", completion_tokens_},
            {"total_tokens", prompt_tokens + completion_tokens_},
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
    if (request_.logprobs) log_probs = writer_.of(prompts_[p].scored, 0);
    return write_event(out, chunk(p, s, echoed(p), std::move(log_probs)));
  }

  bool write_piece(HttpStream& out, const Channel::Event& event) {
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
    const Sample& sample = (*prompts_[p].samples)[static_cast<std::size_t>(s)];
    Json log_probs;
    if (request_.logprobs && gets_token_by_score()) {
      std::vector<ScoredToken> tokens;
      for (std::size_t i = 0; i < sample.result.tokens.size(); ++i)
        tokens.push_back(scored_token(sample.result, i));
      log_probs = writer_.of(tokens, utf8_code_points(echoed_once(p)));
    }
    Json last = chunk(p, s, sample.shown.substr(streamed_[index(p, s)]), std::move(log_probs));
    add_end(last["choices"][0], sample);
    return write_event(out, last);
  }

  CompletionRequest request_;
  const Served& served_;
  const HttpPeer& peer_;
  std::string id_;
  const Tokenizer& tokenizer_;
  LogProbWriter writer_;
  std::vector<Prompt> prompts_;
  std::shared_ptr<Channel> channel_ = std::make_shared<Channel>();
  std::map<std::size_t, std::size_t> offsets_, streamed_;  // by index: code points, bytes
  std::map<std::size_t, std::string> echoes_;
  std::int64_t completion_tokens_ = 0;
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
  auto completion = std::make_shared<Completion>(std::move(request), served, peer, id);
  completion->ask();
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
