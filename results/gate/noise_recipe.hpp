// What the runs behind a noise profile were asked for, so that a gate can say that its baseline was
// asked for something else.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/base/fields.hpp"
#include "results/store/record.hpp"

namespace nb {

struct NoiseRecipe {
  std::string node;       // "eval base.core on ascend_910b3", without seed
  std::int64_t seed = 0;  // of the record that it was read from
  // JSON pointer → value, as JSON: every setting that can change a result, and of the checkpoint
  // that the node began with or evaluated: settings, sizes, digests of data and tokenizer.
  std::map<std::string, std::string> settings;
  FieldList fields();
};

// Of a training or evaluation with a seed.
NoiseRecipe recipe_of(const Record& record);

struct RecipeDifference {
  std::string field;  // "/settings/sft/num_epochs"
  std::string a, b;   // JSON, cut where it is long; "(absent)" where there is none
  bool operator==(const RecipeDifference&) const = default;
};
// In the order of the pointers. That each side names its own seed is none.
std::vector<RecipeDifference> recipe_differences(const NoiseRecipe& a, const NoiseRecipe& b);

}  // namespace nb
