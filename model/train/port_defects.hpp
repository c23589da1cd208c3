// What a port of a training gets wrong, as switches that a suite can ask for: one table. Each is
// one mistake that was seen in a real port, or is easily made, so that a comparison and a gate can
// be tried on it. Training's are applied in training_defects.hpp, those of the device's numerics
// and stacks in harness/suite/device_entry.cpp, those of evaluations in
// harness/run/ported_model.hpp. Models and ops know nothing of them. Plain values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/result.hpp"
#include "model/train/step_row.hpp"

namespace nb {

enum class PortDefect : std::uint8_t {
  kAdamWBetas,
  kNoLrScale,
  kMuonAsAdamW,
  kHalfSteps,
  kHalfBatch,
  kLossMaskIgnored,
  kTargetsOffByOne,
  kLowPrecisionGradients,
  kUnsyncedEmbeddingGradients,
  kFp16WithoutScaling,
  kNoAutocast,
  kRopePositions,
  kStaleKvCache,
  kTokenizerMismatch,
  kEvaluatorFallback,
  kScoreCompiled,
  kApproximateRsqrt,
  kSpNormNotReduced,
};

// What a defect concerns, as bits: training stages, the two ways in which models are evaluated, and
// whatever else runs on the device (microbenchmarks, predictions).
using DefectScope = unsigned;
namespace defect_scope {
inline constexpr DefectScope kBase = 1, kMid = 2, kSft = 4, kRl = 8, kScore = 16, kGenerate = 32,
                             kDevice = 64, kDpo = 128;
inline constexpr DefectScope kEvaluation = kScore | kGenerate;
inline constexpr DefectScope kAll = kBase | kMid | kSft | kDpo | kRl | kEvaluation | kDevice;
}  // namespace defect_scope
DefectScope scope_of(TrainingStage stage);
std::string scope_text(DefectScope scope);  // "base, sft"

struct PortDefectInfo {
  PortDefect defect;
  std::string_view name;  // "adamw_betas"
  std::string_view doc;   // what goes wrong, in one line
  std::string_view seen;  // where
  DefectScope scope;
  // Why a stage in which one would look for it is not in the scope; empty: none is missed.
  std::string_view why_not = {};
  // Fields of the numerics policy and uses of the model with what the device has instead; they
  // concern everything that runs on it.
  std::vector<std::pair<std::string, std::string>> numerics = {};
  std::vector<std::pair<std::string, std::string>> stacks = {};
  bool changes_device() const { return !numerics.empty() || !stacks.empty(); }
};
// In the order of PortDefect.
std::span<const PortDefectInfo> all_port_defects();
const PortDefectInfo& info(PortDefect defect);

// A set of them, in the table's order.
class PortDefects {
 public:
  PortDefects() = default;
  explicit PortDefects(std::vector<PortDefect> defects);
  bool has(PortDefect defect) const;
  bool empty() const { return defects_.empty(); }
  std::span<const PortDefect> all() const { return defects_; }
  PortDefects in(DefectScope scope) const;  // those that concern it
  std::vector<std::string> names() const;

 private:
  std::vector<PortDefect> defects_;
};

// "<where>/0: no defect "adamw_beta"; did you mean "adamw_betas"?"; a name that stands there twice
// is an error too.
Result<PortDefects> parse_port_defects(std::span<const std::string> names,
                                       const std::string& where);

}  // namespace nb
