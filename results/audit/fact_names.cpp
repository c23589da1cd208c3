#include "results/audit/fact_names.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>

namespace nb {
namespace {

constexpr auto kNames = std::to_array<FactName>({
    {fact::kDepth, "depth", ""},
    {fact::kAspectRatio, "aspect_ratio", ""},
    {fact::kVocab, "vocab_size", ""},
    {fact::kSequence, "max_seq_len", ""},
    {fact::kDeviceBatch, "device_batch_size", ""},
    {fact::kTotalBatch, "total_batch_size", ""},
    {fact::kCards, "DDP world size", ""},
    {fact::kParameters, "Number of parameters", ""},
    {fact::kFlopsPerToken, "Number of FLOPs per token", ""},
    {fact::kFlopsPerToken, "Estimated FLOPs per token", ""},
    {fact::kIterations, "Calculated number of iterations", ""},
    {fact::kIterations, "Number of iterations", ""},
    {fact::kAskedIterations, "num_iterations", ""},
    {fact::kTokens, "Number of training tokens", ""},
    {fact::kTokens, "Total number of training tokens", ""},
    {fact::kTokensPerParameter, "Tokens : Params ratio", ""},
    {fact::kTokensPerParameter, "Tokens : Total params ratio", ""},
    {fact::kFlops, "Total training flops", ""},
    {fact::kFlops, "Total training FLOPs estimate", ""},
    {fact::kMinutes, "Total training time", "min"},
    {fact::kRate, "tok/sec", ""},
    {fact::kStepTime, "dt", "ms"},
    {fact::kMfu, "MFU %", ""},
    {fact::kPeak, "", ""},
    {fact::kMemory, "Peak memory usage", "byte"},
    {fact::kCapacity, "", "byte"},
    {fact::kValBpb, "Final validation bpb", ""},
    {fact::kMinValBpb, "Minimum validation bpb", ""},
    {fact::kRows, "Training rows", ""},
    {fact::kEpochs, "num_epochs", ""},
    {fact::kTargetExamples, "target_examples_per_step", ""},
    {fact::kExamplesPerStep, "examples_per_step", ""},
    {fact::kMaxProblems, "max_problems", ""},
    {fact::kSpeedup, "", ""},
    {fact::kTimeSaved, "", ""},
});

struct Unit {
  std::string_view of;  // the unit that a fact is kept in
  std::string_view text;
  double factor;
};
constexpr auto kUnits = std::to_array<Unit>({
    {"min", "m", 1},
    {"min", "min", 1},
    {"min", "h", 60},
    {"min", "s", 1. / 60},
    {"ms", "ms", 1},
    {"ms", "s", 1000},
    {"byte", "MiB", 1048576},
    {"byte", "GiB", 1 << 30},
    {"byte", "MB", 1e6},
    {"byte", "GB", 1e9},
    {"byte", "B", 1},
    {"", "x", 1},
    {"", "tok/s", 1},
});

}  // namespace

std::span<const FactName> fact_names() { return kNames; }

const FactName* fact_named(std::string_view name) {
  const auto found =
      std::ranges::find_if(kNames, [&](const FactName& f) { return f.name == name; });
  return found == kNames.end() ? nullptr : &*found;
}

const FactName* fact_of_card(std::string_view words) {
  const auto found = std::ranges::find_if(
      kNames, [&](const FactName& f) { return !f.card.empty() && f.card == words; });
  return found == kNames.end() ? nullptr : &*found;
}

Result<Printed> parse_fact(const FactName& name, std::string_view text, const std::string& where) {
  NB_TRY(Printed printed, parse_printed(text, where));
  if (printed.unit.empty()) return printed;
  const auto unit = std::ranges::find_if(
      kUnits, [&](const Unit& u) { return u.of == name.unit && u.text == printed.unit; });
  if (unit == kUnits.end())
    return bad_input(fmt::format("{}: {} is \"{}\", but \"{}\" is no unit of it", where, name.name,
                                 printed.text, printed.unit));
  printed.value *= unit->factor;
  printed.half_unit *= unit->factor;
  return printed;
}

}  // namespace nb
