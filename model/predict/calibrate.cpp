#include "model/predict/calibrate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "harness/base/check.hpp"
#include "harness/base/fields.hpp"
#include "harness/base/table.hpp"
#include "model/predict/dense_validation.hpp"
#include "model/predict/kernel_validation.hpp"
#include "model/predict/nanochat_validation.hpp"

namespace nb {
namespace {

// A row with the time that a profile with these constants gives it, over the measured one.
struct FitRow {
  std::string id;
  std::function<Result<double>(const std::vector<FamilyConstant>&)> time_ratio;
};

const std::vector<CalibrationRow>& table(const CalibrationTables& tables, std::string_view file) {
  const auto found = tables.find(file);
  NB_CHECK(found != tables.end(), "[calibrate] no table {}", file);
  return found->second;
}

Result<std::vector<FitRow>> dense_fit_rows(const CalibrationTables& tables) {
  NB_TRY(const std::vector<MeasuredJob> all, measured_jobs(table(tables, "megatron_readme")));
  std::vector<MeasuredJob> jobs;
  for (const MeasuredJob& job : all)
    if (job.use == RowUse::kFit) jobs.push_back(job);
  NB_TRY(DenseModel made, DenseModel::make(jobs, "megatron_mindspeed"));
  auto model = std::make_shared<DenseModel>(std::move(made));
  std::vector<FitRow> rows;
  for (const MeasuredJob& job : jobs)
    rows.push_back({job.job.name, [model, job](const auto& constants) -> Result<double> {
                      model->set(constants);
                      NB_TRY(const double step_ns, model->step_ns(job.job, job.machines.front()));
                      return step_ns / job.step_ns;
                    }});
  return rows;
}

Result<void> add_nanochat_rows(const CalibrationTables& tables, std::string_view family,
                               std::vector<FitRow>& rows) {
  for (const CalibrationRow& row : table(tables, "nanochat")) {
    if (row.use != RowUse::kFit || row.unit != "tok/s") continue;
    NB_TRY(const NanochatRun run, nanochat_run(row));
    NB_TRY(PricedMachine made, priced_machine(run.machine, run.stack), row.where);
    if (made.profile.family != family) continue;
    auto machine = std::make_shared<PricedMachine>(std::move(made));
    rows.push_back(
        {row.id, [machine, run, rate = *row.value](const auto& constants) -> Result<double> {
           put_constants(machine->profile, constants);
           NB_TRY(const Prediction p,
                  predict(run.settings, machine->profile, machine->between_nodes), run.id);
           if (!p.fits) return bad_input(fmt::format("{}: {}", run.id, p.out_of_memory));
           return rate / (static_cast<double>(run.replicas) * p.throughput_tok_s);
         }});
  }
  return {};
}

Result<void> add_product_rows(const CalibrationTables& tables, std::string_view family,
                              std::vector<FitRow>& rows) {
  for (const CalibrationRow& row : table(tables, "gemm")) {
    if (row.use != RowUse::kFit) continue;
    NB_TRY(PricedMachine made, priced_machine(std::string(row.text("machine")), ""), row.where);
    if (made.profile.family != family) continue;
    auto machine = std::make_shared<PricedMachine>(std::move(made));
    rows.push_back({row.id, [machine, row](const auto& constants) -> Result<double> {
                      put_constants(machine->profile, constants);
                      NB_TRY(const double time_ns, product_ns(row, machine->profile));
                      return time_ns / (*row.value * 1000);
                    }});
  }
  return {};
}

struct Recipe {
  std::string family;
  std::vector<std::string> constants;  // that are free
  std::string files;                   // that the rows stand in
  std::string why_not;                 // with no constants
};
const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> kRecipes = {
      {"megatron_gpu", {}, "", "no fit row: the reference column names no machine"},
      {"megatron_npu",
       {"attention_efficiency", "hidden_share", "link_bandwidth"},
       "megatron_readme.csv",
       ""},
      {"nanochat_gpu", {"matrix_efficiency"}, "nanochat.csv", ""},
      {"nanochat_npu",
       // Not the memory's: 0.65 would suit the run, but streams of hand-written kernels would be
       // off by a quarter; it stays between them.
       {"host_dispatch", "matrix_efficiency"},
       "nanochat.csv and gemm.csv",
       ""},
  };
  return kRecipes;
}

Result<std::vector<FitRow>> rows_of(const Recipe& recipe, const CalibrationTables& tables) {
  if (recipe.family == "megatron_npu") return dense_fit_rows(tables);
  std::vector<FitRow> rows;
  NB_TRY_VOID(add_nanochat_rows(tables, recipe.family, rows));
  NB_TRY_VOID(add_product_rows(tables, recipe.family, rows));
  return rows;
}

// Four significant digits: more than any row tells.
double rounded(double value) { return std::stod(fmt::format("{:.4g}", value)); }

Result<double> mean_error(const std::vector<FitRow>& rows,
                          const std::vector<FamilyConstant>& constants) {
  double sum = 0;
  for (const FitRow& row : rows) {
    NB_TRY(const double ratio, row.time_ratio(constants));
    sum += std::abs(ratio - 1);
  }
  return sum / static_cast<double>(rows.size());
}

// The constants with the free ones replaced.
std::vector<FamilyConstant> with_values(std::vector<FamilyConstant> constants,
                                        const std::vector<std::string>& free,
                                        std::span<const double> values) {
  for (std::size_t i = 0; i < free.size(); ++i)
    std::ranges::find(constants, free[i], &FamilyConstant::name)->value = values[i];
  return constants;
}

Result<std::vector<FreeConstant>> free_constants(const Recipe& recipe, const Family& family) {
  std::vector<FreeConstant> free;
  for (const std::string& name : recipe.constants) {
    const auto found = std::ranges::find(family.constants, name, &FamilyConstant::name);
    if (found == family.constants.end())
      return bad_input(fmt::format("family {}: has no constant {} to fit", family.name, name));
    free.push_back({name, found->value, found->min, found->max});
  }
  return free;
}

void write_down(CalibratedFamily& result, const Recipe& recipe) {
  Family& family = result.after;
  family.fitted.clear();
  for (FamilyConstant& c : family.constants) {
    if (std::ranges::count(recipe.constants, c.name) == 0) continue;
    family.fitted.push_back(c.pointer);
    c.source =
        fmt::format("fit: npubench predict --calibrate on {} of {}",
                    count_text(static_cast<long long>(result.rows.size()), "row"), recipe.files);
  }
  family.note = fmt::format(
      "{} fitted together on {} marked fit in {} ({}): mean absolute error of their times {:.1f} "
      "%. npubench predict --validate prints every row.",
      count_text(static_cast<long long>(recipe.constants.size()), "constant"),
      count_text(static_cast<long long>(result.rows.size()), "row"), recipe.files,
      fmt::join(result.rows, ", "), 100 * result.error_after);
}

}  // namespace

std::vector<std::string> calibrated_families() {
  std::vector<std::string> names;
  for (const Recipe& recipe : recipes()) names.push_back(recipe.family);
  return names;
}

Result<CalibratedFamily> calibrate(const std::string& family, const CalibrationTables& tables,
                                   const std::function<void(const std::string&)>& said) {
  CalibratedFamily result;
  NB_TRY(result.before, load_family(family));
  result.after = result.before;
  const auto recipe = std::ranges::find(recipes(), result.before.name, &Recipe::family);
  if (recipe == recipes().end())
    return bad_input(fmt::format("no family \"{}\" is fitted{} (fitted: {})", result.before.name,
                                 did_you_mean(result.before.name, calibrated_families()),
                                 fmt::join(calibrated_families(), ", ")));
  result.why_not = recipe->why_not;
  if (recipe->constants.empty()) return result;
  NB_TRY(const std::vector<FitRow> rows, rows_of(*recipe, tables));
  for (const FitRow& row : rows) result.rows.push_back(row.id);
  result.fitted = recipe->constants;
  said(fmt::format("{}: {} on {}", family,
                   count_text(static_cast<long long>(recipe->constants.size()), "constant"),
                   count_text(static_cast<long long>(rows.size()), "row")));
  NB_TRY(const std::vector<FreeConstant> free, free_constants(*recipe, result.before));
  if (!rows.empty()) {
    NB_TRY(result.error_before, mean_error(rows, result.before.constants));
  }
  std::string problem;
  const auto residuals = [&](std::span<const double> values) {
    const auto constants = with_values(result.before.constants, recipe->constants, values);
    std::vector<double> logarithms;
    for (const FitRow& row : rows) {
      const auto ratio = row.time_ratio(constants);
      if (!ratio) problem = ratio.error().message;
      logarithms.push_back(ratio ? std::log(*ratio) : 10);
    }
    return logarithms;
  };
  NB_TRY(Fit fit, fit_constants(free, residuals), "family " + family);
  if (!problem.empty()) return bad_input(problem);
  for (std::size_t i = 0; i < free.size(); ++i) {
    if (is_at_bound(free[i], fit.values[i])) result.at_bound.push_back(free[i].name);
    fit.values[i] = std::clamp(rounded(fit.values[i]), free[i].min, free[i].max);
  }
  result.after.constants = with_values(result.before.constants, recipe->constants, fit.values);
  NB_TRY(result.error_after, mean_error(rows, result.after.constants));
  write_down(result, *recipe);
  return result;
}

std::string family_text(const Family& family) {
  const auto quoted = [](const std::string& text) { return Json(text).dump(); };
  std::string text = fmt::format("{{\n  \"name\": {},\n  \"title\": {},\n  \"constants\": {{\n",
                                 quoted(family.name), quoted(family.title));
  for (std::size_t i = 0; i < family.constants.size(); ++i) {
    const FamilyConstant& c = family.constants[i];
    text += fmt::format("    {}: {{\"at\": {}, ", quoted(c.name), quoted(c.pointer));
    if (!c.also.empty()) text += fmt::format("\"also\": {}, ", quoted(c.also));
    text += fmt::format(
        "\"value\": {}, \"unit\": {}, \"min\": {}, \"max\": {}, \"meaning\": {}, \"source\": "
        "{}}}{}\n",
        c.value, quoted(c.unit), c.min, c.max, quoted(c.meaning), quoted(c.source),
        i + 1 < family.constants.size() ? "," : "");
  }
  std::vector<std::string> fitted;
  for (const std::string& pointer : family.fitted) fitted.push_back(quoted(pointer));
  return text + fmt::format(
                    "  }},\n  \"calibration\": {{\n    \"note\": {},\n    \"fitted\": [{}]\n  "
                    "}}\n}}\n",
                    quoted(family.note), fmt::join(fitted, ", "));
}

}  // namespace nb
