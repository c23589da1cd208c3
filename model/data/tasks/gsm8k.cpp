#include "model/data/tasks/gsm8k.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/base/check.hpp"
#include "harness/base/fs.hpp"
#include "model/data/tasks/rows.hpp"

namespace nb {
namespace {

constexpr std::string_view kMarker = "#### ";

bool is_of_number(char c) { return (c >= '0' && c <= '9') || c == '.' || c == ','; }

}  // namespace

Result<std::vector<Gsm8kItem>> parse_gsm8k(std::string_view text, const std::string& where) {
  std::vector<Gsm8kItem> items;
  ItemIds ids;
  const TakeRow take = [&](const Json& row, const std::string& here) {
    RowReader reader(row, here, "a GSM8K row", "question, answer");
    Gsm8kItem item;
    item.question = reader.text("question");
    item.answer = reader.text("answer");
    if (!extract_answer(item.answer))
      reader.fail("the answer does not end in a line like \"#### 72\"");
    item.id = ids.of(item_bytes(item));
    items.push_back(std::move(item));
    return reader.status();
  };
  NB_TRY_VOID(for_each_row(text, where, take));
  return items;
}

Result<std::vector<Gsm8kItem>> read_gsm8k(const std::filesystem::path& path) {
  NB_TRY(const std::string text, read_file(path));
  return parse_gsm8k(text, path.string());
}

std::vector<MessagePart> answer_parts(std::string_view answer) {
  std::vector<MessagePart> parts;
  const auto add = [&parts](PartKind kind, std::string_view text) {
    parts.push_back({kind, std::string(text)});
  };
  // A call is "<<", one character or more that is not ">", ">>".
  std::size_t begin = 0;
  for (std::size_t open = answer.find("<<"); open != std::string_view::npos;) {
    const std::size_t close = answer.find('>', open + 2);
    if (close == std::string_view::npos) break;
    if (close == open + 2 || answer.substr(close, 2) != ">>") {
      open = answer.find("<<", open + 1);
      continue;
    }
    add(PartKind::kText, answer.substr(begin, open - begin));
    const std::string_view call = answer.substr(open + 2, close - open - 2);
    const std::size_t equals = call.rfind('=');
    add(PartKind::kPython, call.substr(0, equals));
    add(PartKind::kPythonOutput, equals == std::string_view::npos ? "" : call.substr(equals + 1));
    begin = close + 2;
    open = answer.find("<<", begin);
  }
  add(PartKind::kText, answer.substr(begin));
  return parts;
}

Conversation conversation_of(const Gsm8kItem& item) {
  return {{user_says(item.question), assistant_says(answer_parts(item.answer))}};
}

std::string item_bytes(const Gsm8kItem& item) {
  return netstrings({"gsm8k", item.question, item.answer});
}

std::optional<std::string> extract_answer(std::string_view text) {
  for (std::size_t at = text.find(kMarker); at != std::string_view::npos;
       at = text.find(kMarker, at + 1)) {
    const std::string_view rest = text.substr(at + kMarker.size());
    const std::size_t sign = rest.starts_with('-') ? 1 : 0;
    const auto* end = std::find_if_not(rest.begin() + sign, rest.end(), is_of_number);
    if (end == rest.begin() + sign) continue;
    std::string answer(rest.begin(), end);
    std::erase(answer, ',');
    return answer;
  }
  return std::nullopt;
}

bool is_right_answer(std::string_view text, std::string_view gold) {
  const auto wanted = extract_answer(gold);
  NB_CHECK(wanted.has_value(), "[gsm8k] the gold text has no answer");
  return extract_answer(text) == wanted;
}

std::string with_marked_answer(std::string text) {
  const std::size_t newline = text.rfind('\n');
  const std::size_t last_line = newline == std::string::npos ? 0 : newline + 1;
  constexpr std::string_view kPlain = "A: ";
  if (text.compare(last_line, kPlain.size(), kPlain) == 0)
    text.replace(last_line, kPlain.size(), kMarker);
  return text;
}

}  // namespace nb
