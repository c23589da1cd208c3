#include "model/data/tasks/conversation_json.hpp"

#include <fmt/core.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "harness/base/fs.hpp"
#include "model/data/tasks/rows.hpp"

namespace nb {
namespace {

std::optional<Role> role_of(std::string_view text) {
  for (const Role role : {Role::kSystem, Role::kUser, Role::kAssistant})
    if (text == name(role)) return role;
  return std::nullopt;
}

constexpr std::array<std::pair<std::string_view, PartKind>, 3> kKinds = {
    {{"text", PartKind::kText},
     {"python", PartKind::kPython},
     {"python_output", PartKind::kPythonOutput}}};

Result<MessagePart> part_of(const Json& json, const std::string& where) {
  RowReader reader(json, where, "a part", "type, text");
  const std::string type = reader.text("type");
  MessagePart part;
  part.text = reader.text("text");
  NB_TRY_VOID(reader.status());
  for (const auto& [text, kind] : kKinds)
    if (type == text) {
      part.kind = kind;
      return part;
    }
  return bad_input(
      fmt::format("{}: type is \"{}\", but must be text, python or python_output", where, type));
}

Result<Message> message_of(const Json& json, const std::string& where) {
  RowReader reader(json, where, "a message", "role, content");
  const std::string role_text = reader.text("role");
  const bool has_parts = json.is_object() && json.contains("content") && json["content"].is_array();
  Message message;
  if (!has_parts) message.parts = {{PartKind::kText, reader.text("content")}};
  NB_TRY_VOID(reader.status());
  const auto role = role_of(role_text);
  if (!role)
    return bad_input(
        fmt::format("{}: role is \"{}\", but must be system, user or assistant", where, role_text));
  message.role = *role;
  if (!has_parts) return message;
  const Json& parts = json["content"];
  for (std::size_t i = 0; i < parts.size(); ++i) {
    NB_TRY(MessagePart part, part_of(parts[i], fmt::format("{}: part {}", where, i + 1)));
    message.parts.push_back(std::move(part));
  }
  return message;
}

}  // namespace

Result<std::vector<Message>> messages_from(const Json& list, const std::string& where) {
  if (!list.is_array()) return bad_input(where + ": expected a list of messages");
  std::vector<Message> messages;
  for (std::size_t i = 0; i < list.size(); ++i) {
    NB_TRY(Message message, message_of(list[i], fmt::format("{}: message {}", where, i + 1)));
    messages.push_back(std::move(message));
  }
  return messages;
}

namespace {

Result<Conversation> conversation_from(const Json& row, const std::string& where) {
  const bool is_list = row.is_array();
  if (!is_list && !(row.is_object() && row.contains("messages") && row["messages"].is_array()))
    return bad_input(fmt::format(
        "{}: expected a list of messages, or an object with a list \"messages\"", where));
  Conversation conversation;
  NB_TRY(conversation.messages, messages_from(is_list ? row : row["messages"], where));
  if (const std::string fault = conversation_fault(conversation); !fault.empty())
    return bad_input(where + ": " + fault);
  const bool has_system = conversation.messages.front().role == Role::kSystem;
  if (has_system && is_list)
    return bad_input(where +
                     ": a plain list of messages has no system message; use "
                     "{\"messages\": […]}");
  if (conversation.messages.size() < (has_system ? 3U : 2U))
    return bad_input(where + ": a conversation needs a user's and an assistant's message");
  return conversation;
}

}  // namespace

Result<std::vector<Conversation>> parse_conversations(std::string_view text,
                                                      const std::string& where) {
  std::vector<Conversation> conversations;
  const TakeRow take = [&](const Json& row, const std::string& here) -> Result<void> {
    NB_TRY(Conversation conversation, conversation_from(row, here));
    conversations.push_back(std::move(conversation));
    return {};
  };
  NB_TRY_VOID(for_each_row(text, where, take));
  return conversations;
}

Json conversation_json(const Conversation& conversation) {
  Json messages = Json::array();
  for (const Message& message : conversation.messages) {
    Json one = {{"role", name(message.role)}};
    if (message.parts.size() == 1 && message.parts.front().kind == PartKind::kText) {
      one["content"] = message.parts.front().text;
    } else {
      Json parts = Json::array();
      for (const MessagePart& part : message.parts)
        parts.push_back(
            {{"type", kKinds[static_cast<std::size_t>(part.kind)].first}, {"text", part.text}});
      one["content"] = std::move(parts);
    }
    messages.push_back(std::move(one));
  }
  return {{"messages", std::move(messages)}};
}

Result<std::vector<Conversation>> read_conversations(const std::filesystem::path& path) {
  NB_TRY(const std::string text, read_file(path));
  return parse_conversations(text, path.string());
}

}  // namespace nb
