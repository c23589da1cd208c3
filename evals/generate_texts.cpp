#include "evals/generate_texts.hpp"

#include "harness/base/check.hpp"

namespace nb {

std::vector<std::vector<std::string>> generate_texts(LanguageModel&,
                                                     std::span<const std::vector<int>>,
                                                     const EvalSettings&) {
  NB_CHECK(false, "[generate_texts] this model cannot generate");
}

}  // namespace nb
