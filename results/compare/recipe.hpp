// Trainings of which one at least was captured on real hardware (harness/capture): their recipes in
// one vocabulary (recipe_names.hpp), what differs, what only one side says and what neither can
// tell. For confounders.cpp only. Nothing is called equal that both sides do not state.
#pragma once

#include <string>
#include <vector>

#include "results/compare/compare.hpp"
#include "results/messages/message.hpp"

namespace nb {

struct RecipeComparison {
  std::vector<Confounder> differing;  // fields "/recipe/total_batch_tokens", "/recipe/model/n_embd"
  std::vector<std::string> equal;     // settings that both sides state alike
  std::vector<Sentence> unknown;      // sentences
};

// Both are trainings, one of them is captured (captured.hpp).
RecipeComparison compare_recipes(const Record& a, const Record& b);

}  // namespace nb
