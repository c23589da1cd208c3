#include "harness/predict/claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/table.hpp"
#include "model/device/memory.hpp"
#include "results/audit/fact_names.hpp"
#include "results/audit/read_table.hpp"
#include "results/audit/shape_of.hpp"

namespace nb {
namespace {

// Where a row says nothing: nanochat speedrun.sh's batch, SFT rows of 512 tokens, RL questions of
// 100 and answers of 256, as in suites/speedrun_d20.json.
constexpr std::int64_t kBatchTokens = 524288, kRowTokens = 512, kPromptTokens = 100,
                       kAnswerTokens = 256, kExamples = 64;

std::optional<std::int64_t> whole(const ReportedRun& run, const ReportedStage& stage,
                                  std::string_view fact) {
  const auto value = positive(run, stage, fact);
  return value ? std::optional(std::llround(*value)) : std::nullopt;
}

// "SFT, 8 cards" or its group "SFT"; BASE where neither names a stage.
TrainingStage stage_of_row(const ReportedStage& stage) {
  const std::string& text = stage.group.empty() ? stage.name : stage.group;
  for (const auto& [word, found] : {std::pair("Mid", TrainingStage::kMid),
                                    {"MID", TrainingStage::kMid},
                                    {"SFT", TrainingStage::kSft},
                                    {"RL", TrainingStage::kRl}})
    if (text.starts_with(word)) return found;
  return TrainingStage::kBase;
}

// Of the row, else of another row of its group: a guide names it once.
std::optional<std::int64_t> device_batch_of(const ReportedRun& run, const ReportedStage& stage) {
  if (const auto own = whole(run, stage, fact::kDeviceBatch)) return own;
  for (const ReportedStage& other : run.stages)
    if (!stage.group.empty() && other.group == stage.group)
      if (const auto value = whole(run, other, fact::kDeviceBatch)) return value;
  return std::nullopt;
}

// The multiple of `unit` that is nearest to `value`, one unit at least.
std::int64_t nearest_multiple(std::int64_t value, std::int64_t unit) {
  return std::max<std::int64_t>(1, (value + unit / 2) / unit) * unit;
}

struct Training {
  PredictSettings settings;
  std::vector<std::string> assumed;
};

Training training_of(const ReportedRun& run, const ReportedStage& stage) {
  Training training;
  PredictSettings& s = training.settings;
  s.depth = *whole(run, stage, fact::kDepth);
  s.vocab_size = whole(run, stage, fact::kVocab).value_or(s.vocab_size);
  s.sequence_len = whole(run, stage, fact::kSequence).value_or(s.sequence_len);
  s.cards = whole(run, stage, fact::kCards).value_or(1);
  s.stage = stage_of_row(stage);
  s.device_batch_size = device_batch_of(run, stage);
  const std::int64_t rows = s.device_batch_size.value_or(1) * s.cards;
  if (s.stage == TrainingStage::kSft) {
    s.row_tokens = kRowTokens;
    s.examples_per_step =
        nearest_multiple(whole(run, stage, fact::kTargetExamples).value_or(kExamples), rows);
    training.assumed.push_back(fmt::format("rows of {} tokens", kRowTokens));
  } else if (s.stage == TrainingStage::kRl) {
    s.prompt_tokens = kPromptTokens;
    s.answer_tokens = kAnswerTokens;
    training.assumed.push_back(fmt::format("answers of {} tokens", kAnswerTokens));
  } else {
    const std::int64_t asked = whole(run, stage, fact::kTotalBatch).value_or(kBatchTokens);
    s.total_batch_tokens = nearest_multiple(asked, rows * s.sequence_len);
    if (s.total_batch_tokens != asked)
      training.assumed.push_back(
          fmt::format("a step of {} tokens", with_commas(s.total_batch_tokens)));
  }
  return training;
}

// Of all cards, in products of 16 bits.
double peak_flop_s(const DeviceProfile& profile, std::int64_t cards) {
  const auto& peak = profile.matrix.peak;
  const auto& half = peak.of(DType::kBf16) ? peak.of(DType::kBf16) : peak.of(DType::kFp16);
  return 1e12 * half->value * static_cast<double>(cards);
}

JudgedClaim judged_memory(const std::string& row, const Printed& claimed,
                          const PredictSubject& subject, const Training& training,
                          const Prediction& prediction, const Expected& expected) {
  JudgedClaim claim{row, "memory", claimed.text, claimed.value, 0, "", {}, ""};
  const auto capacity = static_cast<double>(
      subject.profile.memory_budget(static_cast<int>(training.settings.cards)).capacity_bytes);
  if (!prediction.fits) {
    claim.predicted = "out of memory";
    claim.verdict = ClaimVerdict::kImpossible;
    claim.why = expected.with_assumed(
        fmt::format("a batch of {} needs more than the {} of a card; {} fit",
                    training.settings.device_batch_size.value_or(1), human_bytes(capacity),
                    prediction.largest_device_batch_size));
    return claim;
  }
  const auto held = [&](BlockUse use) {
    return static_cast<double>(prediction.peak_by_use[static_cast<std::size_t>(use)]);
  };
  const double standing =
      held(BlockUse::kParameter) + held(BlockUse::kGradient) + held(BlockUse::kOptimizer);
  claim.predicted_value = static_cast<double>(prediction.peak_allocated_bytes);
  claim.predicted = human_bytes(claim.predicted_value);
  const double factor = claimed.value / claim.predicted_value;
  claim.verdict =
      claimed.value < standing ? ClaimVerdict::kImpossible : verdict_of(factor, kMemoryFactor);
  claim.why = expected.with_assumed(fmt::format(
      "weights, gradients and optimizer take {}, activations {}; {:.2g} x the prediction",
      human_bytes(standing), human_bytes(held(BlockUse::kActivation)), factor));
  return claim;
}

// A row as it is claimed; false: nothing to judge.
struct Claimed {
  const Printed* rate = nullptr;
  const Printed* memory = nullptr;
  const Printed* minutes = nullptr;
  bool is_empty() const { return rate == nullptr && memory == nullptr && minutes == nullptr; }
};
Claimed claimed_of(const ReportedStage& stage) {
  return {stage.fact(fact::kRate), stage.fact(fact::kMemory), stage.fact(fact::kMinutes)};
}

void judge_time_of(JudgedTable& judged, const ReportedRun& run, const ReportedStage& stage,
                   const std::string& row, double parameters, const Expected& expected) {
  const Printed* minutes = stage.fact(fact::kMinutes);
  if (minutes == nullptr) return;
  std::optional<double> tokens = tokens_of(run, stage);
  if (const auto ratio = positive(run, stage, fact::kTokensPerParameter); !tokens && ratio)
    tokens = *ratio * parameters;
  if (tokens)
    judged.claims.push_back(judged_time(row, *minutes, *tokens, expected));
  else
    judged.left_out.push_back(row + ": a time, but no number of tokens");
}

void judge_row(JudgedTable& judged, const PredictSubject& subject, const ReportedRun& run,
               const ReportedStage& stage, const std::string& row) {
  const Claimed claimed = claimed_of(stage);
  if (claimed.is_empty()) return;
  if (!whole(run, stage, fact::kDepth)) {
    judged.left_out.push_back(row +
                              ": no depth, and no --model that says what was trained instead");
    return;
  }
  const Training training = training_of(run, stage);
  const auto prediction = predict(training.settings, subject.profile, subject.between_nodes);
  if (!prediction) {
    judged.left_out.push_back(fmt::format("{}: {}", row, prediction.error().message));
    return;
  }
  Expected expected;
  expected.cards = static_cast<double>(training.settings.cards);
  expected.peak_flop_s = peak_flop_s(subject.profile, training.settings.cards);
  expected.flops_per_token = static_cast<double>(prediction->flops_per_token);
  expected.assumed = training.assumed;
  if (prediction->fits) expected.rate_tok_s = prediction->throughput_tok_s;
  expected.no_rate = "the batch does not fit";
  if (claimed.rate != nullptr) judged.claims.push_back(judged_rate(row, *claimed.rate, expected));
  if (claimed.memory != nullptr)
    judged.claims.push_back(
        judged_memory(row, *claimed.memory, subject, training, *prediction, expected));
  judge_time_of(judged, run, stage, row, static_cast<double>(prediction->param_count), expected);
}

// What the row says of the job where the command line does not; a sentence where both say it and
// not the same.
std::optional<std::string> take_from_row(PredictRequest& request, const ReportedRun& run,
                                         const ReportedStage& stage) {
  for (const auto& [field, fact] : {std::pair("cards", fact::kCards),
                                    {"device_batch_size", fact::kDeviceBatch},
                                    {"total_batch_tokens", fact::kTotalBatch},
                                    {"sequence_len", fact::kSequence}}) {
    const auto stated = whole(run, stage, fact);
    std::string& given = request.given[field];
    if (!stated) continue;
    if (given.empty())
      given = std::to_string(*stated);
    else if (given != std::to_string(*stated))
      return fmt::format("{} is {} in the table, {} on the command line", fact, *stated, given);
  }
  return std::nullopt;
}

void judge_megatron_row(JudgedTable& judged, PredictRequest request, const MegatronFlags& flags,
                        const ReportedRun& run, const ReportedStage& stage,
                        const std::string& row) {
  const Claimed claimed = claimed_of(stage);
  if (claimed.is_empty()) return;
  if (const auto differs = take_from_row(request, run, stage)) {
    judged.left_out.push_back(row + ": " + *differs);
    return;
  }
  const auto answer = ask_megatron(request, flags);
  if (!answer) {
    judged.left_out.push_back(fmt::format("{}: {}", row, answer.error().message));
    return;
  }
  const std::int64_t cards = answer->job.run.ranks;
  Expected expected;
  expected.cards = static_cast<double>(cards);
  expected.peak_flop_s = peak_flop_s(answer->profile, cards);
  expected.flops_per_token = megatron_flops_per_token(answer->job, FlopConvention::kCausal);
  if (answer->fits()) expected.rate_tok_s = answer->step.rate_tok_s_card * expected.cards;
  expected.no_rate = "the job does not fit";
  if (claimed.rate != nullptr) judged.claims.push_back(judged_rate(row, *claimed.rate, expected));
  if (claimed.memory != nullptr) {
    const Printed& memory = *claimed.memory;
    JudgedClaim claim{row, "memory", memory.text, memory.value, 0, "", {}, ""};
    const MegatronMemory& predicted = answer->memory;
    const double peak = std::max(predicted.first_peak_bytes, predicted.steady_peak_bytes);
    claim.predicted_value = peak;
    claim.predicted = human_bytes(peak);
    claim.verdict = memory.value < predicted.static_bytes
                        ? ClaimVerdict::kImpossible
                        : verdict_of(memory.value / peak, kMemoryFactor);
    claim.why = fmt::format("weights, gradients and optimizer take {}; {:.2g} x the prediction",
                            human_bytes(predicted.static_bytes), memory.value / peak);
    judged.claims.push_back(std::move(claim));
  }
  judge_time_of(judged, run, stage, row, static_cast<double>(answer->job.model.parameter_count()),
                expected);
}

std::string row_name(const ReportedTable& table, const ReportedRun& run,
                     const ReportedStage& stage) {
  if (stage.name.empty()) return run.name;
  return table.runs.size() > 1 ? run.name + " " + stage.name : stage.name;
}

}  // namespace

Result<JudgedTable> judge_claims(const PredictRequest& request, const MegatronFlags& flags,
                                 const std::string& table) {
  NB_TRY(const bool is_megatron, asks_megatron(request, flags));
  NB_TRY(const ReportedTable read, read_table(table));
  const ReportedTable reported = with_stages(read);
  PredictRequest device = request;
  device.given.clear();
  NB_TRY(const PredictSubject subject, subject_of(device));
  JudgedTable judged{table, request.device, request.stack, {}, {}, is_megatron};
  for (const ReportedRun& run : reported.runs)
    for (const ReportedStage& stage : run.stages) {
      const std::string row = row_name(reported, run, stage);
      if (is_megatron)
        judge_megatron_row(judged, request, flags, run, stage, row);
      else
        judge_row(judged, subject, run, stage, row);
    }
  if (judged.claims.empty())
    return bad_input(fmt::format("{}: no row with {}a rate, memory or time to judge{}", table,
                                 is_megatron ? "" : "a depth and ",
                                 judged.left_out.empty() ? "" : ": " + judged.left_out.front()));
  return judged;
}

}  // namespace nb
