// One verdict of many: the worst, its exit code, the order of what is shown.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "results/gate/gate.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

// Worst first, in the order of exit codes 1, 4, 3, 2, 0.
constexpr std::array kWorstFirst = {
    Verdict::kRegressed,    Verdict::kSuspicious, Verdict::kError, Verdict::kIncomparable,
    Verdict::kInconclusive, Verdict::kImproved,   Verdict::kPass};

std::size_t rank(Verdict verdict) {
  return static_cast<std::size_t>(std::find(kWorstFirst.begin(), kWorstFirst.end(), verdict) -
                                  kWorstFirst.begin());
}

int exit_code_of(Verdict night, const GateOptions& options) {
  switch (night) {
    case Verdict::kRegressed:
    case Verdict::kSuspicious:
      return 1;
    case Verdict::kError:
      return 4;
    case Verdict::kIncomparable:
      return 3;
    case Verdict::kInconclusive:
      return options.strict ? 2 : 0;
    case Verdict::kImproved:
    case Verdict::kPass:
      return 0;
  }
  return 4;
}

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "PASS";
    case Verdict::kImproved:
      return "IMPROVED";
    case Verdict::kInconclusive:
      return "INCONCLUSIVE";
    case Verdict::kSuspicious:
      return "SUSPICIOUS";
    case Verdict::kRegressed:
      return "REGRESSED";
    case Verdict::kIncomparable:
      return "INCOMPARABLE";
    case Verdict::kError:
      return "ERROR";
  }
  return "ERROR";
}

void settle_night(GateResult& result, const GateOptions& options) {
  std::stable_sort(result.verdicts.begin(), result.verdicts.end(),
                   [](const auto& a, const auto& b) { return rank(a.verdict) < rank(b.verdict); });
  for (const TaskVerdict& v : result.verdicts) result.uncalibrated |= v.uncalibrated;
  result.night = result.verdicts.empty() ? Verdict::kError : result.verdicts.front().verdict;
  result.exit_code = exit_code_of(result.night, options);
}

void add_verdicts(GateResult& night, GateResult other, const Sentence& against,
                  const GateOptions& options) {
  for (TaskVerdict& v : other.verdicts) {
    v.where = text_of(against) + ": " + v.where;
    night.verdicts.push_back(std::move(v));
  }
  for (const Sentence& finding : other.findings)
    night.findings.push_back(message("about", against, finding));
  for (const Sentence& note : other.notes) night.notes.push_back(message("about", against, note));
  if (night.likely_cause.empty() && !other.likely_cause.empty())
    night.likely_cause = message("about", against, other.likely_cause);
  settle_night(night, options);
}

}  // namespace nb
