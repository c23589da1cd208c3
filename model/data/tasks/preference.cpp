#include "model/data/tasks/preference.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "harness/base/fs.hpp"
#include "model/data/tasks/conversation_json.hpp"
#include "model/data/tasks/rows.hpp"

namespace nb {
namespace {

std::span<const Message> prompt_of(const Conversation& conversation) {
  return std::span(conversation.messages).first(conversation.messages.size() - 1);
}

bool is_blank(const Message& message) {
  return all_text(message).find_first_not_of(" \t\r\n") == std::string::npos;
}

std::string answer_fault(const Conversation& conversation, std::string_view which) {
  if (std::string fault = conversation_fault(conversation); !fault.empty())
    return fmt::format("{}: {}", which, fault);
  if (conversation.messages.back().role != Role::kAssistant)
    return fmt::format("{}: ends in the {}'s message, but must end in the assistant's", which,
                       name(conversation.messages.back().role));
  if (is_blank(conversation.messages.back())) return fmt::format("{}: an empty answer", which);
  return "";
}

// The members of a row as conversations: what stands before the answers, then each of them.
class PairReader {
 public:
  PairReader(const Json& row, std::string where) : row_(row), where_(std::move(where)) {}

  Result<Preference> read() {
    if (!row_.is_object() || !row_.contains("chosen") || !row_.contains("rejected"))
      return bad_input(where_ +
                       ": a pair needs \"chosen\" and \"rejected\", and a \"prompt\" unless both "
                       "are whole conversations");
    NB_TRY(const std::vector<Message> prompt, read_prompt());
    Preference pair;
    NB_TRY(pair.chosen, answer("chosen", prompt));
    NB_TRY(pair.rejected, answer("rejected", prompt));
    if (const std::string fault = preference_fault(pair); !fault.empty())
      return bad_input(where_ + ": " + fault);
    return pair;
  }

 private:
  Result<std::vector<Message>> read_prompt() const {
    for (const char* key : {"prompt", "messages"}) {
      if (!row_.contains(key)) continue;
      if (row_[key].is_string()) return std::vector{user_says(row_[key].get<std::string>())};
      return messages_from(row_[key], fmt::format("{}: {}", where_, key));
    }
    return std::vector<Message>();
  }

  // A text or the assistant's message behind the prompt, or the whole.
  Result<Conversation> answer(const char* key, const std::vector<Message>& prompt) const {
    const Json& json = row_[key];
    Conversation all{prompt};
    if (json.is_string()) {
      if (prompt.empty())
        return bad_input(fmt::format("{}: {}: a text without a \"prompt\"", where_, key));
      all.messages.push_back(assistant_says(json.get<std::string>()));
      return all;
    }
    NB_TRY(std::vector<Message> given, messages_from(json, fmt::format("{}: {}", where_, key)));
    const bool is_whole =
        given.size() > prompt.size() && std::equal(prompt.begin(), prompt.end(), given.begin());
    if (is_whole) return Conversation{std::move(given)};
    if (given.size() != 1)
      return bad_input(
          fmt::format("{}: {}: {} messages that do not begin with the prompt; give the "
                      "assistant's alone",
                      where_, key, given.size()));
    all.messages.push_back(std::move(given.front()));
    return all;
  }

  const Json& row_;
  std::string where_;
};

// "…=B\n…=D": the letters of choice_prompt().
std::vector<std::string> letters_of(std::string_view prompt) {
  std::vector<std::string> letters;
  while (!prompt.empty()) {
    const std::size_t end = std::min(prompt.find('\n'), prompt.size());
    const std::string_view line = prompt.substr(0, end);
    if (line.starts_with("- "))
      if (const std::size_t equals = line.rfind('='); equals != std::string_view::npos)
        letters.emplace_back(line.substr(equals + 1));
    prompt.remove_prefix(std::min(end + 1, prompt.size()));
  }
  return letters;
}

// Another whole number, at most 9 away and of the same sign or 0.
std::optional<std::string> other_number(std::string text, std::size_t index) {
  std::erase(text, ',');  // of thousands
  const bool is_whole =
      !text.empty() && text.size() <= 15 &&
      text.find_first_not_of("0123456789", text[0] == '-' ? 1 : 0) == std::string::npos &&
      text != "-";
  if (!is_whole) return std::nullopt;
  const long long number = std::stoll(text);
  const auto away = static_cast<long long>(1 + index % 9);
  const bool goes_down = index / 9 % 2 == 1 && (number < 0 || number >= away);
  return std::to_string(goes_down ? number - away : number + away);
}

}  // namespace

std::string preference_fault(const Preference& preference) {
  for (const auto& [conversation, which] :
       {std::pair{&preference.chosen, "chosen"}, std::pair{&preference.rejected, "rejected"}})
    if (std::string fault = answer_fault(*conversation, which); !fault.empty()) return fault;
  if (!std::ranges::equal(prompt_of(preference.chosen), prompt_of(preference.rejected)))
    return "chosen and rejected answer different prompts; they must differ in the last message "
           "alone";
  if (preference.chosen == preference.rejected)
    return "chosen and rejected are the same answer; leave the pair out";
  return "";
}

Result<std::vector<Preference>> parse_preferences(std::string_view text, const std::string& where) {
  std::vector<Preference> pairs;
  const TakeRow take = [&](const Json& row, const std::string& here) -> Result<void> {
    NB_TRY(Preference pair, PairReader(row, here).read());
    pairs.push_back(std::move(pair));
    return {};
  };
  NB_TRY_VOID(for_each_row(text, where, take));
  return pairs;
}

Result<std::vector<Preference>> read_preferences(const std::filesystem::path& path) {
  NB_TRY(const std::string text, read_file(path));
  return parse_preferences(text, path.string());
}

Json preference_json(const Preference& preference) {
  return {{"chosen", conversation_json(preference.chosen).at("messages")},
          {"rejected", conversation_json(preference.rejected).at("messages")}};
}

std::optional<Preference> spoiled(const Conversation& conversation, std::size_t index) {
  constexpr std::string_view kMark = "#### ";
  if (conversation.messages.size() < 2 || conversation.messages.back().parts.empty()) return {};
  Preference pair{conversation, conversation};
  std::string& last = pair.rejected.messages.back().parts.back().text;
  const Message& asked = conversation.messages[conversation.messages.size() - 2];
  if (const std::size_t mark = last.rfind(kMark); mark != std::string::npos) {
    const auto other = other_number(last.substr(mark + kMark.size()), index);
    if (!other) return {};
    last = last.substr(0, mark + kMark.size()) + *other;
    return pair;
  }
  const std::vector<std::string> letters = letters_of(all_text(asked));
  const auto right = std::ranges::find(letters, last);
  if (right == letters.end() || letters.size() < 2) return {};
  const auto place = static_cast<std::size_t>(right - letters.begin());
  last = letters[(place + 1 + index % (letters.size() - 1)) % letters.size()];
  return pair;
}

}  // namespace nb
