// The main of every program here: its words to `run`; what fails is one sentence on stderr and the
// exit code of its kind.
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "harness/base/result.hpp"

namespace nb {

// words[0] is the program's own name.
inline int program_main(int argc, char** argv,
                        const std::function<Result<void>(const std::vector<std::string>&)>& run) {
  try {
    const Result<void> result = run(std::vector<std::string>(argv, argv + argc));
    if (result) return 0;
    fmt::print(stderr, "{}\n", result.error().message);
    return static_cast<int>(result.error().code);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(ErrorCode::kRun);
  }
}

}  // namespace nb
