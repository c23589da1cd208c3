// How answers about Megatron's models are shown. Reads values, computes nothing.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "harness/base/fields.hpp"
#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/predict_megatron.hpp"
#include "harness/cli/predict_output.hpp"
#include "model/predict/megatron_fit_batch.hpp"
#include "model/train/expected_error.hpp"

namespace nb::cli {
namespace {

std::vector<std::pair<const char*, double>> parts_of(const MegatronStep& step) {
  return {{"product", step.product_ns},
          {"attention", step.attention_ns},
          {"vector", step.vector_ns},
          {"communication", step.communication_ns},
          {"host", step.host_ns},
          {"bubble", step.bubble_ns},
          {"data_parallel", step.data_parallel_ns},
          {"optimizer", step.optimizer_ns}};
}

std::string whole_run_text(const MegatronAnswer& answer, double step_ns) {
  const double time_ns = static_cast<double>(*answer.steps) * step_ns;
  return fmt::format("{} steps: {}, {:.1f} card-hours", with_commas(*answer.steps),
                     human_time_ns(time_ns),
                     static_cast<double>(answer.job.run.ranks) * time_ns / 3600e9);
}

}  // namespace

std::string_view largest_part(const MegatronStep& step) {
  const auto parts = parts_of(step);
  return std::ranges::max_element(parts, {}, &std::pair<const char*, double>::second)->first;
}

Json megatron_json(const PredictRequest& request, const MegatronAnswer& answer) {
  const MegatronJob& job = answer.job;
  const MegatronRun& run = job.run;
  MegatronModel model = job.model;
  Json parts = Json::object();
  for (const auto& [part, time_ns] : parts_of(answer.step)) parts[part] = time_ns;
  const double rate = answer.step.rate_tok_s_card * static_cast<double>(run.ranks);
  const double flops = megatron_flops_per_token(job, FlopConvention::kFull);
  const auto& peak = answer.profile.matrix.peak.of(run.is_fp16 ? DType::kFp16 : DType::kBf16);
  Json json{{"device", request.device},
            {"stack", answer.profile.stack},
            {"clock", "sim"},
            {"method", "closed form"},
            {"model", print_fields(model.fields())},
            {"run", print_struct(run)},
            {"settings",
             {{"model", job.name},
              {"ranks", run.ranks},
              {"tp", run.tp},
              {"pp", run.pp},
              {"vpp", run.vpp},
              {"dp", run.dp()},
              {"sequence_len", run.sequence_len},
              {"micro_batch", run.micro_batch},
              {"global_batch", run.global_batch},
              {"micro_batches", run.micro_batches()},
              {"recompute", run.recompute == MegatronRecompute::kFull ? "full" : "none"},
              {"optimizer", run.distributed_optimizer ? "distributed" : "adam"}}},
            {"fits", answer.fits()},
            {"borderline", answer.is_borderline()},
            {"parameters", job.model.parameter_count()},
            {"flops_per_token", flops},
            {"flop_convention",
             "a token: 6 x parameters of products + 12 x layers x query width x keys of the row; "
             "forward and backward; recomputation not counted"},
            {"step_time_ns", answer.step.step_ns},
            {"time_by_part_ns", std::move(parts)},
            {"throughput_tok_s", rate},
            {"throughput_tok_s_card", answer.step.rate_tok_s_card},
            {"static_bytes", answer.memory.static_bytes},
            {"peak_memory",
             {{"rule",
               "of the fullest stage: first_iteration before the moments exist, steady with "
               "them"},
              {"first_iteration", {{"allocated_bytes", answer.memory.first_peak_bytes}}},
              {"steady", {{"allocated_bytes", answer.memory.steady_peak_bytes}}}}},
            {"capacity_bytes", answer.capacity_bytes}};
  json["assumed"] = Json::object();
  for (const auto& [field, value] : answer.assumed) json["assumed"][field] = value;
  json["expected_error"] = expected_error_json(expected_error(true, answer.profile.identity));
  const auto whole = [&](double step_ns) {
    const double time_ns = static_cast<double>(*answer.steps) * step_ns;
    return Json{{"steps", *answer.steps},
                {"time_ns", time_ns},
                {"card_hours", static_cast<double>(run.ranks) * time_ns / 3600e9}};
  };
  if (answer.steps) json["whole_run"] = whole(answer.step.step_ns);
  if (answer.step_of_other) {
    const double other_ns = answer.step_of_other->step_ns;
    json["against"] = {{"device", answer.against},
                       {"step_time_ns", other_ns},
                       {"step_time_ratio", answer.step.step_ns / other_ns}};
    if (answer.steps) json["against"]["whole_run"] = whole(other_ns);
  }
  if (answer.step_with_mc2) json["step_time_with_mc2_ns"] = answer.step_with_mc2->step_ns;
  if (peak) {
    json["mfu_peak"] = {{"value", peak->value},
                        {"unit", peak->unit},
                        {"of", "card"},
                        {"dtype", run.is_fp16 ? "fp16" : "bf16"}};
    json["mfu"] = *answer.mfu();
  }
  return json;
}

std::string megatron_text(const PredictRequest& request, const MegatronAnswer& answer) {
  const MegatronJob& job = answer.job;
  const MegatronRun& run = job.run;
  TextTable table{{"simulated", ""}, {}};
  auto& rows = table.rows;
  rows.push_back({"device", fmt::format("{} × {}, stack {}", run.ranks, request.device,
                                        answer.profile.stack)});
  rows.push_back({"model", fmt::format("{}, {} parameters", job.name,
                                       with_commas(job.model.parameter_count()))});
  rows.push_back(
      {"cut", fmt::format("tp {}, pp {}{}, dp {}", run.tp, run.pp,
                          run.vpp > 1 ? fmt::format(" × vpp {}", run.vpp) : "", run.dp())});
  rows.push_back(
      {"step", fmt::format("{} tokens: {} of {} × {} per replica",
                           with_commas(static_cast<long long>(job.tokens_per_step())),
                           count_text(run.micro_batches(), "micro-batch", "micro-batches"),
                           run.micro_batch, run.sequence_len)});
  std::string step_time = human_time_ns(answer.step.step_ns);
  if (answer.step_with_mc2)
    step_time += fmt::format(" (mc2 off; on: {})", human_time_ns(answer.step_with_mc2->step_ns));
  rows.push_back({"step time", step_time});
  std::vector<std::string> shares;
  for (const auto& [part, time_ns] : parts_of(answer.step))
    if (const double share = 100 * time_ns / answer.step.step_ns; share >= .5)
      shares.push_back(fmt::format("{} {:.0f} %", part, share));
  std::ranges::for_each(shares, [](std::string& s) { std::ranges::replace(s, '_', ' '); });
  rows.push_back({"  spent on", fmt::format("{}", fmt::join(shares, ", "))});
  if (answer.steps) rows.push_back({"whole run", whole_run_text(answer, answer.step.step_ns)});
  const IdentityProfile& machine = answer.profile.identity;
  rows.push_back({"  expected error", expected_error_text(expected_error(true, machine), machine)});
  if (answer.step_of_other) {
    const double other_ns = answer.step_of_other->step_ns;
    rows.push_back(
        {"  against",
         fmt::format("{:.3g} × {}: {}{}", answer.step.step_ns / other_ns, answer.against,
                     human_time_ns(other_ns),
                     answer.steps ? " a step, " + whole_run_text(answer, other_ns) : "")});
  }
  rows.push_back({"throughput", fmt::format("{}, {} per card",
                                            human_rate(answer.step.rate_tok_s_card *
                                                           static_cast<double>(run.ranks),
                                                       "tok/s"),
                                            human_rate(answer.step.rate_tok_s_card, "tok/s"))});
  const auto& peak = answer.profile.matrix.peak.of(run.is_fp16 ? DType::kFp16 : DType::kBf16);
  if (peak)
    rows.push_back({"MFU", fmt::format("{:.1f} % of {:.4g} {} {} per card, all keys counted",
                                       100 * *answer.mfu(), peak->value, peak->unit,
                                       run.is_fp16 ? "fp16" : "bf16")});
  rows.push_back({"memory, static", human_bytes(answer.memory.static_bytes)});
  rows.push_back({"peak memory", fmt::format("first step {}, later steps {}",
                                             human_bytes(answer.memory.first_peak_bytes),
                                             human_bytes(answer.memory.steady_peak_bytes))});
  rows.push_back({"  of", human_bytes(answer.capacity_bytes)});
  const FittingBatch batch = megatron_fit_batch(job, answer.capacity_bytes);
  rows.push_back({"largest micro-batch",
                  batch.rows == 0 ? "none: not even one row fits"
                                  : fmt::format("{}, {:.1f} % left; one more lacks {:.1f} %{}",
                                                count_text(batch.rows, "row"), 100 * batch.margin(),
                                                100 * batch.next_lack(),
                                                batch.is_borderline() ? " (borderline)" : "")});
  std::vector<std::string> assumed;
  for (const auto& [field, value] : answer.assumed)
    assumed.push_back(fmt::format("{} {}", flag_of(field), value));
  if (!assumed.empty()) rows.push_back({"assumed", fmt::format("{}", fmt::join(assumed, ", "))});
  return to_text(table, output_width());
}

Json megatron_fit_json(const PredictRequest& request, const MegatronAnswer& answer,
                       const FittingBatch& batch) {
  Json json = megatron_json(request, answer);
  Json settings = json["settings"];
  for (const char* decides_nothing : {"micro_batch", "global_batch", "micro_batches"})
    settings.erase(decides_nothing);
  return {{"device", request.device},
          {"stack", answer.profile.stack},
          {"settings", std::move(settings)},
          {"clock", "sim"},
          {"method", "closed form"},
          {"largest_device_batch_size", batch.rows},
          {"capacity_bytes", batch.capacity_bytes},
          {"needed_bytes", batch.needed_bytes},
          {"margin", batch.rows > 0 ? Json(batch.margin()) : Json()},
          {"one_row_more_needs_bytes", batch.next_needed_bytes},
          {"one_row_more_lacks", batch.next_lack()},
          {"borderline", batch.is_borderline()}};
}

std::string megatron_fit_text(const PredictRequest& request, const MegatronAnswer& answer,
                              const FittingBatch& batch) {
  const MegatronRun& run = answer.job.run;
  TextTable table{{"simulated", ""}, {}};
  auto& rows = table.rows;
  rows.push_back({"device", fmt::format("{} × {}, stack {}", run.ranks, request.device,
                                        answer.profile.stack)});
  rows.push_back(
      {"model", fmt::format("{}, rows of {} tokens, tp {}, pp {}, dp {}", answer.job.name,
                            run.sequence_len, run.tp, run.pp, run.dp())});
  const auto add = [&](const char* what, std::uint64_t bytes, const std::string& beside) {
    rows.push_back({what, fmt::format("{}{}", human_bytes(static_cast<double>(bytes)), beside)});
  };
  add("capacity", batch.capacity_bytes, "");
  rows.push_back({"largest micro-batch that fits",
                  batch.rows == 0 ? "none: not even one row" : count_text(batch.rows, "row")});
  if (batch.rows > 0)
    add("  it needs", batch.needed_bytes,
        fmt::format(": {:.1f} % of the capacity are left", 100 * batch.margin()));
  add("  one row more needs", batch.next_needed_bytes,
      fmt::format(": {:.1f} % of the capacity are lacking", 100 * batch.next_lack()));
  if (batch.is_borderline())
    rows.push_back({"borderline", "within 2 % of the capacity, which is less than our error"});
  return to_text(table, output_width());
}

}  // namespace nb::cli
