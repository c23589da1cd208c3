// Conversations as JSON Lines: nanochat's own (a list of messages a line, CustomJSON) and
// SmolTalk's (an object with "messages").
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "model/data/tasks/conversation.hpp"

namespace nb {

// A line is a list [{role, content}, …] or {messages: […], …}; contents are strings, an assistant's
// may also be a list of parts {type: text|python|python_output, text}. After an optional system
// message (objects only, as in the reference) at least two messages, user and assistant in turn.
// Errors name file, line and message.
Result<std::vector<Conversation>> parse_conversations(std::string_view text,
                                                      const std::string& where);
Result<std::vector<Conversation>> read_conversations(const std::filesystem::path& path);

// The messages of such a list, whatever their order.
Result<std::vector<Message>> messages_from(const Json& list, const std::string& where);

// {"messages": […]}: what parse_conversations() reads back as the same conversation.
Json conversation_json(const Conversation& conversation);

}  // namespace nb
