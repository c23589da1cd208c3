// The verdict of a gate that concerns something. For tests alone.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "results/gate/gate.hpp"

namespace nb::test {

// The first whose metric or place has this part; a failure where there is none.
inline TaskVerdict verdict_with(const GateResult& result, const std::string& part) {
  const auto at = std::ranges::find_if(result.verdicts, [&](const TaskVerdict& v) {
    return v.task().find(part) != std::string::npos;
  });
  if (at != result.verdicts.end()) return *at;
  ADD_FAILURE() << "no verdict on " << part << "\n" << gate_text(result);
  return {};
}

}  // namespace nb::test
