// <task>_write_out_info.json of lm-evaluation-harness 0.3 (--write_out) and its forks: a list of
// items with prompt_0, logit_0, truth and each metric, numbers as texts ("acc": "0.0").
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/base/fs.hpp"
#include "results/foreign/lines.hpp"
#include "results/import/lm_eval.hpp"
#include "results/import/readers.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

constexpr std::string_view kSuffix = "_write_out_info";

// The folder is named after the model, or is the task's in the model's.
std::string model_of_path(const fs::path& path, const std::string& task) {
  const fs::path folder = fs::absolute(path).parent_path();
  return lm_eval_folder_model(folder.filename() == task ? folder.parent_path() : folder);
}

// One family of forks (PIXIU, FinBen) ends each prompt with the name of a generation setting. The
// question is the same without it; the prompt is not.
std::string without_stray_until(std::string_view prompt) {
  constexpr std::string_view kStray = "\nuntil";
  if (prompt.ends_with(kStray)) prompt.remove_suffix(kStray.size());
  return std::string(prompt);
}

struct Row {
  ForeignItem item;
  std::vector<SeriesValue> values;
};

Row row_of(const Json& json, const std::string& task, std::set<std::string>& no_scores) {
  Row row;
  ForeignItem& item = row.item;
  item.source_id = text_of(member_of(json, "doc_id"));
  item.gold = text_of(member_of(json, "truth"));
  for (int i = 0;; ++i) {
    const Json& prompt = member_of(json, fmt::format("prompt_{}", i));
    if (prompt.is_null()) break;
    item.prompt += text_of(prompt) + "\n";
    item.content += without_stray_until(text_of(prompt)) + "\n";
  }
  item.content += item.gold;
  std::vector<float> choices;
  for (int i = 0;; ++i) {
    const Json& response = member_of(json, fmt::format("logit_{}", i));
    if (response.is_null()) break;
    double number = 0;
    if (number_of(response, number)) choices.push_back(static_cast<float>(number));
    if (i == 0) item.prediction = item.response = text_of(response);
  }
  if (choices.size() > 1) {
    item.log_probs = choices;
    item.prediction =
        fmt::format("{}", std::max_element(choices.begin(), choices.end()) - choices.begin());
  }
  double missing = 0;
  if (number_of(member_of(json, "missing"), missing) && missing != 0) item.reason = "no answer";
  for (const auto& [key, value] : json.items()) {
    if (key == "doc_id" || key == "truth" || key == "missing" || key.starts_with("prompt_") ||
        key.starts_with("logit_"))
      continue;
    double number = 0;
    if (number_of(value, number))
      row.values.push_back({{task, "", key}, number});
    else
      no_scores.insert(key);
  }
  return row;
}

}  // namespace

bool is_lm_eval_write_out(const FileHead& head) {
  std::string_view text = head.bytes;
  const std::size_t open = text.find_first_not_of(" \n\r\t");
  if (open == text.npos || text[open] != '[') return false;
  text.remove_prefix(open + 1);
  const FileHead row{head.path, text, head.whole};
  return head_has_key(row, "doc_id") && head_has_key(row, "prompt_0") &&
         head_has_key(row, "logit_0") && head_has_key(row, "truth");
}

Result<void> read_lm_eval_write_out(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const Json rows, read_foreign_json(path));
  if (!rows.is_array()) return bad_input(path.string() + ": a list of rows is expected");
  std::string task = path.stem().string();
  if (task.ends_with(kSuffix)) task.resize(task.size() - kSuffix.size());
  ForeignRun& run = builder.run(kLmEval, model_of_path(path, task));
  run.files.push_back(path);
  builder.say(run, "version", "0.3");
  std::set<std::string> no_scores;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string where = fmt::format("{}: /{}", path.string(), i);
    if (!rows[i].is_object()) return bad_input(where + " is no object");
    const Row row = row_of(rows[i], task, no_scores);
    if (row.item.source_id.empty()) return bad_input(where + " has no doc_id");
    if (!row.values.empty()) NB_TRY_VOID(builder.add_item(run, row.values, row.item, where));
  }
  for (const std::string& metric : no_scores)
    builder.ignore(message("import.no_item_values_nor_total", path.string(), metric));
  mark_primary(run, task, builder);
  return {};
}

}  // namespace nb
