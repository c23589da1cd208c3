#include "harness/cli/predict_validate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "harness/base/csv.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "harness/base/say.hpp"
#include "harness/base/table.hpp"
#include "harness/cli/common.hpp"
#include "harness/predict/own_constants.hpp"
#include "model/predict/validate.hpp"

namespace nb::cli {
namespace {

std::string cell(const std::optional<double>& value) { return value ? number_text(*value) : ""; }

Json row_json(const ValidationRow& row) {
  Json json{{"id", row.id},
            {"use", name(row.use)},
            {"reason", row.reason},
            {"machine", row.machine},
            {"unit", row.unit},
            {"measured", optional_json(row.measured)},
            {"predicted", optional_json(row.predicted)},
            {"error", optional_json(row.error)}};
  if (row.shipped) json["error_shipped"] = *row.shipped;
  if (row.left_out) json["error_left_out"] = *row.left_out;
  if (row.baseline) json["error_one_utilisation"] = *row.baseline;
  if (row.baseline_left_out) json["error_one_utilisation_left_out"] = *row.baseline_left_out;
  if (!row.note.empty()) json["note"] = row.note;
  return json;
}

Result<void> draw(const Validation& validation, const std::string& folder) {
  if (!has_gnuplot("gnuplot"))
    return run_error(fmt::format(
        "{}: not drawn: gnuplot is not installed (apt-get install gnuplot-nox)", folder));
  NB_TRY_VOID(make_folders(folder));
  for (const Plot& plot : residual_plots(validation))
    NB_TRY_VOID(draw_plot_file(plot, fs::path(folder) / (plot.name + ".svg"), "gnuplot"));
  return {};
}

// Which of the figures fail, in one sentence.
std::string failures_of(const Validation& validation) {
  std::vector<std::string> failing;
  for (const ValidationFigure& figure : validation.figures)
    if (!figure.holds()) failing.push_back(figure.name);
  for (const SideRow& side : validation.sides)
    if (side.side == Side::kWrong) failing.push_back("side of the GPU: " + side.id);
  return fmt::format("{} {} not hold: {}",
                     count_text(static_cast<long long>(failing.size()), "figure"),
                     failing.size() == 1 ? "does" : "do", fmt::join(failing, "; "));
}

}  // namespace

Json validation_json(const Validation& validation) {
  Json groups = Json::array();
  for (const ValidationGroup& group : validation.groups) {
    Json rows = Json::array();
    for (const ValidationRow& row : group.rows) rows.push_back(row_json(row));
    groups.push_back({{"name", group.name},
                      {"title", group.title},
                      {"family", group.family},
                      {"rows", std::move(rows)}});
  }
  Json figures = Json::array();
  for (const ValidationFigure& figure : validation.figures)
    figures.push_back({{"name", figure.name},
                       {"value", optional_json(figure.value)},
                       {"limit", figure.limit},
                       {"holds", figure.holds()}});
  Json sides = Json::array();
  for (const SideRow& side : validation.sides)
    sides.push_back({{"id", side.id},
                     {"measured_ratio", side.measured},
                     {"predicted_ratio", side.predicted},
                     {"side", name(side.side)}});
  Json constants = Json::array();
  for (const ConstantSpread& c : validation.constants)
    constants.push_back({{"name", c.name},
                         {"unit", c.unit},
                         {"value", c.value},
                         {"lowest_left_out", c.lowest},
                         {"highest_left_out", c.highest},
                         {"min", c.min},
                         {"max", c.max}});
  return {{"groups", std::move(groups)},   {"constants", std::move(constants)},
          {"figures", std::move(figures)}, {"reference", validation.reference},
          {"sides", std::move(sides)},     {"holds", validation.holds()}};
}

std::string validation_csv(const Validation& validation) {
  std::string text = csv_line({"group", "family", "id", "use", "machine", "unit", "measured",
                               "predicted", "error", "error_left_out", "error_one_utilisation",
                               "error_one_utilisation_left_out", "note", "reason"}) +
                     "\n";
  for (const ValidationGroup& group : validation.groups)
    for (const ValidationRow& row : group.rows)
      text += csv_line({group.name, group.family, row.id, std::string(name(row.use)), row.machine,
                        row.unit, cell(row.measured), cell(row.predicted), cell(row.error),
                        cell(row.left_out), cell(row.baseline), cell(row.baseline_left_out),
                        row.note, row.reason}) +
              "\n";
  return text;
}

int predict_validate(const ValidateOptions& options, bool json) {
  std::error_code ignored;
  const bool is_folder = options.rows_dir.empty() || fs::is_directory(options.rows_dir, ignored);
  const auto tables = calibration_tables(is_folder ? options.rows_dir : "");
  if (!tables) return fail(tables.error());
  OwnConstants own;
  if (!is_folder) {
    auto read = own_constants(options.rows_dir);
    if (!read) return fail(read.error());
    own = std::move(*read);
  }
  const auto validation = validate(*tables, own);
  if (!validation) return fail(validation.error());
  if (!options.csv.empty())
    if (const auto written = write_file(options.csv, validation_csv(*validation)); !written)
      return fail(written.error());
  if (!options.plots.empty())
    if (const auto drawn = draw(*validation, options.plots); !drawn) return fail(drawn.error());
  if (json) {
    if (const int printed = print_json(validation_json(*validation)); printed != kExitOk)
      return printed;
  } else {
    say("{}", validation_text(*validation));
  }
  if (validation->holds()) return kExitOk;
  return fail({ErrorCode::kRun, failures_of(*validation)});
}

}  // namespace nb::cli
