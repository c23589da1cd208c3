// nanochat's report cards (report.py): header, sections and summary in one file, or one section.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "harness/base/ascii.hpp"
#include "harness/base/table.hpp"
#include "results/audit/fact_names.hpp"
#include "results/audit/known_tasks.hpp"
#include "results/audit/read_parts.hpp"
#include "results/audit/read_table.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

enum class SectionKind { kTraining, kEvaluation, kOther };
struct Section {
  std::string_view title;
  std::string_view stage;
  SectionKind kind;
};
constexpr auto kSections = std::to_array<Section>({
    {"Tokenizer training", "TOK", SectionKind::kTraining},
    {"Tokenizer evaluation", "TOK", SectionKind::kOther},
    {"Base model training", "BASE", SectionKind::kTraining},
    {"Base model loss", "BASE", SectionKind::kEvaluation},
    {"Base model evaluation", "BASE", SectionKind::kEvaluation},
    {"Midtraining", "MID", SectionKind::kTraining},
    {"Chat evaluation mid", "MID", SectionKind::kEvaluation},
    {"Chat SFT", "SFT", SectionKind::kTraining},
    {"SFT", "SFT", SectionKind::kTraining},
    {"Chat evaluation sft", "SFT", SectionKind::kEvaluation},
    {"Chat RL", "RL", SectionKind::kTraining},
    {"Chat evaluation rl", "RL", SectionKind::kEvaluation},
    {"Environment", "", SectionKind::kOther},
    {"Summary", "", SectionKind::kOther},
});
constexpr std::string_view kTitle = "# nanochat training report";

// Settings of an evaluation that a number may follow; anything else with a number is a task.
constexpr auto kEvaluationSettings = std::to_array<std::string_view>(
    {"temperature", "max_new_tokens", "num_samples", "top_k", "batch_size", "step", "seed",
     "max_problems", "train bpb", "val bpb", "max_per_task", "device_batch_size", "split_tokens"});
// Settings in words that are kept: what a confounder can be made of.
constexpr auto kWords = std::to_array<std::string_view>(
    {"dtype", "fp8", "window_pattern", "adam_beta1", "adam_beta2", "weight_decay", "matrix_lr",
     "embedding_lr", "unembedding_lr", "warmdown_ratio", "init_lr_frac"});

template <std::size_t N>
bool is_in(const std::array<std::string_view, N>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

const Section* section_titled(std::string_view line) {
  if (!line.starts_with("## ")) return nullptr;
  const std::string_view title = trimmed(line.substr(3));
  const auto found =
      std::ranges::find_if(kSections, [&](const Section& s) { return s.title == title; });
  return found == kSections.end() ? nullptr : &*found;
}

struct KeyValue {
  std::string_view key, value;
};
// "- Tokens : Params ratio: 20.0000": the last ": " divides.
std::optional<KeyValue> key_value(std::string_view line) {
  if (!line.starts_with("- ")) return std::nullopt;
  line.remove_prefix(2);
  std::size_t at = line.rfind(": ");
  if (at == line.npos) {
    if (!line.ends_with(':')) return std::nullopt;
    at = line.size() - 1;
  }
  return KeyValue{trimmed(line.substr(0, at)), trimmed(line.substr(at + 1))};
}

class CardReader {
 public:
  explicit CardReader(const std::string& where) : where_(where) {
    table_.name = where;
    table_.runs.emplace_back();
    table_.runs.front().name = where;
  }

  Result<ReportedTable> read(std::string_view text) {
    const std::vector<Line> lines = lines_of(text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      std::size_t next = i + 1;
      while (next < lines.size() && trimmed(lines[next].text).empty()) ++next;
      NB_TRY_VOID(read_line(lines[i], next < lines.size() ? trimmed(lines[next].text) : ""));
    }
    if (settings_ > 0)
      table_.ignored.push_back(message("table.other_lines", with_commas(settings_)));
    if (sections_ == 0)
      return bad_input(where_ + ": a report card without any section (\"## Base model training\")");
    set_sizes();
    NB_TRY_VOID(finish_cells(table_, Percent::kNever));
    return std::move(table_);
  }

 private:
  ReportedRun& run() { return table_.runs.front(); }
  std::string at(const Line& line) const { return fmt::format("{}:{}", where_, line.number); }

  // next: the line that follows, blank ones left out.
  Result<void> read_line(const Line& line, std::string_view next) {
    const std::string_view text = trimmed(line.text);
    const Section* section = section_titled(line.text);
    // In what a model wrote, a title counts only with what report.py writes below it.
    if (section != nullptr && is_in_samples_ && !next.starts_with("timestamp:") &&
        !next.starts_with("- Characters:"))
      section = nullptr;
    if (section != nullptr) {
      section_ = section;
      ++sections_;
      is_in_samples_ = false;
      return {};
    }
    if (text.starts_with("## ") && !is_in_samples_) {
      section_ = nullptr;
      return {};
    }
    if (text.starts_with("Run started:")) {
      run().started = std::string(trimmed(text.substr(12)));
      section_ = nullptr;
      return {};
    }
    if (section_ == nullptr || is_in_samples_) return {};
    if (section_->title == "Environment") return read_header_line(text, line);
    if (section_->title == "Summary") return read_summary_line(text, line);
    if (text.starts_with("timestamp:")) {
      stage().timestamp = std::string(trimmed(text.substr(10)));
      return {};
    }
    if (text.starts_with("- sample ") || text.starts_with("- unconditioned ")) {
      is_in_samples_ = true;  // a model's text, whatever it looks like, up to the next section
      return {};
    }
    const auto pair = key_value(line.text);
    return pair ? read_value(*pair, line) : Result<void>();
  }

  Result<void> read_header_line(std::string_view text, const Line& line) {
    const auto pair = key_value(text);
    if (!pair) return {};
    if (pair->key == "Commit") run().settings["code"] = std::string(pair->value);
    if (pair->key != "GPUs" && pair->key != "Accelerators" && pair->key != "NPUs") return {};
    const std::size_t times = pair->value.find("x ");
    if (times == pair->value.npos || times > 5) {
      run().device = "CPU";
      return {};
    }
    NB_TRY(run().facts[std::string(fact::kCards)],
           parse_printed(pair->value.substr(0, times), at(line)));
    run().device = std::string(trimmed(pair->value.substr(times + 2)));
    return {};
  }

  Result<void> read_value(const KeyValue& pair, const Line& line) {
    if (is_blank_cell(pair.value)) return {};
    if (const std::string_view composite = composite_named(pair.key); !composite.empty())
      return add_cell(pair, line);
    const bool is_task = section_->kind == SectionKind::kEvaluation &&
                         !is_in(kEvaluationSettings, pair.key) &&
                         pair.key.find(' ') == pair.key.npos;
    if (is_task) {
      if (const auto number = parse_printed(pair.value, at(line));
          number && number->unit.empty() && std::abs(number->value) <= 5)
        return add_cell(pair, line);
      // A word is a setting; a number that is none, under the name of a task, is a damaged card.
      if (known_task_named(pair.key) != nullptr) return add_cell(pair, line);
    }
    const FactName* name = fact_of_card(pair.key);
    const bool is_of_evaluation = name != nullptr && name->name == fact::kMaxProblems;
    if (name != nullptr && (section_->kind == SectionKind::kTraining || is_of_evaluation)) {
      NB_TRY(Printed value, parse_fact(*name, pair.value, at(line)));
      if (!is_repeated(stage(), fmt::format("{}\n{}", section_->title, pair.key), pair.key, value,
                       line.number))
        stage().facts[std::string(name->name)] = std::move(value);
      return {};
    }
    if (section_->kind == SectionKind::kTraining && is_in(kWords, pair.key))
      stage().settings[std::string(pair.key)] = std::string(pair.value);
    else
      ++settings_;
    return {};
  }

  Result<void> add_cell(const KeyValue& pair, const Line& line) {
    NB_TRY(Printed number, parse_printed(pair.value, at(line)));
    ReportedCell cell = cell_of(pair.key, std::move(number), line.number);
    // base_eval.py prints centred values, chat_eval.py accuracies.
    if (cell.scale == Scale::kAccuracy && section_->title == "Base model evaluation") {
      cell.scale = Scale::kCentred;
    }
    if (is_repeated(stage(), cell.task, cell.label, cell.score, line.number)) return {};
    stage().cells.push_back(std::move(cell));
    return {};
  }

  // The first line of a key counts; one that stands again is kept as a repetition.
  bool is_repeated(ReportedStage& there, const std::string& key, std::string_view label,
                   const Printed& value, std::size_t line) {
    const auto [seen, is_new] =
        seen_.try_emplace(there.name + "\n" + key, Seen{value, line, sections_});
    if (is_new) return false;
    there.repetitions.push_back({std::string(label), seen->second.value, value, seen->second.line,
                                 line, seen->second.section == sections_});
    return true;
  }

  // | ARC-Easy        | -        | 0.4478   | 0.4684   | -        |
  Result<void> read_summary_line(std::string_view text, const Line& line) {
    if (!text.starts_with('|')) return {};
    std::vector<std::string_view> cells;
    std::string_view rest = text.substr(1);
    for (std::size_t bar = rest.find('|'); bar != rest.npos; bar = rest.find('|')) {
      cells.push_back(trimmed(rest.substr(0, bar)));
      rest.remove_prefix(bar + 1);
    }
    if (cells.empty() || cells.front().starts_with("--")) return {};
    if (cells.front() == "Metric") {
      columns_.assign(cells.begin(), cells.end());
      return {};
    }
    if (cells.size() != columns_.size())
      return bad_input(fmt::format("{}: {} cells in a summary of {} columns", at(line),
                                   cells.size(), columns_.size()));
    for (std::size_t i = 1; i < cells.size(); ++i) {
      if (is_blank_cell(cells[i])) continue;
      NB_TRY(Printed number, parse_printed(cells[i], at(line)));
      ReportedCell cell = cell_of(cells.front(), std::move(number), line.number);
      ReportedStage& stage = stage_of(table_, run().name, std::string(columns_[i]));
      if (is_repeated(stage, "Summary\n" + cell.task, cell.label, cell.score, line.number))
        continue;
      const auto there = std::ranges::find_if(
          stage.cells, [&](const ReportedCell& other) { return other.task == cell.task; });
      if (there == stage.cells.end())
        stage.cells.push_back(std::move(cell));
      else
        there->repeated = cell.score;
    }
    return {};
  }

  // Two trainings of one stage ("Chat SFT", later "SFT") stand in a folder that was not emptied:
  // their numbers are not each other's.
  ReportedStage& stage() {
    std::string name(section_->stage);
    if (section_->kind == SectionKind::kTraining) {
      const auto [trained, is_new] = trained_by_.try_emplace(name, section_->title);
      if (!is_new && trained->second != section_->title) name += " again";
    }
    return stage_of(table_, run().name, name);
  }

  // Items of each task: the full set, or max_problems of it.
  void set_sizes() {
    for (ReportedStage& stage : run().stages) {
      const Printed* limit = stage.fact(fact::kMaxProblems);
      for (ReportedCell& cell : stage.cells) {
        const KnownTask* task = find_known_task(cell.task);
        if (task == nullptr) continue;
        const bool is_limited = limit != nullptr && limit->value >= 1;
        cell.n = task->items;
        if (is_limited && limit->value < static_cast<double>(task->items))
          cell.n = static_cast<std::int64_t>(limit->value);
        cell.is_n_assumed = !is_limited;
      }
    }
    // Every stage is of the same tokenizer.
    if (const ReportedStage* tokenizer = run().stage("TOK"))
      if (const Printed* vocab = tokenizer->fact(fact::kVocab))
        run().facts[std::string(fact::kVocab)] = *vocab;
  }

  struct Seen {
    Printed value;
    std::size_t line;
    int section;  // counted from the top
  };
  std::map<std::string, Seen> seen_;  // by stage, section and key

  std::string where_;
  ReportedTable table_;
  const Section* section_ = nullptr;
  bool is_in_samples_ = false;
  int settings_ = 0, sections_ = 0;
  std::vector<std::string_view> columns_;
  std::map<std::string, std::string_view> trained_by_;  // stage → title of its training section
};

}  // namespace

bool looks_like_report_card(std::string_view text) {
  // One section is a file that begins with its title; a document that quotes one does not.
  bool is_first = true;
  for (const Line& line : lines_of(text)) {
    if (trimmed(line.text).empty()) continue;
    if (trimmed(line.text) == kTitle) return true;
    const Section* section = section_titled(line.text);
    if (is_first && section != nullptr && !section->stage.empty()) return true;
    is_first = false;
  }
  return false;
}

Result<ReportedTable> parse_report_card(std::string_view text, const std::string& where) {
  return CardReader(where).read(text);
}

}  // namespace nb
