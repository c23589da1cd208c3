#include "harness/cli/predict_claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"
#include "model/device/memory.hpp"
#include "results/audit/fact_names.hpp"
#include "results/audit/read_table.hpp"
#include "results/audit/shape_of.hpp"

namespace nb::cli {
namespace {

// Whole runs that nothing was fitted on, and whose batch or stack is not said: a prediction is
// taken for right within these factors.
constexpr double kRateFactor = 1.5, kMemoryFactor = 1.25;
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

struct Judge {
  const PredictSubject& subject;
  const Training& training;
  const Prediction& prediction;
  std::string row;

  double peak_flop_s() const {  // of all cards
    const auto& peak = subject.profile.matrix.peak;
    const auto& half = peak.of(DType::kBf16) ? peak.of(DType::kBf16) : peak.of(DType::kFp16);
    return 1e12 * half->value * static_cast<double>(training.settings.cards);
  }
  double flops_per_token() const { return static_cast<double>(prediction.flops_per_token); }

  std::string with_assumed(std::string why) const {
    for (const std::string& assumed : training.assumed) why += "; taken: " + assumed;
    return why;
  }
  // factor: claimed over predicted, of a quantity that grows with `what`.
  static ClaimVerdict verdict_of(double factor, double limit) {
    if (factor > limit) return ClaimVerdict::kHigh;
    return factor < 1 / limit ? ClaimVerdict::kLow : ClaimVerdict::kPlausible;
  }
  std::string utilisation_text(double rate) const {
    const double share = rate * flops_per_token() / peak_flop_s();
    return fmt::format(
        "{:.3g} TFLOP/s a card, {:.2g} % of its peak",
        rate * flops_per_token() / 1e12 / static_cast<double>(training.settings.cards),
        100 * share);
  }

  JudgedClaim rate(const Printed& claimed) const {
    JudgedClaim claim{row, "rate", claimed.text + " tok/s", claimed.value, 0, "", {}, ""};
    judge_rate(claim, claimed.value);
    if (prediction.fits) {
      claim.predicted_value = prediction.throughput_tok_s;
      claim.predicted = with_commas(std::llround(claim.predicted_value)) + " tok/s";
    }
    return claim;
  }
  JudgedClaim time(const Printed& claimed, double tokens) const {
    const double seconds = 60 * claimed.value;
    JudgedClaim claim{row, "time", claimed.text, claimed.value / 60, 0, "", {}, ""};
    judge_rate(claim, tokens / seconds);
    if (prediction.fits) {
      claim.predicted_value = tokens / prediction.throughput_tok_s / 3600;
      claim.predicted = fmt::format("{:.3g} h", claim.predicted_value);
    }
    claim.why =
        fmt::format("needs {} tok/s: {}", with_commas(std::llround(tokens / seconds)), claim.why);
    // A rate that is too high is a time that is too short.
    if (claim.verdict == ClaimVerdict::kHigh)
      claim.verdict = ClaimVerdict::kLow;
    else if (claim.verdict == ClaimVerdict::kLow)
      claim.verdict = ClaimVerdict::kHigh;
    return claim;
  }
  void judge_rate(JudgedClaim& claim, double rate) const {
    if (rate * flops_per_token() > peak_flop_s()) {
      claim.verdict = ClaimVerdict::kImpossible;
      claim.why = with_assumed(utilisation_text(rate));
      return;
    }
    if (!prediction.fits) {
      claim.why = with_assumed("no prediction: the batch does not fit");
      return;
    }
    const double factor = rate / prediction.throughput_tok_s;
    claim.verdict = verdict_of(factor, kRateFactor);
    claim.why =
        with_assumed(fmt::format("{}; {:.2g} x the prediction", utilisation_text(rate), factor));
  }

  JudgedClaim memory(const Printed& claimed) const {
    JudgedClaim claim{row, "memory", claimed.text, claimed.value, 0, "", {}, ""};
    const auto capacity = static_cast<double>(
        subject.profile.memory_budget(static_cast<int>(training.settings.cards)).capacity_bytes);
    if (!prediction.fits) {
      claim.predicted = "out of memory";
      claim.verdict = ClaimVerdict::kImpossible;
      claim.why =
          with_assumed(fmt::format("a batch of {} needs more than the {} of a card; {} fit",
                                   training.settings.device_batch_size.value_or(1),
                                   human_bytes(capacity), prediction.largest_device_batch_size));
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
    claim.why = with_assumed(fmt::format(
        "weights, gradients and optimizer take {}, activations {}; {:.2g} x the prediction",
        human_bytes(standing), human_bytes(held(BlockUse::kActivation)), factor));
    return claim;
  }
};

Result<void> judge_row(JudgedTable& judged, const PredictSubject& subject, const ReportedRun& run,
                       const ReportedStage& stage, const std::string& row) {
  const Printed* rate = stage.fact(fact::kRate);
  const Printed* memory = stage.fact(fact::kMemory);
  const Printed* minutes = stage.fact(fact::kMinutes);
  if (rate == nullptr && memory == nullptr && minutes == nullptr) return {};
  if (!whole(run, stage, fact::kDepth)) {
    judged.left_out.push_back(row + ": no depth");
    return {};
  }
  const Training training = training_of(run, stage);
  const auto prediction = predict(training.settings, subject.profile, subject.between_nodes);
  if (!prediction) {
    judged.left_out.push_back(fmt::format("{}: {}", row, prediction.error().message));
    return {};
  }
  const Judge judge{subject, training, *prediction, row};
  if (rate != nullptr) judged.claims.push_back(judge.rate(*rate));
  if (memory != nullptr) judged.claims.push_back(judge.memory(*memory));
  if (minutes == nullptr) return {};
  std::optional<double> tokens = tokens_of(run, stage);
  if (const auto ratio = positive(run, stage, fact::kTokensPerParameter); !tokens && ratio)
    tokens = *ratio * static_cast<double>(prediction->param_count);
  if (tokens)
    judged.claims.push_back(judge.time(*minutes, *tokens));
  else
    judged.left_out.push_back(row + ": a time, but no number of tokens");
  return {};
}

}  // namespace

std::string_view name(ClaimVerdict verdict) {
  switch (verdict) {
    case ClaimVerdict::kPlausible:
      return "plausible";
    case ClaimVerdict::kLow:
      return "low";
    case ClaimVerdict::kHigh:
      return "high";
    case ClaimVerdict::kImpossible:
      return "IMPOSSIBLE";
    case ClaimVerdict::kUnknown:
      break;
  }
  return "?";
}

Result<JudgedTable> judge_claims(const PredictQuestion& question, const std::string& table) {
  NB_TRY(const ReportedTable reported, read_table(table));
  PredictQuestion device = question;
  device.given.clear();
  NB_TRY(const PredictSubject subject, subject_of(device));
  JudgedTable judged{table, question.device, question.stack, {}, {}};
  for (const ReportedRun& run : reported.runs)
    for (const ReportedStage& stage : run.stages) {
      const std::string row = reported.runs.size() > 1 ? run.name + " " + stage.name : stage.name;
      NB_TRY_VOID(judge_row(judged, subject, run, stage, row));
    }
  if (judged.claims.empty())
    return bad_input(fmt::format("{}: no row with a depth and a rate, memory or time to judge{}",
                                 table,
                                 judged.left_out.empty() ? "" : ": " + judged.left_out.front()));
  return judged;
}

std::string claims_text(const JudgedTable& judged) {
  std::string text = fmt::format(
      "{} beside dry steps on {}{}; simulated\nplausible: a rate or time within a factor of {}, "
      "memory within {}\n",
      judged.table, judged.device, judged.stack.empty() ? "" : ", " + judged.stack, kRateFactor,
      kMemoryFactor);
  TextTable table{{"row", "claimed", "predicted", "verdict", "why"}, {}};
  for (const JudgedClaim& claim : judged.claims)
    table.rows.push_back(
        {claim.row, claim.claimed, claim.predicted, std::string(name(claim.verdict)), claim.why});
  text += to_text(table, kTextWidth);
  for (const std::string& one : judged.left_out) text += "left out: " + one + "\n";
  return text;
}

Json claims_json(const JudgedTable& judged) {
  Json claims = Json::array();
  for (const JudgedClaim& claim : judged.claims)
    claims.push_back(
        {{"row", claim.row},
         {"what", claim.what},
         {"claimed", claim.claimed},
         {"claimed_value", claim.claimed_value},
         {"predicted", claim.predicted},
         {"predicted_value", claim.predicted_value > 0 ? Json(claim.predicted_value) : Json()},
         {"verdict", name(claim.verdict)},
         {"why", claim.why}});
  return {{"table", judged.table}, {"device", judged.device},     {"stack", judged.stack},
          {"clock", "sim"},        {"claims", std::move(claims)}, {"left_out", judged.left_out}};
}

}  // namespace nb::cli
