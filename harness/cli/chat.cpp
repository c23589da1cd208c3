#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "evals/models/built_in_models.hpp"
#include "harness/base/say.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/verb.hpp"
#include "harness/run/open_model.hpp"
#include "model/engine/chat_session.hpp"
#include "model/tokenizer/utf8.hpp"

namespace nb::cli {
namespace {

struct ChatOptions {
  ModelChoice model;
  ChatSettings chat;
  std::string prompt;
  bool has_prompt = false;
  int top_k = 50;
  bool json = false;
};

void show(std::string_view text) {
  say_on_stdout(text);
  std::fflush(stdout);
}

// A model that never learnt to chat goes on from the text, and says so.
std::string why_it_completes(const ChatOptions& options, const OpenedModel& opened) {
  if (options.chat.completes) return "--complete was given";
  if (!has_chat_tokens(*opened.tokenizer)) return "its tokenizer has no chat tokens";
  if (opened.label.starts_with("train-base-")) return "it is a base model";
  return "";
}

Json reply_json(const ChatReply& reply, const ChatOptions& options, const OpenedModel& opened) {
  return {{"model", opened.label},
          {"device", opened.device},
          {"mode", options.chat.completes ? "complete" : "chat"},
          {"prompt", options.prompt},
          {"prompt_tokens", reply.prompt_tokens},
          {"reply", reply.text},
          {"reply_tokens", reply.tokens},
          {"stop", name(reply.stop)}};
}

Result<void> check_text(const std::string& text) {
  const std::size_t valid = utf8_valid_prefix(text);
  if (valid == text.size()) return {};
  return bad_input(fmt::format("byte {} of the message (0x{:02x}) is not UTF-8", valid + 1,
                               static_cast<unsigned char>(text[valid])));
}

int answer_once(ChatSession& session, const ChatOptions& options, const OpenedModel& opened) {
  if (const auto checked = check_text(options.prompt); !checked)
    return fail({ErrorCode::kBadInput, "--prompt: " + checked.error().message});
  const auto reply = options.json ? session.say(options.prompt) : session.say(options.prompt, show);
  if (!reply) return fail({reply.error().code, "--prompt: " + reply.error().message});
  if (options.json) return print_json(reply_json(*reply, options, opened));
  show("\n");
  return kExitOk;
}

// Lines of stdin, one message each, until it ends.
int converse(ChatSession& session, const ChatOptions& options) {
  const bool is_terminal = ::isatty(STDIN_FILENO) != 0;
  if (is_terminal)
    say_on_stderr(
        fmt::format("{} \"quit\" ends the session{}.\n",
                    options.chat.completes ? "Each line is continued." : "Each line is a message.",
                    options.chat.completes ? "" : ", \"clear\" starts a new conversation"));
  while (true) {
    if (is_terminal) say_on_stderr("> ");
    std::string line;
    if (!std::getline(std::cin, line)) {
      if (std::ferror(stdin) == 0) return kExitOk;
      return fail({ErrorCode::kRun, "cannot read stdin"});
    }
    if (line == "quit" || line == "exit") return kExitOk;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    if (line == "clear") {
      session.clear();
      continue;
    }
    const auto say = [&]() -> Result<void> {
      NB_TRY_VOID(check_text(line));
      NB_TRY_VOID(session.say(line, show));
      return {};
    };
    if (const auto reply = say(); !reply) {
      if (!is_terminal) return fail(reply.error());
      static_cast<void>(fail(reply.error()));
      continue;
    }
    show("\n");
  }
}

int chat(ChatOptions options) {
  std::signal(SIGINT, SIG_DFL);  // nothing to tidy, nothing to go on with
  if (options.json && !options.has_prompt)
    return fail({ErrorCode::kBadInput, "--json needs --prompt (npubench chat --help)"});
  if (find_built_in_model(options.model.model) != nullptr)
    return fail(
        {ErrorCode::kBadInput,
         fmt::format("--model {}: it only answers evaluation items; chat needs a trained model",
                     options.model.model)});
  if (options.top_k == 0)
    options.chat.top_k.reset();
  else
    options.chat.top_k = options.top_k;
  const auto opened = open_model(options.model);
  if (!opened) return fail(opened.error());
  const std::string why = why_it_completes(options, *opened);
  options.chat.completes = !why.empty();
  if (options.chat.completes && !options.json)
    say_on_stderr(fmt::format("{} continues your text: {}.\n", opened->label, why));
  ChatSession session(*opened->model, options.chat);
  return options.has_prompt ? answer_once(session, options, *opened) : converse(session, options);
}

}  // namespace

Action add_chat(CLI::App& app) {
  auto options = std::make_shared<ChatOptions>();
  app.add_option("--model", options->model.model, "a training's folder, or a checkpoint")
      ->required();
  CLI::Option* prompt = app.add_option("--prompt", options->prompt,
                                       "one message; without it, each line of stdin is a message");
  app.add_flag("--complete", options->chat.completes,
               "continue the text, without turns and chat tokens");
  app.add_option("--temperature", options->chat.temperature, "0: the most likely token")
      ->capture_default_str()
      ->check(within(0, 100));
  app.add_option("--top-k", options->top_k, "sample from this many most likely tokens; 0: from all")
      ->capture_default_str()
      ->check(whole(0, kMaxTopK));
  app.add_option("--max-tokens", options->chat.max_tokens, "of an answer")
      ->capture_default_str()
      ->check(whole(1, 1 << 30));
  app.add_option("--seed", options->chat.seed,
                 "seed of sampling: the same seed gives the same answer")
      ->capture_default_str()
      ->check(whole_seed());
  app.add_option("--device", options->model.device,
                 "profile to run on (default: the one that trained the model)");
  app.add_option("--tokenizer", options->model.tokenizer,
                 "tokenizer file (default: the run's, or the one beside the checkpoint)");
  add_compute_options(app);
  app.add_flag("--json", options->json, "with --prompt: JSON on stdout");
  app.footer(
      "The answer is streamed to stdout, everything else goes to stderr.\n"
      "Exit codes: 0 done, 4 the host failed, 64 bad usage or input.");
  return [options, prompt] {
    options->has_prompt = prompt->count() > 0;
    return chat(*options);
  };
}

}  // namespace nb::cli
