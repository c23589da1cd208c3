// One input of one target: taken, refused with a sentence, or a finding.
#pragma once

#include <string>
#include <string_view>

#include "tests/fuzz/target.hpp"

namespace nb::test {

// CPU time that any input of up to kLargestInput may take, of all threads, in a build with
// sanitizers: a parser that needs more grows faster than its input.
inline constexpr double kInputCpuSeconds = 2;
inline constexpr std::size_t kLargestInput = 128 * 1024;
inline constexpr std::size_t kInputMemoryMb = 256;  // one allocation, or all that stands at once

struct Judged {
  bool is_taken = false;
  std::string refusal;  // the parser's sentence
  // What went wrong, as a sentence: an exception, a refusal without a sentence, too slow. Empty:
  // nothing. Crashes and reports of sanitizers end the process.
  std::string finding;
};
Judged judge(const FuzzTarget& target, std::string_view bytes);

}  // namespace nb::test
