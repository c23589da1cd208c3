// The columns of steps.csv: one table.
#include "model/train/step_row.hpp"

#include <array>

namespace nb {
namespace {

constexpr std::size_t kStages = 5;
constexpr std::array<std::string_view, kStages> kNames = {"base", "mid", "sft", "dpo", "rl"};

constexpr unsigned in(TrainingStage stage) { return 1U << static_cast<unsigned>(stage); }
constexpr unsigned kBase = in(TrainingStage::kBase), kMid = in(TrainingStage::kMid),
                   kSft = in(TrainingStage::kSft), kDpo = in(TrainingStage::kDpo),
                   kRl = in(TrainingStage::kRl);
constexpr unsigned kAll = kBase | kMid | kSft | kDpo | kRl;

struct Column {
  const char* name;
  std::optional<double> StepRow::*member;
  unsigned stages;
};
constexpr Column kColumns[] = {{"train_loss", &StepRow::train_loss, kAll},
                               {"lr_multiplier", &StepRow::lr_multiplier, kAll},
                               {"grad_norm", &StepRow::grad_norm, kAll},
                               {"tokens", &StepRow::tokens, kSft | kDpo | kRl},
                               {"reward", &StepRow::reward, kRl},
                               {"reward_spread", &StepRow::reward_spread, kRl},
                               {"equal_rewards", &StepRow::equal_rewards, kRl},
                               {"sample_tokens", &StepRow::sample_tokens, kRl},
                               {"margin", &StepRow::margin, kDpo},
                               {"pair_accuracy", &StepRow::pair_accuracy, kDpo},
                               {"chosen_reward", &StepRow::chosen_reward, kDpo},
                               {"rejected_reward", &StepRow::rejected_reward, kDpo},
                               {"kl", &StepRow::kl, kRl},
                               {"clip_fraction", &StepRow::clip_fraction, kRl},
                               {"ratio_spread", &StepRow::ratio_spread, kRl},
                               {"sampler_age", &StepRow::sampler_age, kRl},
                               {"step_time_ns", &StepRow::step_time_ns, kAll},
                               {"generate_time_ns", &StepRow::generate_time_ns, kRl},
                               {"throughput_tok_s", &StepRow::throughput_tok_s, kAll},
                               {"peak_memory_bytes", &StepRow::peak_memory_bytes, kAll},
                               {"val_bpb", &StepRow::val_bpb, kBase | kMid},
                               {"val_loss", &StepRow::val_loss, kSft | kDpo},
                               {"val_pair_accuracy", &StepRow::val_pair_accuracy, kDpo},
                               {"val_margin", &StepRow::val_margin, kDpo},
                               {"val_accuracy", &StepRow::val_accuracy, kRl},
                               {"val_pass_at_k", &StepRow::val_pass_at_k, kRl},
                               {"batch_hash", &StepRow::batch_hash, kAll}};

}  // namespace

std::string_view name(TrainingStage stage) { return kNames[static_cast<std::size_t>(stage)]; }

const std::vector<std::string>& step_columns(TrainingStage stage) {
  static const auto lists = [] {
    std::array<std::vector<std::string>, kStages> all;
    for (std::size_t s = 0; s < kStages; ++s)
      for (const Column& column : kColumns)
        if (column.stages >> s & 1U) all[s].emplace_back(column.name);
    return all;
  }();
  return lists[static_cast<std::size_t>(stage)];
}

std::vector<std::optional<double>> step_values(const StepRow& row, TrainingStage stage) {
  std::vector<std::optional<double>> values;
  for (const Column& column : kColumns)
    if (column.stages & in(stage)) values.push_back(row.*column.member);
  return values;
}

std::vector<std::optional<double>*> step_members(StepRow& row, TrainingStage stage) {
  std::vector<std::optional<double>*> members;
  for (const Column& column : kColumns)
    if (column.stages & in(stage)) members.push_back(&(row.*column.member));
  return members;
}

}  // namespace nb
