#include "results/messages/message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "harness/base/visible_text.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

// The arguments that a template names, a bit each; 0 in `bad` where it is well made.
struct Places {
  unsigned named = 0;
  bool is_bad = false;
};
constexpr Places places_of(std::string_view text) {
  Places places;
  std::size_t next = 0;
  bool in_order = false, by_number = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '}') places.is_bad = true;
    if (text[at] != '{') continue;
    const bool is_plain = at + 1 < text.size() && text[at + 1] == '}';
    const bool is_number =
        at + 2 < text.size() && text[at + 1] >= '0' && text[at + 1] <= '9' && text[at + 2] == '}';
    if (!is_plain && !is_number) places.is_bad = true;
    in_order = in_order || is_plain;
    by_number = by_number || is_number;
    const std::size_t place = is_plain ? next++ : static_cast<std::size_t>(text[at + 1] - '0');
    places.named |= 1U << place;
    at += is_plain ? 1 : 2;
  }
  places.is_bad = places.is_bad || (in_order && by_number) ||
                  (places.named & (places.named + 1)) != 0;  // a number is left out
  return places;
}

constexpr bool is_well_made(const MessageRow& row) {
  if (row.key.empty() || row.en.empty() || (row.zh.empty() && !row.joins())) return false;
  const std::size_t bar = row.en.find('|');
  if (bar != row.en.npos && row.en.find('|', bar + 1) != row.en.npos) return false;
  const Places zh = places_of(row.zh);
  const Places many = places_of(bar == row.en.npos ? row.en : row.en.substr(bar + 1));
  if (zh.is_bad || many.is_bad || zh.named != many.named) return false;
  if (row.joins()) return zh.named == 0;
  if (bar == row.en.npos) return true;
  const Places one = places_of(row.en.substr(0, bar));
  return !one.is_bad && one.named == zh.named && zh.named != 0;
}

static_assert(std::ranges::all_of(kMessages, is_well_made),
              "a row of a table of messages lacks a language, or its languages have other places");

constexpr bool keys_differ() {
  std::array<std::string_view, kMessages.size()> keys;
  std::ranges::transform(kMessages, keys.begin(), &MessageRow::key);
  std::ranges::sort(keys);
  return std::ranges::adjacent_find(keys) == keys.end();
}
static_assert(keys_differ(), "a key stands in the tables of messages twice");
static_assert(kMessages[0].key == "verbatim", "Sentence::row_");

std::string filled(std::string_view form, const std::vector<std::string>& arguments) {
  std::string text;
  std::size_t next = 0;
  for (std::size_t at = 0; at < form.size(); ++at) {
    if (form[at] != '{') {
      text += form[at];
      continue;
    }
    const bool is_plain = form[at + 1] == '}';
    text += arguments[is_plain ? next++ : static_cast<std::size_t>(form[at + 1] - '0')];
    at += is_plain ? 1 : 2;
  }
  return text;
}

}  // namespace

std::string_view Sentence::id() const { return kMessages[row_].key; }

Sentence verbatim(std::string text) {
  Sentence made;
  made.text_ = std::move(text);
  return made;
}

std::string text_of(const Sentence& message, Language language) {
  if (message.row_ == 0) return message.text_;
  const MessageRow& row = kMessages[message.row_];
  std::string_view form = language == Language::kZh ? row.zh : row.en;
  std::vector<std::string> arguments;
  for (const Sentence& argument : message.arguments_)
    arguments.push_back(text_of(argument, language));
  if (row.joins()) return fmt::format("{}", fmt::join(arguments, form));
  if (const std::size_t bar = form.find('|'); bar != form.npos)
    form = arguments.front() == "1" ? form.substr(0, bar) : form.substr(bar + 1);
  return filled(form, arguments);
}

std::vector<std::string> texts_of(std::span<const Sentence> messages, Language language) {
  std::vector<std::string> texts;
  for (const Sentence& message : messages) texts.push_back(text_of(message, language));
  return texts;
}

Json json_of(const Sentence& message) {
  if (message.empty()) return {};
  Json arguments = Json::array();
  if (message.row_ == 0) arguments.push_back(utf8_text(message.text_));
  for (const Sentence& argument : message.arguments_)
    arguments.push_back(argument.row_ == 0 ? Json(utf8_text(argument.text_)) : json_of(argument));
  return {{"id", message.id()}, {"arguments", arguments}};
}

Json json_of(std::span<const Sentence> messages) {
  Json list = Json::array();
  for (const Sentence& message : messages) list.push_back(json_of(message));
  return list;
}

void add_message(Json& json, const std::string& key, const Sentence& message) {
  json[key] = utf8_text(text_of(message));
  json[key + "_message"] = json_of(message);
}

void add_messages(Json& json, const std::string& key, std::span<const Sentence> messages) {
  json[key] = texts_of(messages);
  json[key + "_message"] = json_of(messages);
}

Sentence message_from(const Json& json) {
  if (json.is_string()) return verbatim(json.get<std::string>());
  if (!json.is_object() || !json.contains("id") || !json.contains("arguments")) return {};
  const Json &id = json.at("id"), &arguments = json.at("arguments");
  if (!id.is_string() || !arguments.is_array()) return {};
  std::vector<Sentence> parts;
  for (const Json& argument : arguments) {
    const bool is_text = argument.is_string();
    parts.push_back(message_from(argument));
    if (!is_text && parts.back().empty()) return {};
  }
  const auto row = std::ranges::find(kMessages, id.get<std::string>(), &MessageRow::key);
  if (row == kMessages.end()) return {};
  if (row == kMessages.begin()) return parts.size() == 1 ? parts[0] : Sentence();
  if (row->joins() ? parts.size() < 2 : parts.size() != places_in(row->en)) return {};
  return MessageMaker::make(static_cast<std::uint16_t>(row - kMessages.begin()), std::move(parts));
}

Sentence joined(Joint between, std::vector<Sentence> parts) {
  std::erase_if(parts, [](const Sentence& part) { return part.empty(); });
  if (parts.empty()) return {};
  if (parts.size() == 1) return std::move(parts.front());
  return MessageMaker::make(between.row(), std::move(parts));
}

Sentence listed(std::vector<std::string> names, std::size_t named) {
  const std::size_t more = names.size() - std::min(named, names.size());
  names.resize(names.size() - more);
  std::string list = fmt::format("{}", fmt::join(names, ", "));
  return more == 0 ? verbatim(std::move(list)) : message("list.and_more", list, more);
}

void append(Sentence& message, Sentence more) {
  message = joined("join.semicolon", {std::move(message), std::move(more)});
}

}  // namespace nb
