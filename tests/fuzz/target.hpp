// Parsers of what users and other machines bring, each as one function of bytes: what a fuzzer
// feeds. The table of all of them is README.md; a test keeps it true. Not for judging an input
// (judge.hpp) nor for changing one (mutator.hpp).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"

namespace nb::test {

struct FuzzTarget {
  std::string name;   // its folder in corpus/: "record", "import.dclm"
  std::string reads;  // what a user would call it
  std::string seal;   // how a checksum in the input is made to fit; empty: there is none
  // As LLVMFuzzerTestOneInput: any bytes, again and again. Ok: the parser took them; an error: its
  // sentence about them. Whatever is thrown is a finding.
  std::function<Result<void>(std::string_view bytes)> fuzz_one;
  // Sound inputs from the program's own writers, or written by hand: each is taken.
  std::function<std::vector<std::string>()> seeds;
};

// By name.
const std::vector<FuzzTarget>& fuzz_targets();
const FuzzTarget* find_fuzz_target(std::string_view name);  // nullptr: none

// One folder of parsers a file of targets/.
using FuzzTargets = std::vector<FuzzTarget>;
void add_audit_targets(FuzzTargets& targets);
void add_base_targets(FuzzTargets& targets);
void add_doctor_targets(FuzzTargets& targets);
void add_evals_targets(FuzzTargets& targets);
void add_harness_targets(FuzzTargets& targets);
void add_import_targets(FuzzTargets& targets);
void add_model_targets(FuzzTargets& targets);
void add_profiler_targets(FuzzTargets& targets);
void add_results_targets(FuzzTargets& targets);
void add_training_targets(FuzzTargets& targets);

}  // namespace nb::test
