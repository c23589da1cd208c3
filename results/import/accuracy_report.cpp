// vllm-ascend's accuracy reports: Markdown with the versions of the device's software and a table
// of what lm-evaluation-harness measured, each value with a mark (✅ or ❌) against an expectation.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "harness/base/ascii.hpp"
#include "harness/base/fs.hpp"
#include "results/import/lm_eval.hpp"
#include "results/import/readers.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

constexpr std::string_view kPassed = "\xE2\x9C\x85", kFailed = "\xE2\x9D\x8C";  // ✅ ❌

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  line = trimmed(line);
  if (line.starts_with('|')) line.remove_prefix(1);
  while (!line.empty()) {
    const std::size_t bar = std::min(line.find('|'), line.size());
    cells.emplace_back(trimmed(line.substr(0, bar)));
    line.remove_prefix(std::min(bar + 1, line.size()));
  }
  return cells;
}

bool is_header(const std::vector<std::string>& cells) {
  return cells.size() >= 4 && cells[0] == "Task" && cells[1] == "Metric" && cells[2] == "Value" &&
         cells[3] == "Stderr";
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

// "- **CANN**: 8.3.RC1, **PyTorch**: 2.7.1" → each label with its text.
void say_labels(std::string_view line, ForeignRun& run, ForeignBuilder& builder) {
  constexpr const char* kLabels[][2] = {{"vLLM Version", "vllm"},
                                        {"vLLM Ascend Version", "vllm_ascend"},
                                        {"CANN", "cann"},
                                        {"PyTorch", "torch"},
                                        {"torch-npu", "torch_npu"},
                                        {"TorchNPU", "torch_npu"},
                                        {"Hardware Environment", "accelerator"},
                                        {"Parallel mode", "parallel"},
                                        {"Execution mode", "execution"}};
  for (const auto& [label, key] : kLabels) {
    const std::string mark = fmt::format("**{}**:", label);
    const std::size_t at = line.find(mark);
    if (at == line.npos) continue;
    std::string_view text = line.substr(at + mark.size());
    text = trimmed(text.substr(0, text.find(", **")));
    if (text.starts_with("vLLM: ")) text.remove_prefix(6);
    if (text.starts_with("**")) continue;              // a heading of further labels
    text = trimmed(text.substr(0, text.find(" ([")));  // a link to the commit
    builder.say(run, key, std::string(text));
  }
}

// "--num_fewshot 5" of the command.
std::string option_in(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == text.npos) return {};
  text = trimmed(text.substr(at + name.size()));
  return std::string(text.substr(0, text.find_first_of(" \\\n\r")));
}

class Report {
 public:
  Report(const fs::path& path, ForeignRun& run, ForeignBuilder& builder, std::string shots)
      : path_(path), run_(run), builder_(builder), shots_(std::move(shots)) {}

  Result<void> row(const std::vector<std::string>& cells, std::size_t line) {
    const std::string where = fmt::format("{}:{}", path_.string(), line);
    if (cells.size() < 4) return bad_input(where + ": a row of the table has fewer than 4 cells");
    std::string_view text = cells[2];
    const bool failed = text.starts_with(kFailed);
    if (failed || text.starts_with(kPassed)) text = trimmed(text.substr(kPassed.size()));
    const auto value = number_in(text);
    const auto name = lm_eval_series(cells[0], cells[1]);
    if (!value || !name)
      return bad_input(
          fmt::format("{}: \"{}\" of {} {} is no value", where, cells[2], cells[0], cells[1]));
    ForeignSeries& series = builder_.series(run_, *name);
    // Details repeat the rows of the summary.
    if (series.reported && *series.reported != *value)
      return bad_input(fmt::format("{}: {} {} is {} here and {} above", where, cells[0], cells[1],
                                   *value, *series.reported));
    if (!series.reported && failed)
      run_.notes.push_back(message("import.marked_failed",
                                   fmt::format("{} {} {}", cells[0], cells[1], *value),
                                   path_.filename().string()));
    series.reported = value;
    std::string_view error = cells[3];
    if (error.starts_with("\xC2\xB1")) error = trimmed(error.substr(2));  // ±
    series.reported_stderr = number_in(error);
    if (!shots_.empty()) series.must_match["shots"] = shots_;
    tasks_.insert(cells[0]);
    return {};
  }

  void end() {
    for (const std::string& task : tasks_) mark_primary(run_, task, builder_);
  }

 private:
  const fs::path& path_;
  ForeignRun& run_;
  ForeignBuilder& builder_;
  std::string shots_;
  std::set<std::string> tasks_;
};

}  // namespace

bool is_accuracy_report(const FileHead& head) {
  if (!head.bytes.starts_with("# ")) return false;
  for (std::size_t begin = 0; begin < head.bytes.size();) {
    const std::size_t end = std::min(head.bytes.find('\n', begin), head.bytes.size());
    const std::string_view line = head.bytes.substr(begin, end - begin);
    if (line.starts_with("|") && is_header(cells_of(line)))
      return head.bytes.find("{{") == std::string_view::npos;  // the template that they are made of
    begin = end + 1;
  }
  return false;
}

Result<void> read_accuracy_report(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const std::string text, read_file(path));
  std::string_view title = text;
  title = title.substr(0, title.find('\n'));
  // "# " and the model, which may be missing.
  title = trimmed(title.substr(std::min<std::size_t>(title.size(), 1)));
  ForeignRun& run = builder.run(kLmEval, title);
  run.files.push_back(path);
  builder.say(run, "report", "vllm-ascend");
  builder.say(run, "backend", option_in(text, "--model "));
  builder.say(run, "batch_size", option_in(text, "--batch_size "));
  builder.say(run, "limit", option_in(text, "--limit "));
  Report report(path, run, builder, option_in(text, "--num_fewshot "));
  bool in_table = false;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (!line.starts_with("|")) {
      in_table = false;
      say_labels(line, run, builder);
      continue;
    }
    const auto cells = cells_of(line);
    const bool is_rule = !cells.empty() && cells[0].find_first_not_of("-: ") == std::string::npos;
    if (in_table && !is_rule) NB_TRY_VOID(report.row(cells, number));
    in_table = in_table || is_header(cells);
  }
  report.end();
  return {};
}

}  // namespace nb
