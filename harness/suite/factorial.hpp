// An experiment on several changes at once: a two-level factorial or a regular fraction of one. Low
// is the suite as it stands, high is what a factor changes. Here: factors and which of them are
// high in which configuration. Not for: the configurations' suites (load.hpp), effects
// (results/compare/factorial.hpp).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"

namespace nb {

struct Factor {
  std::string name;
  // What high sets: place in the suite → value, as JSON text where it is not a plain text.
  std::map<std::string, std::string> high;
  std::vector<std::string> defects;  // what the port gets wrong where the factor is high
  FieldList fields();
};

// The factors are lettered in their order: A to H, J to M (I is the identity). "E=ABC": E is high
// where the product of A, B and C is (low is −1, high +1), so that its own effect and theirs
// together cannot be told apart. Of k factors and p generators 2^(k − p) configurations run;
// without generators all combinations.
struct FactorialDesign {
  std::string low = "all_low";    // what the configuration is called in which every factor is low
  std::string high = "all_high";  // in which every factor is high
  std::vector<Factor> factors;
  std::vector<std::string> generators;
  FieldList fields();
};

struct Configuration {
  std::string name;          // "low", "abd": the letters of the factors that are high
  std::vector<bool> levels;  // of each factor; true: high
};
// All configurations, the one with all factors low first, the one with all high last. `where`:
// "suites/a.json: /factorial". bad_input: no factor or too many, one twice or that changes nothing,
// a generator that is none, configurations without one of the two ends.
Result<std::vector<Configuration>> configurations_of(const FactorialDesign& design,
                                                     const std::string& where);

}  // namespace nb
