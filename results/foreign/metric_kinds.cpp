#include "results/foreign/metric_kinds.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

namespace nb {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr Direction kUp = Direction::kHigher, kDown = Direction::kLower, kNo = Direction::kNone;

// The first row that fits counts. What a name does not say for certain is not here: then the file
// must say it, or the user.
// clang-format off
constexpr auto kKinds = std::to_array<MetricKind>({
    // Neither way is better, or only the benchmark knows which: before the patterns below.
    {"error_rate is_incorrect is_not_attempted inference_error_rate yes_ratio maybe_ratio yes_ratio:* pct_stereotype"
     " acc_drop acc_gap acc_delta accuracy_drop accuracy_gap accuracy_delta accuracy_degradation",
     Quantity::kShare, kNo, 0, 1, "modelscope/evalscope @ fde259d2: evalscope/metrics/semantics/catalog.py (diagnostic)"},
    {"n_errors num_errors error_count errors", Quantity::kCount, kDown, 0, kInf, "AISBench agent summaries: trials that ended in an error"},
    {"n_total_trials total_count total num_samples n_samples num_instances no_answer_num count_* num_* avg_reason_lens epoch step global_step *_samples total_flos",
     Quantity::kCount, kNo, 0, kInf, "modelscope/evalscope @ fde259d2: evalscope/metrics/semantics/catalog.py; stanford-crfm/helm @ 63754d05: basic_metrics.py"},
    // Losses and what is computed from them.
    {"bits_per_byte bpb val_bpb train_bpb min_val_bpb *_bpb", Quantity::kBitsPerByte, kDown, 0, kInf,
     "EleutherAI/lm-evaluation-harness @ 4e7e0d47f: lm_eval/api/metrics.py; karpathy/nanochat @ 3a5e0bc: loss_eval.py"},
    {"perplexity ppl word_perplexity byte_perplexity *_perplexity *_ppl", Quantity::kPerplexity, kDown, 1, kInf,
     "EleutherAI/lm-evaluation-harness @ 4e7e0d47f: lm_eval/api/metrics.py"},
    {"loss lm_loss nll *_loss *_nll loss_* validation_loss cross_entropy", Quantity::kNats, kDown, 0, kInf,
     "huggingface/transformers: trainer (train_loss, eval_loss), mean cross-entropy in nats"},
    // Error rates: errors over a length, so they can exceed 1.
    {"wer cer mer ter_ratio audio_wer word_error_rate character_error_rate *_wer *_cer", Quantity::kErrorRatio, kDown, 0, kInf,
     "modelscope/evalscope @ fde259d2: evalscope/metrics/semantics/baselines.py"},
    {"ter", Quantity::kPoints, kDown, 0, kInf, "Snover et al. 2006: edits a reference word; sacrebleu writes percent"},
    {"brier_score brier *_brier_score", Quantity::kBounded, kDown, 0, 2, "EleutherAI/lm-evaluation-harness @ 4e7e0d47f: lm_eval/api/metrics.py"},
    // Points of 100 by definition (sacrebleu), and similar.
    {"bleu bleu_acc_points sacrebleu chrf chrf++ chrf2", Quantity::kPoints, kUp, 0, 100, "EleutherAI/lm-evaluation-harness @ 4e7e0d47f: lm_eval/api/metrics.py (sacrebleu)"},
    {"mcc matthews_correlation", Quantity::kBounded, kUp, -1, 1, "EleutherAI/lm-evaluation-harness @ 4e7e0d47f: lm_eval/api/metrics.py"},
    {"core core_metric chatcore chatcore_metric centred centered core_estimate", Quantity::kBounded, kUp, -1, 1,
     "karpathy/nanochat @ 3a5e0bc: base_eval.py, report.py (means of centred accuracies)"},
    // Shares of right answers and of what is like them.
    {"acc acc_* *_acc *:acc accuracy *_accuracy accuracy_* averageaccuracy em em_* exact_match *exact_match* exact_str_match *_exact_match_*"
     " quasi_exact_match match strict match_* is_correct correct multiple_choice_grade mc1 mc2 *_mc1 *_mc2 *_match includes"
     " prompt_level_* inst_level_* prompt-level-* inst-level-* *_strict_acc *_loose_acc final_acc numeric_match math_acc",
     Quantity::kShare, kUp, 0, 1, "EleutherAI/lm-evaluation-harness @ 4e7e0d47f: lm_eval/api/metrics.py; modelscope/evalscope @ fde259d2: semantics/catalog.py"},
    {"pass@* *pass@* pass_at_* pass^* pass_hat_* pass_rate *_pass_rate strict_pass success_rate *_success_rate base_pass* plus_pass*",
     Quantity::kShare, kUp, 0, 1, "openai/human-eval @ 6d43fb9: human_eval/evaluation.py; modelscope/evalscope @ fde259d2: semantics/catalog.py"},
    {"avg@* cons@* maj@*", Quantity::kShare, kUp, 0, 1,
     "AISBench/benchmark @ 29c363e: docs/source_en/base_tutorials/results_intro/accuracy_metric.md"},
    {"auc auc_score auroc *_auc", Quantity::kBounded, kUp, 0, 1, "open-compass/opencompass @ a5acc4bb: openicl/icl_evaluator/icl_aucroc_evaluator.py"},
    {"f1 f1_* *_f1 *_f1_score precision recall *_precision *_recall rouge* rouge_* bleu_1 bleu_2 bleu_3 bleu_4 meteor anls bertscore bert_score"
     " win_rate winrate iou avg_score normalized_score partial_credit",
     Quantity::kShare, kUp, 0, 1, "modelscope/evalscope @ fde259d2: semantics/catalog.py; stanford-crfm/helm @ 63754d05: evaluate_reference_metrics.py"},
    // Costs of a run: rates before times, since "samples_per_second" ends like one.
    {"*_per_second *tok/s *_tok_s *tokens/s request_throughput *_throughput throughput *_samples_per_sec*", Quantity::kPerSecond, kUp, 0, kInf,
     "vllm-project/vllm: vllm/benchmarks/serve.py; huggingface/transformers: trainer_utils.py, speed_metrics"},
    {"ttft_ms tpot_ms itl_ms e2el_ms latency_ms *_ttft_ms *_tpot_ms *_itl_ms *_e2el_ms *_latency_ms", Quantity::kMilliseconds, kDown, 0, kInf, "vllm-project/vllm: vllm/benchmarks/serve.py"},
    {"*_runtime runtime inference_runtime *_seconds", Quantity::kSeconds, kDown, 0, kInf, "huggingface/transformers: trainer_utils.py, speed_metrics"},
    {"latency *_latency ttft tpot itl *_ttft *_tpot *_itl *_time", Quantity::kTime, kDown, 0, kInf,
     "modelscope/evalscope @ fde259d2: semantics/perf.py; in seconds or milliseconds, which the name does not say"},
});
// clang-format on

std::string plain_name(std::string_view metric) {
  if (const std::size_t slash = metric.rfind('/'); slash != metric.npos)
    metric.remove_prefix(slash + 1);
  std::string name;
  for (const char c : metric)
    name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == ' ' ? '_' : c;
  for (const std::string_view before : {"mean_", "avg_", "average_"})
    if (name.starts_with(before) && name.size() > before.size() && name != "avg_score" &&
        name != "avg_reason_lens")
      name.erase(0, before.size());
  return name;
}

// `pattern` with stars for any text.
bool fits(std::string_view name, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == pattern.npos) return name == pattern;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  name.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  if (pattern.empty()) return true;
  for (std::size_t at = 0; at <= name.size(); ++at)
    if (fits(name.substr(at), pattern)) return true;
  return false;
}

bool any_fits(std::string_view name, std::string_view patterns) {
  while (!patterns.empty()) {
    const std::size_t space = std::min(patterns.find(' '), patterns.size());
    if (fits(name, patterns.substr(0, space))) return true;
    patterns.remove_prefix(std::min(space + 1, patterns.size()));
  }
  return false;
}

}  // namespace

std::string_view unit_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::kShare:
    case Quantity::kBounded:
      return "1";
    case Quantity::kPoints:
      return "point";
    case Quantity::kErrorRatio:
      return "error ratio";
    case Quantity::kNats:
      return "nat";
    case Quantity::kBitsPerByte:
      return "bit/byte";
    case Quantity::kPerplexity:
      return "perplexity";
    case Quantity::kCount:
      return "count";
    case Quantity::kTime:
      return "time";
    case Quantity::kSeconds:
      return "s";
    case Quantity::kMilliseconds:
      return "ms";
    case Quantity::kPerSecond:
      return "1/s";
  }
  return "1";
}

std::span<const MetricKind> metric_kinds() { return kKinds; }

const MetricKind* metric_kind(std::string_view metric) {
  const std::string name = plain_name(metric);
  if (name.empty()) return nullptr;
  const auto found = std::ranges::find_if(
      kKinds, [&](const MetricKind& kind) { return any_fits(name, kind.names); });
  return found == kKinds.end() ? nullptr : &*found;
}

void settle_metric(ForeignSeries& series) {
  const MetricKind* kind = metric_kind(series.name.metric);
  if (kind != nullptr && kind->quantity == Quantity::kShare) series.is_share = true;
  if (!series.direction) series.direction = kind == nullptr ? Direction::kNone : kind->direction;
  if (series.unit.empty() && kind != nullptr) series.unit = unit_of(kind->quantity);
  if (series.unit.empty() && series.is_share) series.unit = unit_of(Quantity::kShare);
}

bool is_in_percent(std::span<const double> values, std::optional<bool> says) {
  if (says) return *says;
  return std::ranges::any_of(values, [](double value) { return value > 1; });
}

}  // namespace nb
