// The tool that a model may call between <|python_start|> and <|python_end|>: Python's eval() of an
// arithmetic expression, as nanochat allows it (engine.py), without Python. Same result text
// to the character: integers of any size, floats as repr() prints them. Pure function.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nb {

enum class CalculatorRules {
  kOld,  // until 2025-10-24: numbers, + - * / // ( ) only
  kNew,  // since 2025-10-24: also strings and their methods, if ".count(" is in the text
};

// str() of the value, or nothing when nanochat would inject nothing: a forbidden character or
// operator, an exception of Python's, a result too large to be had within its 3 seconds.
std::optional<std::string> use_calculator(std::string_view expression,
                                          CalculatorRules rules = CalculatorRules::kNew);

}  // namespace nb
