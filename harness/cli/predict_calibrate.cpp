#include "harness/cli/predict_calibrate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/say.hpp"
#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"
#include "harness/cli/common.hpp"
#include "model/predict/calibrate.hpp"

namespace nb::cli {
namespace {

template <class List>
bool holds(const List& list, const std::string& value) {
  return std::ranges::find(list, value) != list.end();
}

std::string state_of(const CalibratedFamily& family, const std::string& constant) {
  if (holds(family.at_bound, constant)) return "AT ITS BOUND";
  return holds(family.fitted, constant) ? "fitted" : "kept";
}

std::string family_table(const CalibratedFamily& family) {
  TextTable table{{family.before.name, "before", "after", "range", ""}, {}};
  for (std::size_t i = 0; i < family.before.constants.size(); ++i) {
    const FamilyConstant& before = family.before.constants[i];
    table.rows.push_back({before.name, fmt::format("{} {}", number_text(before.value), before.unit),
                          number_text(family.after.constants[i].value),
                          fmt::format("{} to {}", number_text(before.min), number_text(before.max)),
                          state_of(family, before.name)});
  }
  std::string text = to_text(table, output_width());
  if (!family.why_not.empty()) return text + "not fitted: " + family.why_not + "\n";
  text += fmt::format("mean |error| of {}: {:.1f} % before, {:.1f} % after\n",
                      count_text(static_cast<long long>(family.rows.size()), "fit row"),
                      100 * family.error_before, 100 * family.error_after);
  for (const std::string& name : family.at_bound)
    text +=
        fmt::format("{} stands at its bound: the model is wrong there, not the constant\n", name);
  return text;
}

Json family_json(const CalibratedFamily& family) {
  Json constants = Json::object();
  for (std::size_t i = 0; i < family.before.constants.size(); ++i) {
    const FamilyConstant& before = family.before.constants[i];
    constants[before.name] = {{"before", before.value},
                              {"after", family.after.constants[i].value},
                              {"unit", before.unit},
                              {"min", before.min},
                              {"max", before.max},
                              {"is_fitted", holds(family.fitted, before.name)},
                              {"is_at_bound", holds(family.at_bound, before.name)}};
  }
  return {{"family", family.before.name},
          {"constants", std::move(constants)},
          {"rows", family.rows},
          {"error_before", family.error_before},
          {"error_after", family.error_after},
          {"not_fitted", family.why_not}};
}

// Nothing is written for a model that is wrong: all files, or none.
Result<void> write_families(const std::vector<CalibratedFamily>& families,
                            const std::string& folder) {
  for (const CalibratedFamily& family : families)
    if (family.why_not.empty())
      NB_TRY_VOID(
          write_file(fs::path(folder) / (family.before.name + ".json"), family_text(family.after)));
  return {};
}

}  // namespace

int predict_calibrate(const CalibrateOptions& options, const std::string& rows_dir, bool json) {
  const auto tables = calibration_tables(rows_dir);
  if (!tables) return fail(tables.error());
  const auto names = options.families.empty() ? calibrated_families() : options.families;
  std::vector<CalibratedFamily> families;
  for (const std::string& name : names) {
    auto family = calibrate(
        name, *tables, [](const std::string& line) { say_on_stderr(fmt::format("{}\n", line)); });
    if (!family) return fail(family.error());
    families.push_back(std::move(*family));
  }
  std::vector<std::string> at_bound;
  Json list = Json::array();
  for (const CalibratedFamily& family : families) {
    for (const std::string& constant : family.at_bound)
      at_bound.push_back(family.before.name + " " + constant);
    list.push_back(family_json(family));
    if (!json) say("{}{}", list.size() > 1 ? "\n" : "", family_table(family));
  }
  if (json)
    if (const int printed = print_json(list); printed != kExitOk) return printed;
  if (!at_bound.empty())
    return fail(
        {ErrorCode::kRun,
         fmt::format("{} at the bound, a failure of the model{}: look at npubench predict validate",
                     fmt::join(at_bound, ", "),
                     options.out.empty() ? "" : "; no file was written")});
  if (options.out.empty()) return kExitOk;
  const auto written = write_families(families, options.out);
  return written ? kExitOk : fail(written.error());
}

}  // namespace nb::cli
