#include "model/engine/chat_session.hpp"

#include <fmt/format.h>

#include <utility>

#include "harness/base/check.hpp"
#include "model/engine/text_stream.hpp"
#include "model/tokenizer/chat_tokens.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {

bool has_chat_tokens(const Tokenizer& tokenizer) { return chat_tokens(tokenizer).has_value(); }

ChatSession::ChatSession(LanguageModel& model, const ChatSettings& settings)
    : model_(model), settings_(settings) {
  NB_CHECK(settings.completes || has_chat_tokens(model.tokenizer()),
           "[chat] a tokenizer without chat tokens");
  clear();
}

void ChatSession::clear() { conversation_ = {model_.tokenizer().bos()}; }

std::vector<int> ChatSession::prompt_for(std::string_view text) const {
  const Tokenizer& tokenizer = model_.tokenizer();
  std::vector<int> prompt = conversation_;
  if (settings_.completes) {
    tokenizer.encode_append(text, prompt);
    return prompt;
  }
  prompt.push_back(tokenizer.special("<|user_start|>"));
  tokenizer.encode_append(text, prompt);
  prompt.push_back(tokenizer.special("<|user_end|>"));
  prompt.push_back(tokenizer.special("<|assistant_start|>"));
  return prompt;
}

Result<ChatReply> ChatSession::say(std::string_view text,
                                   const std::function<void(std::string_view)>& on_text) {
  if (text.empty()) return bad_input("an empty message: there is nothing to answer");
  GenerateRequest request;
  request.prompt = prompt_for(text);
  if (std::ssize(request.prompt) > model_.context_length())
    return bad_input(fmt::format("the conversation has {} tokens, the model holds {}",
                                 request.prompt.size(), model_.context_length()));
  request.max_tokens = settings_.max_tokens;
  request.temperature = settings_.temperature;
  request.top_k = settings_.top_k;
  request.seed = settings_.seed;
  request.tools = !settings_.completes;
  TextStream stream(model_.tokenizer());
  const auto show = [&](const std::string& piece) {
    if (on_text && !piece.empty()) on_text(piece);
  };
  if (on_text) {
    request.on_token = [&](const NewToken& token) {
      show(stream.push(token.token));
      return AfterToken::kContinue;
    };
  }

  std::vector<GenerateResult> results = model_.generate({&request, 1});
  show(stream.finish());
  GeneratedSample& sample = results.at(0).samples.at(0);
  if (sample.stop == StopReason::kNotFiniteLogits)
    return run_error("the model's logits are not finite: it has nothing to say");
  ChatReply reply;
  reply.text = model_.tokenizer().decode(sample.tokens);
  reply.tokens = std::move(sample.tokens);
  reply.prompt_tokens = std::ssize(request.prompt);
  reply.stop = sample.stop;
  if (!settings_.completes) {
    conversation_ = std::move(request.prompt);
    conversation_.insert(conversation_.end(), reply.tokens.begin(), reply.tokens.end());
    conversation_.push_back(model_.tokenizer().special("<|assistant_end|>"));
  }
  return reply;
}

}  // namespace nb
