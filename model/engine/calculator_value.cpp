#include "model/engine/calculator_value.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace nb::calculator {
namespace {

constexpr std::size_t kMaxDigits = 4300;   // sys.int_info.default_max_str_digits
constexpr std::int64_t kMaxBits = 14'285;  // 10^4300 has 14,285 bits

// int(x) of what Python treats as an integer.
std::optional<BigInt> as_integer(const Value& value) {
  if (const auto* integer = std::get_if<BigInt>(&value)) return *integer;
  if (const auto* truth = std::get_if<bool>(&value)) return BigInt(*truth ? 1 : 0);
  return std::nullopt;
}

// Both operands as doubles, if both are numbers that fit.
std::optional<std::pair<double, double>> as_doubles(const Value& a, const Value& b) {
  const auto one = [](const Value& value) -> std::optional<double> {
    if (const auto* number = std::get_if<double>(&value)) return *number;
    const auto integer = as_integer(value);
    return integer ? integer->as_double() : std::nullopt;
  };
  const auto x = one(a), y = one(b);
  if (!x || !y) return std::nullopt;
  return std::pair{*x, *y};
}

// Integers by `exact`, other numbers by `rounded`.
template <class Exact, class Rounded>
Value arithmetic(const Value& a, const Value& b, Exact exact, Rounded rounded) {
  const auto m = as_integer(a), n = as_integer(b);
  if (m && n) return exact(*m, *n);
  if (const auto doubles = as_doubles(a, b)) return rounded(doubles->first, doubles->second);
  return Failure{};
}

// CPython, _float_div_mod.
double floor_divided(double a, double b) {
  double rest = std::fmod(a, b);
  double divided = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) divided -= 1;
  if (divided == 0) return std::copysign(0.0, a / b);
  double floored = std::floor(divided);
  if (divided - floored > 0.5) floored += 1;
  return floored;
}

// repr(float): shortest digits that read back the same; an exponent if it is < -4 or >= 16.
std::string repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 40> buffer;
  const auto end =
      std::to_chars(buffer.begin(), buffer.end(), value, std::chars_format::scientific).ptr;
  const std::string scientific(buffer.begin(), end);
  const std::size_t e = scientific.find('e');
  const int exponent = std::atoi(scientific.c_str() + e + 1);
  const std::string sign = scientific.front() == '-' ? "-" : "";
  std::string digits = scientific.substr(sign.size(), e - sign.size());
  if (digits.size() > 1) digits.erase(1, 1);  // the point
  if (exponent < -4 || exponent >= 16) return scientific;
  if (exponent < 0)
    return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string repr(const std::string& text) {
  const bool has_single = text.find('\'') != std::string::npos;
  const char quote = has_single && text.find('"') == std::string::npos ? '"' : '\'';
  std::string quoted(1, quote);
  for (const char c : text) {
    if (c == quote) quoted += '\\';
    quoted += c;
  }
  return quoted + quote;
}

}  // namespace

bool failed(const Value& value) { return std::holds_alternative<Failure>(value); }

bool is_true(const Value& value) {
  struct Truth {
    bool operator()(Failure) const { return false; }
    bool operator()(None) const { return false; }
    bool operator()(bool truth) const { return truth; }
    bool operator()(const BigInt& integer) const { return !integer.is_zero(); }
    bool operator()(double number) const { return number != 0; }
    bool operator()(const std::string& text) const { return !text.empty(); }
    bool operator()(Ellipsis) const { return true; }
    bool operator()(EmptyTuple) const { return false; }
    bool operator()(const List& list) const { return !list.empty(); }
  };
  return std::visit(Truth{}, value);
}

Value negated(const Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return -*number;
  if (const auto integer = as_integer(value)) return -*integer;
  return Failure{};
}

Value plus_sign(const Value& value) {
  if (std::holds_alternative<double>(value)) return value;
  if (const auto integer = as_integer(value)) return *integer;
  return Failure{};
}

Value sum(const Value& a, const Value& b) {
  if (std::holds_alternative<EmptyTuple>(a) && std::holds_alternative<EmptyTuple>(b)) return a;
  return arithmetic(
      a, b, [](const BigInt& m, const BigInt& n) -> Value { return m + n; },
      [](double x, double y) -> Value { return x + y; });
}

Value difference(const Value& a, const Value& b) {
  return arithmetic(
      a, b, [](const BigInt& m, const BigInt& n) -> Value { return m - n; },
      [](double x, double y) -> Value { return x - y; });
}

Value product(const Value& a, const Value& b) {
  const bool is_first = std::holds_alternative<EmptyTuple>(a);
  if (is_first || std::holds_alternative<EmptyTuple>(b)) {  // () repeated: an index-sized integer
    const auto times = as_integer(is_first ? b : a);
    return times && times->as_int64() ? Value(EmptyTuple{}) : Value(Failure{});
  }
  return arithmetic(
      a, b, [](const BigInt& m, const BigInt& n) -> Value { return m * n; },
      [](double x, double y) -> Value { return x * y; });
}

Value quotient(const Value& a, const Value& b) {
  return arithmetic(
      a, b,
      [](const BigInt& m, const BigInt& n) -> Value {
        if (n.is_zero()) return Failure{};
        const auto divided = true_divide(m, n);
        return divided ? Value(*divided) : Value(Failure{});
      },
      [](double x, double y) -> Value { return y == 0 ? Value(Failure{}) : Value(x / y); });
}

Value floor_quotient(const Value& a, const Value& b) {
  return arithmetic(
      a, b,
      [](const BigInt& m, const BigInt& n) -> Value {
        return n.is_zero() ? Value(Failure{}) : Value(floor_divide(m, n));
      },
      [](double x, double y) -> Value {
        return y == 0 ? Value(Failure{}) : Value(floor_divided(x, y));
      });
}

Value contains(const Value& container, const Value& element) {
  const auto* text = std::get_if<std::string>(&element);
  if (failed(element)) return Failure{};
  if (const auto* whole = std::get_if<std::string>(&container))
    return text ? Value(whole->find(*text) != std::string::npos) : Value(Failure{});
  if (const auto* list = std::get_if<List>(&container))
    return text != nullptr && std::find(list->begin(), list->end(), *text) != list->end();
  if (std::holds_alternative<EmptyTuple>(container)) return false;
  return Failure{};
}

std::optional<std::string> str(const Value& value) {
  struct Text {
    std::optional<std::string> operator()(Failure) const { return std::nullopt; }
    std::optional<std::string> operator()(None) const { return std::nullopt; }
    std::optional<std::string> operator()(bool truth) const { return truth ? "True" : "False"; }
    std::optional<std::string> operator()(const BigInt& integer) const {
      if (integer.bit_length() > kMaxBits) return std::nullopt;
      std::string digits = integer.decimal();
      if (digits.size() - (integer.is_negative() ? 1 : 0) > kMaxDigits) return std::nullopt;
      return digits;
    }
    std::optional<std::string> operator()(double number) const { return repr(number); }
    std::optional<std::string> operator()(const std::string& text) const { return text; }
    std::optional<std::string> operator()(Ellipsis) const { return "Ellipsis"; }
    std::optional<std::string> operator()(EmptyTuple) const { return "()"; }
    std::optional<std::string> operator()(const List& list) const {
      std::string text = "[";
      for (const std::string& word : list) text += (text.size() > 1 ? ", " : "") + repr(word);
      return text + "]";
    }
  };
  return std::visit(Text{}, value);
}

}  // namespace nb::calculator
