#include "model/data/tasks/conversation.hpp"

#include <fmt/core.h>

#include <span>

#include "model/tokenizer/chat_tokens.hpp"

namespace nb {
namespace {

bool is_one_text(const Message& message) {
  return message.parts.size() == 1 && message.parts.front().kind == PartKind::kText;
}

class Renderer {
 public:
  Renderer(const Tokenizer& tokenizer, const ChatTokens& tokens)
      : tokenizer_(tokenizer), tokens_(tokens) {}

  RenderedConversation all(std::span<const Message> messages) {
    push(tokens_.bos, 0);
    std::string system;
    if (messages.front().role == Role::kSystem) {
      system = messages.front().parts.front().text + "\n\n";
      messages = messages.subspan(1);
    }
    for (const Message& message : messages) {
      if (message.role == Role::kUser) {
        push(tokens_.user_start, 0);
        text(system + message.parts.front().text, 0);
        push(tokens_.user_end, 0);
        system.clear();
      } else {
        assistant(message);
      }
    }
    return std::move(rendered_);
  }

 private:
  void assistant(const Message& message) {
    push(tokens_.assistant_start, 0);
    for (const MessagePart& part : message.parts) switch (part.kind) {
        case PartKind::kText:
          text(part.text, 1);
          break;
        case PartKind::kPython:
          push(tokens_.python_start, 1);
          text(part.text, 1);
          push(tokens_.python_end, 1);
          break;
        case PartKind::kPythonOutput:
          push(tokens_.output_start, 0);
          text(part.text, 0);
          push(tokens_.output_end, 0);
          break;
      }
    push(tokens_.assistant_end, 1);
  }

  void push(int id, std::uint8_t mask) {
    rendered_.ids.push_back(id);
    rendered_.mask.push_back(mask);
  }
  void text(std::string_view bytes, std::uint8_t mask) {
    tokenizer_.encode_append(bytes, rendered_.ids);
    rendered_.mask.resize(rendered_.ids.size(), mask);
  }

  const Tokenizer& tokenizer_;
  const ChatTokens& tokens_;
  RenderedConversation rendered_;
};

// messages: well formed, perhaps without a last answer.
Result<RenderedConversation> render(const Tokenizer& tokenizer, std::span<const Message> messages,
                                    std::size_t max_tokens) {
  NB_TRY(const ChatTokens tokens, chat_tokens(tokenizer));
  RenderedConversation rendered = Renderer(tokenizer, tokens).all(messages);
  if (rendered.ids.size() > max_tokens) {
    rendered.ids.resize(max_tokens);
    rendered.mask.resize(max_tokens);
  }
  return rendered;
}

}  // namespace

std::string_view name(Role role) {
  switch (role) {
    case Role::kSystem:
      return "system";
    case Role::kUser:
      return "user";
    case Role::kAssistant:
      return "assistant";
  }
  return "";
}

Message user_says(std::string text) { return {Role::kUser, {{PartKind::kText, std::move(text)}}}; }
Message assistant_says(std::string text) {
  return {Role::kAssistant, {{PartKind::kText, std::move(text)}}};
}
Message assistant_says(std::vector<MessagePart> parts) {
  return {Role::kAssistant, std::move(parts)};
}

std::string all_text(const Message& message) {
  std::string text;
  for (const MessagePart& part : message.parts) text += part.text;
  return text;
}

std::string conversation_fault(const Conversation& conversation) {
  const std::vector<Message>& messages = conversation.messages;
  if (messages.empty()) return "a conversation without messages";
  const bool has_system = messages.front().role == Role::kSystem;
  if (has_system && messages.size() == 1) return "a system message and no user after it";
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Message& message = messages[i];
    const std::size_t turn = i - (has_system ? 1 : 0);
    const Role wanted = has_system && i == 0 ? Role::kSystem
                        : turn % 2 == 0      ? Role::kUser
                                             : Role::kAssistant;
    if (message.role != wanted)
      return fmt::format("message {} is the {}'s, but must be the {}'s (they alternate)", i + 1,
                         name(message.role), name(wanted));
    if (message.role != Role::kAssistant && !is_one_text(message))
      return fmt::format("message {}: the {}'s content must be one string", i + 1,
                         name(message.role));
  }
  return "";
}

Result<RenderedConversation> render_conversation(const Tokenizer& tokenizer,
                                                 const Conversation& conversation,
                                                 std::size_t max_tokens) {
  if (const std::string fault = conversation_fault(conversation); !fault.empty())
    return bad_input(fault);
  return render(tokenizer, conversation.messages, max_tokens);
}

Result<std::vector<int>> render_for_completion(const Tokenizer& tokenizer,
                                               const Conversation& conversation,
                                               std::size_t max_tokens) {
  if (const std::string fault = conversation_fault(conversation); !fault.empty())
    return bad_input(fault);
  const std::span<const Message> messages = conversation.messages;
  if (messages.back().role != Role::kAssistant)
    return bad_input("the last message must be the assistant's to ask for a completion");
  NB_TRY(RenderedConversation rendered,
         render(tokenizer, messages.first(messages.size() - 1), max_tokens));
  rendered.ids.push_back(tokenizer.special("<|assistant_start|>"));
  return std::move(rendered.ids);
}

}  // namespace nb
