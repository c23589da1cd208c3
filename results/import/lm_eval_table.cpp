// Tables that lm-evaluation-harness and lighteval print at their end, as they stand in logs, posts
// and release reports: Markdown with a row per metric, above it the line that names the model and
// its settings, or what vllm-ascend's reports write there.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "harness/base/ascii.hpp"
#include "harness/base/fs.hpp"
#include "results/audit/lm_eval_rows.hpp"
#include "results/audit/read_parts.hpp"
#include "results/foreign/metric_kinds.hpp"
#include "results/import/lm_eval.hpp"
#include "results/import/readers.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargest = 64u << 20;  // byte; a log of one evaluation
constexpr std::size_t kTail = 64 * 1024;        // byte; where a log has its table

std::string text_between(std::string_view text, std::string_view begin, std::string_view end) {
  const std::size_t at = text.find(begin);
  if (at == text.npos) return {};
  text.remove_prefix(at + begin.size());
  return std::string(trimmed(text.substr(0, text.find(end))));
}

// "None" and what is like it.
std::string stated(std::string text) {
  static constexpr auto kNothing = std::to_array<std::string_view>({"None", "none", "{}", "N/A"});
  return std::ranges::find(kNothing, std::string_view(text)) != kNothing.end() ? "" : text;
}

// "{'pretrained': 'a/b', 'dtype': 'auto'}", as releases since 0.4.10 print it, as a=b,c=d.
std::string plain_arguments(std::string text) {
  if (!text.starts_with('{')) return text;
  std::string plain;
  for (std::size_t i = 1; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\'' || c == '"' || c == '}') continue;
    if (c == ':' && i + 1 < text.size() && text[i + 1] == ' ') {
      plain += '=';
      ++i;
    } else if (c != ' ' || plain.empty() || plain.back() != ',') {
      plain += c;
    }
  }
  return plain;
}

// Everything that stands above a table and belongs to it.
struct Above {
  std::string heading;     // the last one, as a text
  std::string model;       // as its line or command names it; empty: none does
  std::string revision;    // of the weights, where it is not main
  std::string limit;       // "none" where the line says so
  std::string shots;       // of a command; the table's own column counts before it
  bool is_report = false;  // one of vllm-ascend's: its headings are models
  std::map<std::string, std::string> provenance;
};

// "hf (pretrained=a/b,dtype=float16), gen_kwargs: (None), limit: None, num_fewshot: 5, batch_size:
// 8"
bool take_model_line(std::string_view line, Above& above) {
  line = trimmed(line);
  while (!line.empty() &&
         (line.front() == '#' || line.front() == '`' || line.front() == '>' || line.front() == ' '))
    line.remove_prefix(1);
  const std::size_t open = line.find(" (");
  const std::size_t settings = line.find("), ");
  if (open == line.npos || settings == line.npos || settings < open ||
      line.substr(settings).find("limit: ") == line.npos ||
      line.substr(settings).find("batch_size: ") == line.npos)
    return false;
  const auto arguments =
      lm_eval_arguments(plain_arguments(std::string(line.substr(open + 2, settings - open - 2))));
  const std::string_view rest = line.substr(settings + 1);
  above.provenance.clear();
  above.model = lm_eval_model(arguments);
  above.revision.clear();
  const auto say = [&](const char* key, const std::string& value) {
    if (!value.empty()) above.provenance[key] = value;
  };
  say("backend", std::string(line.substr(0, open)));
  if (const auto at = arguments.find("dtype"); at != arguments.end()) say("dtype", at->second);
  if (const auto at = arguments.find("revision"); at != arguments.end() && at->second != "main")
    above.revision = at->second;
  say("model_args", lm_eval_other_arguments(arguments));
  say("generation", stated(text_between(rest, "gen_kwargs: (", ")")));
  const std::string limit = text_between(rest, "limit: ", ",");
  say("limit", stated(limit));
  above.limit = stated(limit).empty() ? "none" : limit;
  say("batch_size", text_between(rest, "batch_size: ", "\n"));
  return true;
}

std::string without_tags(std::string_view line) {
  std::string text;
  bool in_tag = false;
  for (const char c : line) {
    if (c == '<') in_tag = true;
    if (!in_tag && c != '*') text += c;
    if (c == '>') in_tag = false;
  }
  return text;
}

// What vllm-ascend's reports say of the software, and the options of the command that they quote.
void take_report_line(std::string_view line, Above& above) {
  constexpr const char* kLabels[][2] = {{"vLLM:", "vllm"},
                                        {"vLLM Ascend:", "vllm_ascend"},
                                        {"CANN:", "cann"},
                                        {"PyTorch:", "torch"},
                                        {"torch-npu:", "torch_npu"},
                                        {"TorchNPU:", "torch_npu"},
                                        {"Hardware Environment:", "accelerator"},
                                        {"Parallel mode:", "parallel"},
                                        {"Execution mode:", "execution"}};
  const std::string text = without_tags(line);
  for (const auto& [label, key] : kLabels) {
    const std::size_t at = text.find(label);
    if (at == text.npos || (at > 0 && text[at - 1] != ' ' && text[at - 1] != '\t')) continue;
    const std::string value = text_between(std::string_view(text).substr(at), label, ",");
    if (!value.empty()) above.provenance.try_emplace(key, value);
    above.is_report = above.is_report || std::string_view(key) == "accelerator";
  }
  const auto option = [&](std::string_view name) {
    std::string value = text_between(line, name, " ");
    return value == "\\" ? std::string() : value;
  };
  if (line.find("lm_eval ") != line.npos) above.is_report = true;
  if (std::string value = option("--num_fewshot "); !value.empty()) above.shots = value;
  if (std::string value = option("--limit "); !value.empty())
    above.provenance["limit"] = above.limit = value;
  if (std::string value = option("--batch_size "); !value.empty())
    above.provenance["batch_size"] = value;
  if (std::string value = option("--model "); !value.empty()) above.provenance["backend"] = value;
  std::string model = text_between(line, "pretrained=", ",");
  model = model.substr(0, model.find_first_of(" '\"\\"));
  if (!model.empty() && model.front() != '$') above.model = model;
}

// "🎯 Qwen2.5-7B-Instruct Accuracy Test" → the model that the heading of a report names.
std::string model_in_heading(std::string heading) {
  while (!heading.empty() &&
         (static_cast<unsigned char>(heading.front()) >= 0x80 || heading.front() == ' '))
    heading.erase(0, 1);
  constexpr std::string_view kEnd = " Accuracy Test";
  if (heading.ends_with(kEnd)) heading.erase(heading.size() - kEnd.size());
  return heading;
}

std::string heading_in(std::string_view line) {
  if (!line.starts_with('#')) return {};
  const std::size_t level = line.find_first_not_of('#');
  if (level == line.npos || level > 6 || line[level] != ' ') return {};
  if (line.find('|') != line.npos) return {};
  return without_marks(line.substr(level));
}

// lighteval's rows: "all", the mean of the tasks, and "suite:task:shots" or "task:shots".
bool is_lighteval(const std::vector<LmEvalRow>& rows) {
  const auto has_shots = [](const std::string& task) {
    const std::size_t colon = task.rfind(':');
    return colon != task.npos && colon + 1 < task.size() &&
           task.find_first_not_of("0123456789", colon + 1) == task.npos;
  };
  return std::ranges::any_of(rows, [&](const LmEvalRow& row) { return row.task == "all"; }) &&
         std::ranges::any_of(rows, [&](const LmEvalRow& row) { return has_shots(row.task); });
}

// In the form that results/import/lighteval.cpp gives: "suite|task", the shots apart.
void name_as_lighteval(LmEvalRow& row) {
  if (row.task == "all") return;
  const std::size_t colon = row.task.rfind(':');
  if (colon != row.task.npos &&
      row.task.find_first_not_of("0123456789", colon + 1) == row.task.npos) {
    row.shots = row.task.substr(colon + 1);
    row.task.erase(colon);
  }
  if (const std::size_t suite = row.task.find(':'); suite != row.task.npos) row.task[suite] = '|';
}

// The harness prints shares; people who paste its table write percentages, too.
void percentages_to_shares(std::vector<LmEvalRow>& rows) {
  std::map<std::string, std::vector<double>> values;
  for (const LmEvalRow& row : rows)
    if (const MetricKind* kind = metric_kind(row.metric);
        kind != nullptr && kind->quantity == Quantity::kShare &&
        row.value.text.find('%') == std::string::npos)
      values[row.metric].push_back(row.value.value);
  for (LmEvalRow& row : rows) {
    const auto at = values.find(row.metric);
    if (at == values.end() || !is_in_percent(at->second) ||
        row.value.text.find('%') != std::string::npos)
      continue;
    row.value.value /= 100;
    if (row.standard_error) *row.standard_error /= 100;
  }
}

class Tables {
 public:
  Tables(const fs::path& path, ForeignBuilder& builder) : path_(path), builder_(builder) {}

  Result<void> take(const PrintedTable& table, const Above& above, const std::string& label) {
    NB_TRY(std::vector<LmEvalRow> rows, lm_eval_rows(table, path_.string()));
    if (rows.empty()) return {};
    percentages_to_shares(rows);
    const bool lighteval = is_lighteval(rows);
    if (lighteval) std::ranges::for_each(rows, name_as_lighteval);
    const char* const harness = lighteval ? "lighteval" : kLmEval;
    std::string model = above.model;
    if (model.empty() && above.is_report) model = model_in_heading(above.heading);
    ForeignRun* run = &builder_.file_run(harness, model, above.revision, path_, label);
    // A second table of the same model with other values is another run.
    for (int k = 2; contradicts(*run, rows); ++k)
      run = &builder_.file_run(harness, model, above.revision, path_,
                               fmt::format("{}, table {}", label, k));
    builder_.printed(*run);
    for (const auto& [key, value] : above.provenance) builder_.say(*run, key, value);
    for (const LmEvalRow& row : rows) add(row, above, *run);
    std::set<std::string> tasks;
    for (const LmEvalRow& row : rows) tasks.insert(row.task);
    for (const std::string& task : tasks) mark_primary(*run, task, builder_);
    if (lighteval)
      for (ForeignSeries* one : builder_.series_of_task(*run, "all")) one->primary = false;
    return {};
  }

 private:
  bool contradicts(ForeignRun& run, const std::vector<LmEvalRow>& rows) {
    return std::ranges::any_of(rows, [&](const LmEvalRow& row) {
      const ForeignSeries* before = builder_.find_series(run, {row.task, row.filter, row.metric});
      return before != nullptr && before->reported != row.value.value;
    });
  }

  void add(const LmEvalRow& row, const Above& above, ForeignRun& run) {
    if (ForeignSeries* before = builder_.find_series(run, {row.task, row.filter, row.metric})) {
      // The table of groups repeats their rows, and tells which they are.
      if (row.is_group) before->must_match.erase("shots");
      return;
    }
    ForeignSeries& series = builder_.series(run, {row.task, row.filter, row.metric});
    series.reported = row.value.value;
    series.reported_stderr = row.standard_error;
    series.part_of = row.part_of;
    say_direction(row, series, run);
    const auto must = [&](const char* key, const std::string& text) {
      if (!text.empty()) series.must_match[key] = text;
    };
    must("shots", row.shots.empty() && !row.is_group ? above.shots : row.shots);
    must("version", row.version);
    must("limit", above.limit);
  }

  // A development version of the harness (@ 003e5852: lm_eval/utils.py) prints ↑ for every metric.
  void say_direction(const LmEvalRow& row, ForeignSeries& series, ForeignRun& run) {
    if (!row.arrow) return;
    const MetricKind* kind = metric_kind(row.metric);
    if (kind != nullptr && kind->direction == Direction::kLower &&
        *row.arrow == Direction::kHigher) {
      Sentence note = message("import.arrow_up", row.metric);
      if (std::ranges::find(run.notes, note) == run.notes.end())
        run.notes.push_back(std::move(note));
      return;
    }
    series.direction = row.arrow;
  }

  const fs::path& path_;
  ForeignBuilder& builder_;
};

bool holds_table(std::string_view text) {
  // Cheap before dear: most files have neither word.
  if (text.find("Metric") == text.npos && text.find("metric") == text.npos) return false;
  return std::ranges::any_of(printed_tables(text), is_lm_eval_table);
}

}  // namespace

bool is_lm_eval_printed(const FileHead& head) {
  if (head.bytes.find('\0') != head.bytes.npos || is_accuracy_report(head)) return false;
  const std::string_view content = trimmed(head.bytes);
  if (content.starts_with('{') || content.starts_with('[')) return false;
  if (holds_table(head.bytes)) return true;
  if (head.whole) return false;
  std::error_code error;
  const std::uintmax_t size = fs::file_size(head.path, error);
  if (error || size > kLargest || content.empty()) return false;
  const auto file = MappedFile::open(head.path);
  if (!file) return false;
  const auto bytes = file->bytes();
  const std::size_t begin = bytes.size() > kTail ? bytes.size() - kTail : 0;
  return holds_table({reinterpret_cast<const char*>(bytes.data()) + begin, bytes.size() - begin});
}

Result<void> read_lm_eval_printed(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const std::string text, read_file(path));
  std::vector<PrintedTable> tables = printed_tables(text);
  std::erase_if(tables, [](const PrintedTable& table) { return !is_lm_eval_table(table); });
  const auto sections = [&] {  // headings with a table below them
    std::size_t count = 0, next = 0;
    bool is_new = true;
    Above unused;
    for (const Line& line : lines_of(text)) {
      is_new = is_new || (!heading_in(line.text).empty() && !take_model_line(line.text, unused));
      for (; next < tables.size() && tables[next].lines.front() <= line.number; ++next) {
        count += is_new ? 1 : 0;
        is_new = false;
      }
    }
    return count;
  }();
  Tables reader(path, builder);
  Above above;
  std::size_t next = 0;
  for (const Line& line : lines_of(text)) {
    if (take_model_line(line.text, above)) continue;
    if (const std::string heading = heading_in(line.text); !heading.empty()) {
      above = {};
      above.heading = heading;
    } else if (line.text.find('|') == line.text.npos) {
      take_report_line(line.text, above);
    }
    for (; next < tables.size() && tables[next].lines.front() <= line.number; ++next) {
      std::string label = path.stem().string();
      if (sections > 1 && !above.heading.empty()) label += " " + above.heading;
      NB_TRY_VOID(reader.take(tables[next], above, label));
    }
  }
  return {};
}

}  // namespace nb
