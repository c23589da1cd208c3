// twist.py as it was when the program was built.
#pragma once

#include <string_view>

namespace nb {

extern const std::string_view kHumanEvalTwistText;

}  // namespace nb
