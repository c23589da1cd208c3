// The groups of microbenchmarks that a suite can name; harness/microbench holds the programs.
#pragma once

#include <span>
#include <string_view>

namespace nb {

struct MicrobenchmarkGroup {
  std::string_view name;
  std::string_view meaning;
};
std::span<const MicrobenchmarkGroup> microbenchmark_groups();

}  // namespace nb
