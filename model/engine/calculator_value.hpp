// What an expression of the calculator can be, and Python's operators on it. A failure (Python
// would raise) is a value too: it matters only if it is used, so `x or 1` need not look ahead.
// Internal to the calculator.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/engine/big_int.hpp"

namespace nb::calculator {

struct Failure {};  // Python raises, or we do not follow it there
struct None {};
struct Ellipsis {};                     // "..."
struct EmptyTuple {};                   // "()": without commas there is no other
using List = std::vector<std::string>;  // of 'a b'.split()

using Value =
    std::variant<Failure, None, bool, BigInt, double, std::string, Ellipsis, EmptyTuple, List>;

bool failed(const Value& value);
bool is_true(const Value& value);  // bool(); not of a Failure

Value negated(const Value& value);
Value plus_sign(const Value& value);  // +x
Value sum(const Value& a, const Value& b);
Value difference(const Value& a, const Value& b);
Value product(const Value& a, const Value& b);
Value quotient(const Value& a, const Value& b);                // a / b
Value floor_quotient(const Value& a, const Value& b);          // a // b
Value contains(const Value& container, const Value& element);  // element in container

// value.name(argument): the methods of strings and lists that give strings, numbers, lists of words
// or truth values and do not grow their text. Other names are a Failure.
Value call_method(const Value& value, std::string_view name, const std::optional<Value>& argument);

// str(value); nothing for a Failure, for None (nanochat injects nothing then), and for integers of
// more than 4,300 digits, which CPython refuses to print.
std::optional<std::string> str(const Value& value);

}  // namespace nb::calculator
