#include "harness/remote/remote_language_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "harness/base/check.hpp"
#include "harness/base/rng.hpp"
#include "harness/remote/messages.hpp"
#include "harness/remote/probes.hpp"
#include "model/engine/sample_state.hpp"

namespace nb {
namespace {

constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();
constexpr float kTaken = 0, kNotTaken = -1;  // of a ranking: only their order means something

// The first trouble of a call is what is said of it.
void keep_first(std::string& trouble, const Error& error) {
  if (trouble.empty()) trouble = error.message;
}

// What a model that thinks aloud says behind it.
std::string_view after_thinking(std::string_view text) {
  constexpr std::string_view kEnd = "</think>";
  const std::size_t end = text.rfind(kEnd);
  if (end == std::string_view::npos) return text;
  text.remove_prefix(end + kEnd.size());
  return text.substr(std::min(text.find_first_not_of("\n"), text.size()));
}

std::vector<int> ids_of(const Generated& generated, const Tokenizer& tokenizer) {
  if (!generated.tokens) return tokenizer.encode(generated.text);
  std::vector<int> ids = *generated.tokens;
  if (generated.stop_token) ids.push_back(*generated.stop_token);
  return ids;
}

// An id that our tokenizer can decode: a server's largest logit may be of a place that pads its
// vocabulary. Then another one than was wanted stands for it.
int decodable(int id, int wanted, const Tokenizer& tokenizer) {
  if (id >= 0 && id < tokenizer.vocab_size()) return id;
  return wanted == 0 ? 1 : 0;
}

template <class T>
std::vector<T> whole(std::vector<std::optional<T>> parts) {
  std::vector<T> all;
  for (auto& part : parts) all.push_back(std::move(*part));
  return all;
}

}  // namespace

RemoteLanguageModel::RemoteLanguageModel(Connection& connection, const Wire& wire,
                                         const ServerFacts& facts, const Tokenizer& tokenizer,
                                         const ServedTokenizer* served)
    : connection_(connection), wire_(wire), facts_(facts), tokenizer_(tokenizer), served_(served) {}

RemoteCall RemoteLanguageModel::ask(std::span<const int> prompt,
                                    const Wire::Generation& generation) const {
  return facts_.by_chat ? wire_.chat(messages_of(prompt, tokenizer_), generation)
                        : wire_.generate(prompt, generation);
}

void RemoteLanguageModel::check_same_model(const std::string& trouble) {
  // A server that is gone cannot be asked; what it said before stays.
  auto same = check_canary(connection_, wire_, facts_, tokenizer_);
  if (same && served_ != nullptr) same = served_->check_same();
  if (!same && trouble.empty()) throw ModelFailure(same.error().message);
}

std::vector<ScoreResult> RemoteLanguageModel::score(std::span<const ScoreRequest> requests) {
  for (const ScoreRequest& request : requests) {
    check_request(request, context_length());
    NB_CHECK(request.top == 0, "[remote] a server is not asked for the most likely tokens");
  }
  if (requests.empty()) return {};
  std::string trouble;
  std::vector<std::optional<ScoreResult>> results;
  switch (method_) {
    case ScoringMethod::kGreedy:
      results = by_greedy(requests, trouble);
      break;
    case ScoringMethod::kLetters:
      results = by_letters(requests, trouble);
      break;
    default:
      results = by_log_probs(requests, trouble);
  }
  check_same_model(trouble);
  if (!trouble.empty()) {
    ModelFailure failure(trouble);
    failure.scores = std::move(results);
    throw failure;
  }
  return whole(std::move(results));
}

std::vector<std::optional<ScoreResult>> RemoteLanguageModel::by_log_probs(
    std::span<const ScoreRequest> requests, std::string& trouble) {
  NB_CHECK(facts_.dialect.has_value(), "[remote] this server scores no prompts");
  std::vector<RemoteCall> calls;
  std::vector<std::size_t> places;
  std::vector<std::optional<ScoreResult>> results(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const ScoreRequest& request = requests[i];
    if (request.start == request.end) {
      results[i].emplace();
      continue;
    }
    // What stands behind the span changes nothing before it.
    calls.push_back(
        wire_.score(*facts_.dialect, std::span(request.tokens).first(request.end), request.start));
    places.push_back(i);
  }
  const auto answers = connection_.call_all(calls);
  for (std::size_t c = 0; c < calls.size(); ++c) {
    const ScoreRequest& request = requests[places[c]];
    const auto tokens = std::span(request.tokens).first(request.end);
    const auto json = connection_.json_of(calls[c], answers[c]);
    if (!json) {
      keep_first(trouble, json.error());
      continue;
    }
    const auto scores = parse_scores(*facts_.dialect, *json, tokens, tokenizer_, request.start);
    if (!scores) {
      keep_first(trouble, {ErrorCode::kRun, fmt::format("{} answers with {}", connection_.name(),
                                                        scores.error().message)});
      continue;
    }
    ScoreResult& result = results[places[c]].emplace();
    counts_.scored_tokens += std::ssize(tokens);
    for (std::size_t at = request.start; at < request.end; ++at) {
      const TokenScore& score = (*scores)[at - 1];
      result.log_probs.push_back(score.log_prob);
      result.argmax.push_back(decodable(argmax_of(score, tokens[at]), tokens[at], tokenizer_));
      counts_.floors += score.is_floor ? 1 : 0;
      counts_.ties += score.log_prob == score.top_log_prob && score.top != tokens[at] ? 1 : 0;
    }
  }
  return results;
}

std::vector<std::optional<ScoreResult>> RemoteLanguageModel::by_greedy(
    std::span<const ScoreRequest> requests, std::string& trouble) {
  std::vector<RemoteCall> calls;
  std::vector<std::optional<ScoreResult>> results(requests.size());
  for (const ScoreRequest& request : requests) {
    Wire::Generation generation;
    generation.max_tokens =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(request.end - request.start));
    calls.push_back(wire_.generate(std::span(request.tokens).first(request.start), generation));
  }
  const auto answers = connection_.call_all(calls);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const ScoreRequest& request = requests[i];
    const auto json = connection_.json_of(calls[i], answers[i]);
    if (!json) {
      keep_first(trouble, json.error());
      continue;
    }
    const auto generated = parse_generated(*json);
    if (!generated) {
      keep_first(trouble, {ErrorCode::kRun, fmt::format("{} answers with {}", connection_.name(),
                                                        generated.error().message)});
      continue;
    }
    const std::vector<int> said = ids_of(*generated, tokenizer_);
    counts_.generated_tokens += std::ssize(said);
    ScoreResult& result = results[i].emplace();
    result.is_ranking = true;
    for (std::size_t k = 0; k < request.end - request.start; ++k) {
      // Where it ended before, no token is the likeliest.
      const int wanted = request.tokens[request.start + k];
      const int token = decodable(k < said.size() ? said[k] : -1, wanted, tokenizer_);
      result.argmax.push_back(token);
      result.log_probs.push_back(token == wanted ? kTaken : kNotTaken);
    }
  }
  return results;
}

// Requests of one item: the same prompt, each with another letter behind it.
struct RemoteLanguageModel::Letters {
  std::size_t first = 0, count = 0;
};

std::vector<std::optional<ScoreResult>> RemoteLanguageModel::by_letters(
    std::span<const ScoreRequest> requests, std::string& trouble) {
  const auto prompt_of = [&](std::size_t i) {
    return std::span(requests[i].tokens).first(requests[i].start);
  };
  std::vector<Letters> items;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    NB_CHECK(requests[i].end == requests[i].start + 1, "[remote] a letter of {} tokens",
             requests[i].end - requests[i].start);
    // A letter that was there already begins the next item, even one with the same prompt.
    const auto is_of = [&](const Letters& item) {
      if (!std::ranges::equal(prompt_of(item.first), prompt_of(i))) return false;
      for (std::size_t k = item.first; k < item.first + item.count; ++k)
        if (requests[k].tokens[requests[k].start] == requests[i].tokens[requests[i].start])
          return false;
      return true;
    };
    if (items.empty() || !is_of(items.back())) items.push_back({i, 0});
    ++items.back().count;
  }
  const auto letter = [&](std::size_t i) { return requests[i].tokens[requests[i].start]; };
  std::vector<RemoteCall> calls;
  for (const Letters& item : items) {
    Wire::Generation generation;
    std::vector<int> letters;
    for (std::size_t k = 0; k < item.count; ++k) letters.push_back(letter(item.first + k));
    if (facts_.letters == LetterWay::kAllowedTokens) generation.allowed_tokens = letters;
    if (facts_.letters == LetterWay::kLogitBias) generation.biased_tokens = letters;
    if (facts_.letters == LetterWay::kTopLogProbs) generation.top = facts_.most_top;
    calls.push_back(ask(prompt_of(item.first), generation));
  }
  const auto answers = connection_.call_all(calls);
  std::vector<std::optional<ScoreResult>> results(requests.size());
  for (std::size_t c = 0; c < calls.size(); ++c) {
    const Letters& item = items[c];
    const auto json = connection_.json_of(calls[c], answers[c]);
    const auto generated =
        json ? parse_generated(*json) : Result<Generated>(tl::unexpected<Error>(json.error()));
    if (!generated) {
      keep_first(trouble, generated.error());
      continue;
    }
    counts_.generated_tokens += 1;
    std::vector<float> values(item.count, kNoNumber);
    if (facts_.letters == LetterWay::kTopLogProbs) {
      float lowest = 0;
      std::size_t found = 0;
      for (const auto& [text, log_prob] : generated->first_top) {
        lowest = std::min(lowest, log_prob);
        for (std::size_t k = 0; k < item.count; ++k) {
          const int id = letter(item.first + k);
          if (text != fmt::format("token_id:{}", id) &&
              text != tokenizer_.decode(std::span(&id, 1)))
            continue;
          values[k] = log_prob;
          ++found;
        }
      }
      // The others are less likely than all that were told.
      for (float& value : values)
        if (std::isnan(value) && found >= 2) value = lowest - 1;
      if (found < 2) std::ranges::fill(values, kNoNumber);
    } else if (const std::vector<int> said = ids_of(*generated, tokenizer_); !said.empty()) {
      for (std::size_t k = 0; k < item.count; ++k)
        if (letter(item.first + k) == said.front()) {
          std::ranges::fill(values, kNotTaken);
          values[k] = kTaken;
        }
    }
    for (std::size_t k = 0; k < item.count; ++k)
      results[item.first + k] = ScoreResult{{values[k]}, {letter(item.first + k)}, true};
  }
  return results;
}

// One sample that grows: some tokens of the server, then what the rules force, then more.
struct RemoteLanguageModel::Sample {
  const GenerateRequest& request;
  int number;
  std::unique_ptr<SampleState> state;
  bool failed = false;
  std::uint64_t rounds = 0;
};

void RemoteLanguageModel::ask_round(std::vector<Sample*>& open, std::string& trouble) {
  std::vector<RemoteCall> calls;
  for (Sample* sample : open) {
    const GenerateRequest& request = sample->request;
    const GeneratedSample& grown = sample->state->sample();
    std::vector<int> prompt = request.prompt;
    prompt.insert(prompt.end(), grown.tokens.begin(), grown.tokens.end());
    Wire::Generation generation;
    generation.max_tokens = std::min(request.max_tokens - std::ssize(grown.tokens),
                                     context_length() - std::ssize(prompt));
    generation.temperature = request.temperature;
    generation.top_k = request.top_k;
    // Behind a tool's answer the draws must not begin again.
    generation.seed =
        request.seed + static_cast<std::uint64_t>(sample->number) + (sample->rounds++ << 20);
    generation.stop_tokens = request.stop_tokens;
    if (generation.stop_tokens.empty()) {
      for (const int token : {tokenizer_.special("<|assistant_end|>"), tokenizer_.bos()})
        if (token >= 0) generation.stop_tokens.push_back(token);
    }
    // A server that does not say which id ended an answer is left to overrun the call of the tool.
    const int python_end = tokenizer_.special("<|python_end|>");
    if (request.tools && python_end >= 0 && facts_.names_stops)
      generation.stop_tokens.push_back(python_end);
    calls.push_back(ask(prompt, generation));
  }
  const auto answers = connection_.call_all(calls);
  std::vector<Sample*> still_open;
  for (std::size_t i = 0; i < open.size(); ++i) {
    Sample& sample = *open[i];
    const auto json = connection_.json_of(calls[i], answers[i]);
    const auto generated =
        json ? parse_generated(*json) : Result<Generated>(tl::unexpected<Error>(json.error()));
    if (!generated) {
      keep_first(trouble, generated.error());
      sample.failed = true;
      continue;
    }
    const std::vector<int> said = facts_.by_chat
                                      ? tokenizer_.encode(after_thinking(generated->text))
                                      : ids_of(*generated, tokenizer_);
    if (std::ranges::any_of(said, [&](int id) { return id >= tokenizer_.vocab_size(); })) {
      keep_first(trouble, {ErrorCode::kRun,
                           fmt::format("{} generates token {}, beyond the {} of the tokenizer",
                                       connection_.name(), *std::ranges::max_element(said),
                                       tokenizer_.vocab_size())});
      sample.failed = true;
      continue;
    }
    counts_.generated_tokens += std::ssize(said);
    SampleState& state = *sample.state;
    const int python_end = tokenizer_.special("<|python_end|>");
    const std::vector<int> ends = ids_that_end(sample.request, tokenizer_);
    bool ended_by_tool = false;
    for (std::size_t k = 0; k < said.size() && !state.ended(); ++k) {
      const int token = said[k];
      // An end of the server's own (</s>, <|im_end|>), among the ids.
      if (generated->finish_reason == "stop" && k + 1 == said.size() &&
          tokenizer_.is_special(token) && token != python_end &&
          std::ranges::find(ends, token) == ends.end())
        break;
      // What the server went on with behind a call of the tool is of no use.
      if (state.accept({token}) > 1 || (sample.request.tools && token == python_end)) {
        ended_by_tool = true;
        break;
      }
    }
    // A limit of the server's own below what was asked for ends nothing.
    const bool is_cut = generated->finish_reason == "length" && !said.empty() && !facts_.by_chat;
    const bool is_full =
        std::ssize(sample.request.prompt) + std::ssize(state.sample().tokens) >= context_length();
    // The token that ended it may or may not be among the ids.
    if (!state.ended() && is_full) state.end(StopReason::kContext);
    if (!state.ended() && !ended_by_tool && !is_cut) state.end(StopReason::kStopToken);
    if (!state.ended()) still_open.push_back(&sample);
  }
  open = std::move(still_open);
}

std::vector<GenerateResult> RemoteLanguageModel::generate(
    std::span<const GenerateRequest> requests) {
  std::vector<std::vector<Sample>> samples(requests.size());
  std::vector<Sample*> open;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    check_request(requests[i], context_length());
    NB_CHECK(requests[i].sampling.is_off() && !requests[i].log_probs && requests[i].top == 0,
             "[remote] a server is asked for temperature and top_k alone, without log_probs");
    for (int s = 0; s < requests[i].num_samples; ++s)
      samples[i].push_back(
          {requests[i], s, std::make_unique<SampleState>(requests[i], tokenizer_, s)});
  }
  for (auto& of_request : samples)
    for (Sample& sample : of_request)
      if (!sample.state->ended()) open.push_back(&sample);
  std::string trouble;
  while (!open.empty() && trouble.empty()) ask_round(open, trouble);
  for (Sample* sample : open) sample->failed = true;
  check_same_model(trouble);
  std::vector<std::optional<GenerateResult>> results(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (std::ranges::any_of(samples[i], &Sample::failed)) continue;
    GenerateResult& result = results[i].emplace();
    for (Sample& sample : samples[i]) result.samples.push_back(sample.state->take());
  }
  if (!trouble.empty()) {
    ModelFailure failure(trouble);
    failure.generated = std::move(results);
    throw failure;
  }
  return whole(std::move(results));
}

}  // namespace nb
