#include "model/engine/calculator.hpp"

namespace nb {

std::optional<std::string> use_calculator(std::string_view /*expression*/,
                                          CalculatorRules /*rules*/) {
  return std::nullopt;
}

}  // namespace nb
