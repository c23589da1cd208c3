#include "harness/doctor/check.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "harness/base/visible_text.hpp"

namespace nb::doctor {
namespace {

std::string filled(const std::string& text, const Arguments& arguments) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = text.find('{', at);
    result.append(text, at, open == text.npos ? text.npos : open - at);
    if (open == text.npos) break;
    const std::size_t close = text.find('}', open);
    const std::string key = close == text.npos ? "" : text.substr(open + 1, close - open - 1);
    const auto argument = std::find_if(arguments.begin(), arguments.end(),
                                       [&](const auto& a) { return a.first == key; });
    if (close == text.npos || argument == arguments.end()) {
      result += '{';
      at = open + 1;
    } else {
      result += argument->second;
      at = close + 1;
    }
  }
  return result;
}

int rank_of(State state) {
  switch (state) {
    case State::kFail:
      return 0;
    case State::kWarn:
      return 1;
    case State::kNote:
      return 2;
    case State::kUnknown:
      return 3;
    case State::kSkip:
      return 4;
    case State::kPass:
      return 5;
  }
  return 6;
}

}  // namespace

std::string sentence_of(const Said& said, Language language) {
  const SentenceRow* row = find_sentence(said.key);
  if (row == nullptr) return said.key;
  const bool in_chinese = language == Language::kZh && !row->sentence_zh.empty();
  return filled(in_chinese ? row->sentence_zh : row->sentence, said.arguments);
}

std::string remedy_of(const Said& said, Language language) {
  const SentenceRow* row = find_sentence(said.key);
  if (row == nullptr) return "";
  const bool in_chinese = language == Language::kZh && !row->remedy_zh.empty();
  return filled(in_chinese ? row->remedy_zh : row->remedy, said.arguments);
}

void sort_checks(std::vector<Check>& checks) {
  std::stable_sort(checks.begin(), checks.end(), [](const Check& a, const Check& b) {
    return std::make_tuple(rank_of(a.state), std::cref(a.where.file), a.where.line,
                           std::cref(a.id)) < std::make_tuple(rank_of(b.state),
                                                              std::cref(b.where.file), b.where.line,
                                                              std::cref(b.id));
  });
}

Json json_of(const Check& check, Language language) {
  const auto text = [](const std::string& value) {
    return value.empty() ? Json(nullptr) : Json(utf8_text(value));
  };
  Json where = nullptr;
  if (!check.where.file.empty())
    where = {{"file", utf8_text(check.where.file)},
             {"line", check.where.line == 0 ? Json(nullptr) : Json(check.where.line)}};
  Json arguments = Json::object();
  for (const auto& [key, value] : check.said.arguments) arguments.emplace(key, utf8_text(value));
  return {{"id", check.id},
          {"message", {{"id", check.said.key}, {"arguments", arguments}}},
          {"group", check.group},
          {"state", name(check.state)},
          {"name", text(check.variable)},
          {"value", text(check.value)},
          {"expected", text(check.expected)},
          {"sentence", utf8_text(sentence_of(check.said, language))},
          {"remedy", text(remedy_of(check.said, language))},
          {"where", where},
          {"source", check.source}};
}

std::optional<Check> check_from(const Json& json) {
  const auto text = [&](const Json& object, const char* key) {
    const auto at = object.find(key);
    return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  if (!json.is_object()) return std::nullopt;
  Check check;
  check.id = text(json, "id");
  check.group = text(json, "group");
  check.variable = text(json, "name");
  check.value = text(json, "value");
  check.expected = text(json, "expected");
  check.source = text(json, "source");
  bool has_state = false;
  for (const State state :
       {State::kPass, State::kNote, State::kWarn, State::kFail, State::kSkip, State::kUnknown})
    if (name(state) == text(json, "state")) {
      check.state = state;
      has_state = true;
    }
  const auto message = json.find("message");
  if (!has_state || message == json.end() || !message->is_object()) return std::nullopt;
  check.said.key = text(*message, "id");
  const auto arguments = message->find("arguments");
  if (arguments != message->end() && arguments->is_object())
    for (const auto& [key, value] : arguments->items())
      if (value.is_string()) check.said.arguments.emplace_back(key, value.get<std::string>());
  if (const auto where = json.find("where"); where != json.end() && where->is_object()) {
    check.where.file = text(*where, "file");
    const auto line = where->find("line");
    if (line != where->end() && line->is_number_integer() && *line >= 0 && *line < 1'000'000'000)
      check.where.line = line->get<int>();
  }
  if (check.id.empty()) return std::nullopt;
  return check;
}

}  // namespace nb::doctor
