#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"
#include "harness/cli/predict_output.hpp"
#include "harness/run/preflight.hpp"
#include "model/device/alloc_conf.hpp"
#include "model/train/mfu.hpp"

namespace nb::cli {
namespace {

constexpr double kLeastShare = .005;  // of what is listed by name; less rounds to 0 %

// "8 rows per card (given)"; "8 rows per card (largest that fits; 16 do not)".
std::string batch_text(const PredictSettings& settings, const Prediction& p) {
  const std::string rows = count_text(p.device_batch_size, "row") + " per card";
  if (settings.device_batch_size) return rows + " (given)";
  if (p.too_large_batch_size == 0) return rows + " (largest that divides the step)";
  return fmt::format("{} (largest that fits; {} do not)", rows, p.too_large_batch_size);
}

// "product 61 %, attention 20 %, …": the largest first.
template <class Name, class T, std::size_t n>
std::string shares_text(const std::array<T, n>& parts, double whole) {
  std::vector<std::pair<double, std::string>> shares;
  for (std::size_t i = 0; i < n; ++i)
    if (const double share = static_cast<double>(parts[i]) / whole; share >= kLeastShare) {
      std::string word(name(static_cast<Name>(i)));
      std::ranges::replace(word, '_', ' ');
      shares.emplace_back(share, fmt::format("{} {:.0f} %", word, 100 * share));
    }
  std::ranges::stable_sort(shares, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> words;
  for (const auto& [share, text] : shares) words.push_back(text);
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string bytes_text(std::uint64_t size_bytes) {
  return human_bytes(static_cast<double>(size_bytes));
}

using Rows = std::vector<std::vector<std::string>>;

// "4.7 × h100_sxm: 485 ms, 2 h 52 min, 23.0 card-hours"
void add_other(Rows& rows, const PredictedRun& run) {
  const RunOutlook& outlook = *run.outlook;
  if (!outlook.other->fits) {
    rows.push_back({"  against", fmt::format("{}: {} rows do not fit there; {}", outlook.against,
                                             outlook.other->device_batch_size,
                                             largest_batch_text(*outlook.other))});
    return;
  }
  const double step_ns = outlook.other->step_time_ns;
  std::string text = fmt::format("{:.3g} × {}: {}", run.prediction.step_time_ns / step_ns,
                                 outlook.against, human_time_ns(step_ns));
  if (outlook.steps) {
    const double time_ns = static_cast<double>(*outlook.steps) * step_ns;
    text += fmt::format(" a step, {}, {:.1f} card-hours", human_time_ns(time_ns),
                        static_cast<double>(run.settings.cards) * time_ns / 3600e9);
  }
  rows.push_back({"  against", text});
}

void add_batch(Rows& rows, const FittingBatch& batch) {
  rows.push_back({"largest batch",
                  batch.rows == 0 ? "none: not even one row fits"
                                  : fmt::format("{}, {:.1f} % left; one more lacks {:.1f} %{}",
                                                count_text(batch.rows, "row"), 100 * batch.margin(),
                                                100 * batch.next_lack(),
                                                batch.is_borderline() ? " (borderline)" : "")});
}

}  // namespace

std::string expected_error_text(const std::optional<ExpectedError>& error,
                                const IdentityProfile& machine) {
  if (machine.evidence)
    return "not known: the machine's profile is made from data sheets, no run on it was measured";
  if (!error) return "not known: no run of this kind was measured";
  return fmt::format(
      "± {:.1f} %{} ({} rows: {})", 100 * error->mean,
      error->largest > 0 ? fmt::format(", at most {:.1f} %", 100 * error->largest) : "",
      error->rows, error->of);
}

std::string prediction_text(const PredictedRun& run) {
  const PredictSettings& settings = run.settings;
  const Prediction& p = run.prediction;
  TextTable table{{"simulated", ""}, {}};
  auto& rows = table.rows;
  rows.push_back({"device", fmt::format("{} × {}", settings.cards, run.device)});
  if (p.nodes > 1)
    rows.push_back(
        {"nodes", fmt::format("{} of {}", p.nodes, count_text(settings.cards / p.nodes, "card"))});
  rows.push_back({"model", fmt::format("{} d{}, {} parameters", settings.model.value_or("nanochat"),
                                       settings.depth, with_commas(p.param_count))});
  rows.push_back({"device batch", batch_text(settings, p)});
  rows.push_back(
      {"step", fmt::format("{}, {} tokens: {} of {} × {} per card", name(settings.stage),
                           with_commas(settings.tokens_per_step(p.device_batch_size)),
                           count_text(p.accumulation_steps, "micro-batch", "micro-batches"),
                           p.device_batch_size,
                           settings.tokens_per_step(p.device_batch_size) /
                               (p.accumulation_steps * p.device_batch_size * settings.cards))});
  rows.push_back({"step time", human_time_ns(p.step_time_ns)});
  rows.push_back({"  waiting for other cards", human_time_ns(p.communication_time_ns)});
  if (settings.stage == TrainingStage::kRl)
    rows.push_back({"  generating answers", human_time_ns(p.generate_time_ns)});
  rows.push_back({"  spent on", shares_text<OpClass>(p.account.class_ns, p.step_time_ns)});
  rows.push_back({"  limited by", shares_text<TimeLimit>(p.account.limit_ns, p.step_time_ns)});
  rows.push_back({"launches", with_commas(static_cast<long long>(p.account.launch_count()))});
  if (const auto steps = run.outlook != nullptr ? run.outlook->steps : settings.steps) {
    const double time_ns = static_cast<double>(*steps) * p.step_time_ns;
    rows.push_back(
        {run.outlook != nullptr && run.outlook->is_by_recipe ? "stage, by its recipe" : "stage",
         fmt::format("{} steps, {} tokens: {}, {:.1f} card-hours", with_commas(*steps),
                     with_commas(*steps * settings.tokens_per_step(p.device_batch_size)),
                     human_time_ns(time_ns),
                     static_cast<double>(settings.cards) * time_ns / 3600e9)});
  }
  if (run.outlook != nullptr)
    rows.push_back(
        {"  expected error", expected_error_text(run.outlook->error, run.profile.identity)});
  if (run.outlook != nullptr && !run.outlook->against.empty()) add_other(rows, run);
  rows.push_back({"throughput", human_rate(p.throughput_tok_s, "tok/s")});
  if (settings.stage != TrainingStage::kRl)
    rows.push_back({"MFU", fmt::format("{:.1f} % of {:.4g} {} {} per card", 100 * p.mfu,
                                       mfu_peak(run.profile).value, mfu_peak(run.profile).unit,
                                       name(mfu_dtype(run.profile)))});
  rows.push_back({"peak memory, allocated", bytes_text(p.peak_allocated_bytes)});
  rows.push_back(
      {"  first step, later steps", fmt::format("{}, {}", bytes_text(p.first_peak.allocated_bytes),
                                                bytes_text(p.steady_peak.allocated_bytes))});
  rows.push_back(
      {"  held by",
       shares_text<BlockUse>(p.peak_by_use, static_cast<double>(p.steady_peak.allocated_bytes))});
  rows.push_back(
      {"peak memory, reserved",
       bytes_text(p.peak_reserved_bytes) +
           (p.is_borderline ? " (borderline: with 2 % less memory it does not fit)" : "")});
  if (run.outlook != nullptr && run.outlook->batch) add_batch(rows, *run.outlook->batch);
  if (const auto& conf = run.profile.software.alloc_conf)
    rows.push_back({"allocator", conf->value});
  return to_text(table, output_width());
}

std::string fit_text(const std::string& device, const PredictSubject& subject,
                     const FittingBatch& batch) {
  const PredictSettings& settings = subject.settings;
  TextTable table{{"simulated", ""}, {}};
  auto& rows = table.rows;
  rows.push_back({"device", fmt::format("{} × {}", settings.cards, device)});
  rows.push_back(
      {"model", fmt::format("{} d{}, {} of {} tokens per row", settings.model.value_or("nanochat"),
                            settings.depth, name(settings.stage), settings.sequence_len)});
  rows.push_back({"capacity", bytes_text(batch.capacity_bytes)});
  rows.push_back({"largest batch that fits",
                  batch.rows == 0 ? "none: not even one row"
                                  : fmt::format("{} a card", count_text(batch.rows, "row"))});
  if (batch.rows > 0)
    rows.push_back(
        {"  it needs", fmt::format("{}: {:.1f} % of the capacity are left",
                                   bytes_text(batch.needed_bytes), 100 * batch.margin())});
  rows.push_back({"  one row more needs",
                  fmt::format("{}: {:.1f} % of the capacity are lacking",
                              bytes_text(batch.next_needed_bytes), 100 * batch.next_lack())});
  if (batch.is_borderline())
    rows.push_back({"borderline", "within 2 % of the capacity, which is less than our error"});
  if (const auto& conf = subject.profile.software.alloc_conf)
    rows.push_back({"allocator", conf->value});
  return to_text(table, output_width());
}

std::string alloc_note(const DeviceProfile& profile) {
  const auto& text = profile.software.alloc_conf;
  if (!text) return "";
  const auto conf = parse_alloc_conf(text->value, profile.software.out_of_memory.value, "");
  return conf ? alloc_conf_note(*conf) : "";
}

}  // namespace nb::cli
