// The columns of steps.csv: one table.
#include <utility>

#include "model/train/trainer.hpp"

namespace nb {
namespace {

using Member = std::optional<double> StepRow::*;
constexpr std::pair<const char*, Member> kColumns[] = {
    {"train_loss", &StepRow::train_loss},
    {"lr_multiplier", &StepRow::lr_multiplier},
    {"grad_norm", &StepRow::grad_norm},
    {"step_time_ns", &StepRow::step_time_ns},
    {"throughput_tok_s", &StepRow::throughput_tok_s},
    {"peak_memory_bytes", &StepRow::peak_memory_bytes},
    {"val_bpb", &StepRow::val_bpb}};

}  // namespace

const std::vector<std::string>& step_columns() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const auto& [name, member] : kColumns) list.emplace_back(name);
    return list;
  }();
  return names;
}

std::vector<std::optional<double>> step_values(const StepRow& row) {
  std::vector<std::optional<double>> values;
  for (const auto& [name, member] : kColumns) values.push_back(row.*member);
  return values;
}

std::vector<std::optional<double>*> step_members(StepRow& row) {
  std::vector<std::optional<double>*> members;
  for (const auto& [name, member] : kColumns) members.push_back(&(row.*member));
  return members;
}

}  // namespace nb
