#include "tests/fuzz/target.hpp"

#include <algorithm>

namespace nb::test {

const FuzzTargets& fuzz_targets() {
  static const FuzzTargets kTargets = [] {
    FuzzTargets targets;
    add_audit_targets(targets);
    add_base_targets(targets);
    add_doctor_targets(targets);
    add_evals_targets(targets);
    add_harness_targets(targets);
    add_import_targets(targets);
    add_model_targets(targets);
    add_profiler_targets(targets);
    add_results_targets(targets);
    add_training_targets(targets);
    std::ranges::sort(targets, {}, &FuzzTarget::name);
    return targets;
  }();
  return kTargets;
}

const FuzzTarget* find_fuzz_target(std::string_view name) {
  const auto at = std::ranges::find(fuzz_targets(), name, &FuzzTarget::name);
  return at == fuzz_targets().end() ? nullptr : &*at;
}

}  // namespace nb::test
