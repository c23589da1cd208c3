// nanochat's CSV of a CORE evaluation (base_eval.py), for whoever has scripts that read it.
#pragma once

#include <span>
#include <string>

#include "evals/base/eval_result.hpp"

namespace nb {

inline constexpr const char* kCoreCsvFile = "core.csv";

// Header, one line for each task of CORE among the results in CORE's order, and the composite's
// line when it has a value: "CORE" for CORE itself, its own name for an estimate or a set with
// other data, so that nobody takes it for CORE. Empty when no task of CORE is there.
std::string core_csv(std::span<const EvalResult> results);

}  // namespace nb
