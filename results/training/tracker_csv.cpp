// What trackers export as CSV: wandb's charts ("Step","d20 - train/loss","d20 -
// train/loss__MIN",…), TensorBoard's (Wall time,Step,Value), and any table by step whose columns
// are known. Source: docs.wandb.ai, "Export data" (a chart's CSV: MIN and MAX are the range of the
// points that were sampled); tensorflow/tensorboard @ 81c420dbd:
// tensorboard/plugins/scalar/scalars_plugin.py (scalars_impl), whose files are named
// run-RUN-tag-TAG.csv by the page.
#include <fmt/core.h>

#include <filesystem>
#include <map>

#include "harness/base/byte_order_mark.hpp"
#include "results/messages/sentences.hpp"
#include "results/training/columns.hpp"
#include "results/training/curve_builder.hpp"
#include "results/training/log_lines.hpp"

namespace nb {
namespace {

std::vector<std::string> header_of(std::string_view text) {
  text = without_byte_order_mark(text);
  return csv_cells(text.substr(0, text.find('\n')));
}

constexpr std::string_view kBetween = " - ";
bool is_range(std::string_view name) { return name.ends_with("__MIN") || name.ends_with("__MAX"); }

// Rows of numbers under a header. each(step, cells); cells may be empty.
Result<void> for_each_row(
    const LogText& log, std::size_t step_at, std::size_t width,
    const std::function<Result<void>(std::int64_t, const std::vector<std::string>&, std::size_t)>&
        each) {
  Result<void> result;
  for_each_log_line(log, [&](std::string_view line, std::size_t number) {
    if (number == 1 || !result || line.empty()) return;
    const std::vector<std::string> cells = csv_cells(line);
    const auto where = [&] { return fmt::format("{}:{}", log.where, number); };
    if (cells.size() != width) {
      result = bad_input(fmt::format("{}: {} cells where the header has {}; is the file whole?",
                                     where(), cells.size(), width));
      return;
    }
    if (cells[step_at].empty()) return;
    const auto step = leading_number(cells[step_at]);
    if (!step || !(*step >= 0 && *step < 1e15)) {
      result = bad_input(fmt::format("{}: the step \"{}\" is no number", where(), cells[step_at]));
      return;
    }
    result = each(static_cast<std::int64_t>(*step), cells, number);
  });
  return result;
}

Result<std::optional<double>> cell_number(const std::string& cell, const LogText& log,
                                          std::size_t line, const std::string& column) {
  if (cell.empty()) return std::optional<double>();
  const auto value = leading_number(cell);
  if (!value)
    return bad_input(fmt::format("{}:{}: {} is no number: \"{}\"", log.where, line, column, cell));
  return value;
}

struct Target {
  std::size_t training;
  std::size_t column;
  double factor;
};

}  // namespace

bool is_wandb_csv(std::string_view part, bool is_first) {
  if (!is_first) return false;
  const auto header = header_of(part);
  if (header.size() < 2 || !is_step_name(header[0])) return false;
  for (std::size_t i = 1; i < header.size(); ++i)
    if (header[i].find(kBetween) == std::string::npos) return false;
  return true;
}

Result<TrainingLog> read_wandb_csv(const LogText& log) {
  const auto header = header_of(log.bytes);
  TrainingLog result;
  std::vector<CurveBuilder> curves;
  std::map<std::string, std::size_t> places;  // of trainings
  std::vector<std::optional<Target>> targets(header.size());
  for (std::size_t i = 1; i < header.size(); ++i) {
    if (is_range(header[i])) continue;
    const std::size_t split = header[i].rfind(kBetween);
    if (split == std::string::npos)
      return bad_input(fmt::format("{}:1: the column \"{}\" names no run: \"<run> - <metric>\"",
                                   log.where, header[i]));
    const std::string run = header[i].substr(0, split);
    const SourceColumn column = source_column(header[i].substr(split + kBetween.size()));
    if (is_step_name(header[i].substr(split + kBetween.size()))) continue;
    const auto [at, is_new] = places.try_emplace(run, result.trainings.size());
    if (is_new) {
      result.trainings.emplace_back().name = run;
      curves.emplace_back();
    }
    targets[i] = Target{at->second, curves[at->second].column(column.name), column.factor};
  }
  NB_TRY_VOID(for_each_row(
      log, 0, header.size(),
      [&](std::int64_t step, const std::vector<std::string>& cells,
          std::size_t line) -> Result<void> {
        for (std::size_t i = 1; i < cells.size(); ++i) {
          if (!targets[i]) continue;
          NB_TRY(const auto value, cell_number(cells[i], log, line, header[i]));
          if (value)
            curves[targets[i]->training].put(step, targets[i]->column, *value * targets[i]->factor);
        }
        return {};
      }));
  for (std::size_t i = 0; i < curves.size(); ++i) result.trainings[i].curve = curves[i].finish();
  std::erase_if(result.trainings, [](const Training& one) { return one.curve.empty(); });
  if (result.trainings.empty()) return bad_input(log.where + ": a chart without points");
  return result;
}

bool is_tensorboard_csv(std::string_view part, bool is_first) {
  return is_first && header_of(part) == std::vector<std::string>{"Wall time", "Step", "Value"};
}

Result<TrainingLog> read_tensorboard_csv(const LogText& log) {
  // run-RUN-tag-TAG.csv, "/" written as "_". Another name does not say what the values are.
  const std::string stem = std::filesystem::path(log.where).stem().string();
  const std::size_t tag = stem.rfind("-tag-");
  const SourceColumn column =
      source_column(tag == std::string::npos ? "value" : stem.substr(tag + 5));
  TrainingLog result;
  if (tag == std::string::npos) result.ignored.push_back(message("log.what_values"));
  CurveBuilder curve;
  NB_TRY_VOID(for_each_row(log, 1, 3,
                           [&](std::int64_t step, const std::vector<std::string>& cells,
                               std::size_t line) -> Result<void> {
                             NB_TRY(const auto value, cell_number(cells[2], log, line, "Value"));
                             if (value) curve.put(step, column.name, *value * column.factor);
                             return {};
                           }));
  if (curve.empty()) return bad_input(log.where + ": a chart without points");
  result.trainings.emplace_back().curve = curve.finish();
  return result;
}

bool is_steps_csv(std::string_view part, bool is_first) {
  if (!is_first) return false;
  const auto header = header_of(part);
  if (header.size() < 2 || !is_step_name(header[0])) return false;
  for (std::size_t i = 1; i < header.size(); ++i)
    if (known_column(source_column(header[i]).name) != nullptr) return true;
  return false;
}

Result<TrainingLog> read_steps_csv(const LogText& log) {
  const auto header = header_of(log.bytes);
  CurveBuilder curve;
  std::vector<std::optional<Target>> targets(header.size());
  for (std::size_t i = 1; i < header.size(); ++i) {
    if (is_step_name(header[i]) || header[i].empty()) continue;
    const SourceColumn column = source_column(header[i]);
    targets[i] = Target{0, curve.column(column.name), column.factor};
  }
  std::map<std::string, std::size_t> words;  // columns of words, with their cells
  NB_TRY_VOID(for_each_row(
      log, 0, header.size(),
      [&](std::int64_t step, const std::vector<std::string>& cells, std::size_t) -> Result<void> {
        for (std::size_t i = 1; i < cells.size(); ++i) {
          if (!targets[i] || cells[i].empty()) continue;
          if (const auto value = leading_number(cells[i]))
            curve.put(step, targets[i]->column, *value * targets[i]->factor);
          else
            ++words[header[i]];
        }
        return {};
      }));
  TrainingLog result;
  for (const auto& [name, count] : words)
    result.ignored.push_back(message("log.no_numbers", count, name));
  if (curve.empty()) return bad_input(log.where + ": a table by step without rows");
  result.trainings.emplace_back().curve = curve.finish();
  return result;
}

}  // namespace nb
