#include "harness/cli/show_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/base/json_io.hpp"
#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"
#include "harness/base/visible_text.hpp"
#include "harness/cli/common.hpp"
#include "results/store/no_score.hpp"
#include "results/store/stored_items.hpp"

namespace nb::cli {
namespace {

constexpr std::size_t kAnswerColumns = 12;
constexpr std::size_t kQuestionColumns = 30;

std::string score_text(const ItemRecord& item) {
  if (item.loss) return fmt::format("{:.4f} nat", item.loss->nats);
  if (has_no_score(item)) return "no score";
  if (item.value && *item.value != 0 && *item.value != 1) return fmt::format("{:.4g}", *item.value);
  return score_of(item) == 1 ? "right" : "wrong";
}

// Below its heading, as it is, but for what a terminal would obey.
std::string block(const std::string& heading, const std::string& text) {
  std::string lines = "\n" + heading + "\n" + visible_text(text);
  if (lines.back() != '\n') lines += '\n';
  return lines;
}

// "* " right, "> " chosen.
std::string choices_text(const ItemRecord& item, const ItemText& text) {
  const std::size_t count = std::max(text.choices.size(), item.log_probs.size());
  if (count == 0) return "";
  const auto gold = choice_of(item.gold), chosen = choice_of(item.prediction);
  std::string lines = "\nchoices (* right, > chosen";
  lines += item.log_probs.empty() ? ")\n" : "; log-probability in nat)\n";
  for (std::size_t i = 0; i < count; ++i) {
    lines += fmt::format("  {}{} ", gold == i ? "*" : " ", chosen == i ? ">" : " ");
    if (!item.log_probs.empty())
      lines += i < item.log_probs.size() ? fmt::format("{:>10.4f}  ", item.log_probs[i])
                                         : std::string(12, ' ');
    lines += i < text.choices.size() ? visible_line(text.choices[i]) : fmt::format("choice {}", i);
    lines += "\n";
  }
  if (const auto margin = gold_margin(item); margin && item.log_probs.size() > 1)
    lines += fmt::format("margin of the right choice: {:+.4f} nat\n", *margin);
  return lines;
}

std::string prompts_text(const ItemText& text) {
  if (text.prompts.empty()) return "";
  if (text.prompts.size() == 1 && text.prompts.front() == text.question)
    return "\nthe prompt is the question alone\n";
  const std::string shared = shared_beginning(text.prompts);
  std::string lines = block("prompt", shared);
  if (text.prompts.size() == 1) return lines;
  lines += "\nbehind it\n";
  for (const std::string& prompt : text.prompts)
    lines += "  " + quoted(prompt.substr(shared.size())) + "\n";
  return lines;
}

std::string answers_text(const ItemRecord& item, const ItemText& text) {
  const std::vector<std::string>& texts = item.texts.empty() ? text.responses : item.texts;
  std::string lines;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::string heading =
        texts.size() == 1 ? "the model's answer" : fmt::format("answer {}", i + 1);
    if (i < item.sample_ok.size()) heading += item.sample_ok[i] == 1 ? " (right)" : " (wrong)";
    lines += block(heading, texts[i]);
  }
  return lines;
}

// The evaluation, and below it the task.
std::string head_text(const ItemTask& from) {
  return visible_line(describe(from.stored->record)) + "\n" + visible_line(from.task);
}

std::string one_line_of(const std::string& text, std::size_t columns) {
  ItemText one;
  one.question = text;
  return one_line(one, columns);
}

Json where_json(const ItemTask& from) {
  return {{"schema", kShowSchema},
          {"node", describe(from.stored->record)},
          {"folder", from.stored->folder.string()},
          {"task", from.task}};
}

Json score_json(const ItemRecord& item) {
  if (item.loss || has_no_score(item)) return Json();
  return Json(score_of(item));
}

Json head_json(const ShownItem& shown) {
  const ItemRecord& item = shown.item;
  return {{"item", shown_name(item)}, {"row", shown.place + 1},       {"id", item.id},
          {"name", shown.text.name},  {"mark", score_json(item)},     {"reason", item.reason},
          {"gold", item.gold},        {"prediction", item.prediction}};
}

}  // namespace

std::string shown_name(const ItemRecord& item) {
  return item.source_id.empty() ? item.id : item.source_id;
}

std::string item_text(const ShownItem& shown) {
  const ItemRecord& item = shown.item;
  const ItemText& text = shown.text;
  std::string out =
      head_text(shown.from) + fmt::format(", item {} of {}: {}", shown.place + 1, shown.items,
                                          visible_line(shown_name(item)));
  if (!text.name.empty() && text.name != shown_name(item))
    out += fmt::format(" ({})", visible_line(text.name));
  out += "\n" + score_text(item);
  if (!item.reason.empty()) out += fmt::format(" ({})", visible_line(item.reason));
  if (!item.prediction.empty() || !item.gold.empty())
    out += fmt::format("; answer {}, right is {}",
                       item.prediction.empty() ? "—" : one_line_of(item.prediction, kTextWidth / 2),
                       item.gold.empty() ? "not said" : one_line_of(item.gold, kTextWidth / 2));
  if (item.loss)
    out += fmt::format(" over {} and {}", count_text(item.loss->tokens, "token"),
                       count_text(item.loss->bytes, "byte"));
  out += "\n";
  if (!text.warning.empty()) out += "! " + visible_line(text.warning) + "\n";
  if (item.cut_tokens > 0)
    out += fmt::format("! {} of the prompt were cut so that it fitted the model's context\n",
                       count_text(item.cut_tokens, "token"));
  if (!text.question.empty()) out += block("question", text.question);
  out += choices_text(item, text);
  if (!text.reference.empty()) out += block("reference answer", text.reference);
  out += prompts_text(text);
  return out + answers_text(item, text);
}

Json item_json(const ShownItem& shown) {
  const ItemRecord& item = shown.item;
  Json json = where_json(shown.from);
  json["items"] = shown.items;
  json.update(head_json(shown));
  json["question"] = shown.text.question;
  json["choices"] = shown.text.choices;
  json["log_probs"] = item.log_probs;
  json["margin_nat"] = optional_json(gold_margin(item));
  json["reference"] = shown.text.reference;
  json["prompts"] = shown.text.prompts;
  json["prompt_hash"] = item.prompt_hash;
  json["cut_tokens"] = item.cut_tokens;
  json["answers"] = item.texts.empty() ? shown.text.responses : item.texts;
  json["answers_right"] = item.sample_ok;
  if (item.loss)
    json["loss"] = {
        {"nats", item.loss->nats}, {"tokens", item.loss->tokens}, {"bytes", item.loss->bytes}};
  json["warning"] = shown.text.warning;
  return json;
}

std::string table_text(const ShownTable& table) {
  std::string text =
      head_text(table.from) + ": " + count_text(static_cast<long long>(table.items), "item");
  if (table.found != table.items) text += fmt::format(", {} of them {}", table.found, table.only);
  text += "\n\n";
  TextTable rows{{"row", "item", "mark", "right", "answer", "question"}, {}};
  std::string warning;
  for (const ShownItem& one : table.shown) {
    const ItemRecord& item = one.item;
    if (warning.empty()) warning = one.text.warning;
    rows.rows.push_back({std::to_string(one.place + 1), shown_name(item), score_text(item),
                         one_line_of(item.gold, kAnswerColumns),
                         one_line_of(item.prediction, kAnswerColumns),
                         one_line(one.text, kQuestionColumns)});
  }
  if (!rows.rows.empty()) text += to_text(rows, output_width());
  if (table.found > table.shown.size())
    text += fmt::format("{} more; --limit {} shows all\n", table.found - table.shown.size(),
                        table.found);
  if (!warning.empty()) text += "! " + visible_line(warning) + "\n";
  if (table.found > 0) text += "--item ROW (or the item's name) shows one whole\n";
  return text;
}

Json table_json(const ShownTable& table) {
  Json json = where_json(table.from), rows = Json::array();
  for (const ShownItem& one : table.shown) {
    Json row = head_json(one);
    row["question"] = one.text.question;
    row["warning"] = one.text.warning;
    rows.push_back(std::move(row));
  }
  json["items"] = table.items;
  json["found"] = table.found;
  json["shown"] = std::move(rows);
  return json;
}

std::string tasks_text(const std::vector<ItemTask>& tasks) {
  TextTable table{{"evaluation", "task"}, {}};
  for (const ItemTask& one : tasks) table.rows.push_back({describe(one.stored->record), one.task});
  return to_text(table, output_width()) + "--task TASK lists its items\n";
}

Json tasks_json(const std::vector<ItemTask>& tasks) {
  Json list = Json::array();
  for (const ItemTask& one : tasks)
    list.push_back({{"node", describe(one.stored->record)},
                    {"folder", one.stored->folder.string()},
                    {"task", one.task}});
  return {{"schema", kShowSchema}, {"tasks", std::move(list)}};
}

}  // namespace nb::cli
