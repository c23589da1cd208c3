// tiktoken's rank file of a vocabulary: what parse_ranks reads.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>

#include "harness/base/base64.hpp"
#include "model/tokenizer/vocabulary_files.hpp"

namespace nb::test {

inline std::string print_ranks(const Vocabulary& vocabulary) {
  std::string text;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id)
    if (!vocabulary.tokens[id].empty())
      text += fmt::format("{} {}\n", base64_encode(vocabulary.tokens[id]), id);
  return text;
}

}  // namespace nb::test
