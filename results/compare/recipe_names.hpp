// One vocabulary for recipes: what nanochat's scripts, Twinkle's and our own suites call one
// setting of a training. A table with sources; recipe.hpp reads records by it.
#pragma once

#include <span>
#include <string_view>

namespace nb {

enum class Vocabulary { kOurs, kNanochat, kTwinkle };

// What becomes of a value on its way into the common word.
enum class Reading {
  kAsIs,
  kNoneBelowZero,    // nanochat's -1, not asked for: then it is not said
  kOffIfFalse,       // false or 0 says that nothing of the kind was done: then it is not said
  kTimesBatchScale,  // nanochat multiplies it by its batch_lr_scale
  kElsewhere,  // only asks for what another word says (steps, sizes of the model): that is compared
  kOneSided,   // what only that harness can have: paths, names of runs, what only saves or samples
};

struct RecipeName {
  std::string_view theirs;  // the last part of its path, "packed/warmdown" where that is not enough
  std::string_view common;  // empty: kElsewhere, kOneSided
  Reading reading;
};

// Rows of one source: repository @ commit: files.
struct RecipeNames {
  Vocabulary vocabulary;
  std::string_view source;
  std::span<const RecipeName> names;
};
std::span<const RecipeNames> recipe_names();
// nullptr: that vocabulary has no row for it.
const RecipeName* find_recipe_name(Vocabulary vocabulary, std::string_view theirs);

// A name that is a value: Twinkle's GSPOLoss is objective gspo.
struct RecipeValue {
  std::string_view common;  // the setting
  std::string_view theirs, ours;
};
std::span<const RecipeValue> recipe_values();

}  // namespace nb
