// An expression of the calculator → Python's tokens. Internal to the calculator.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/engine/calculator_value.hpp"

namespace nb::calculator {

enum class TokenKind { kValue, kString, kName, kOperator, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text = {};  // of a name or an operator: "(", "//", "..."
  Value value = {};            // of a number or string; Failure: a type that we do not follow
  bool is_bytes = false;       // of a string: b'…' never joins '…'
};

// Ends with a kEnd. Nothing: no Python tokens (bad number, open string, more than 200 open
// parentheses). The texts point into `expression`.
std::optional<std::vector<Token>> tokens_of(std::string_view expression);

}  // namespace nb::calculator
