// Integers of any size for the calculator: exact sums, products, Python's floor division, and its
// correctly rounded conversions to double. Boost's cpp_int does the arithmetic; only big_int.cpp
// sees it, which takes long to compile. A value; copies share memory that nobody changes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace nb {

class BigInt {
 public:
  BigInt() = default;
  explicit BigInt(std::int64_t value);
  // digits: at least one, all valid in that base (2, 8, 10 or 16); letters of either case.
  static BigInt parse(std::string_view digits, unsigned base = 10);

  bool is_zero() const { return number_ == nullptr; }
  bool is_negative() const;
  std::int64_t bit_length() const;  // of the magnitude; 0 for zero
  std::string decimal() const;
  std::optional<std::int64_t> as_int64() const;  // nothing: it does not fit

  // Nearest double, ties to even; nothing when that would be infinite.
  std::optional<double> as_double() const;

  BigInt operator-() const;
  friend BigInt operator+(const BigInt& a, const BigInt& b);
  friend BigInt operator-(const BigInt& a, const BigInt& b) { return a + -b; }
  friend BigInt operator*(const BigInt& a, const BigInt& b);
  friend bool operator==(const BigInt& a, const BigInt& b);

 private:
  friend BigInt floor_divide(const BigInt& a, const BigInt& b);
  friend std::optional<double> true_divide(const BigInt& a, const BigInt& b);
  struct Number;
  explicit BigInt(Number number);
  const Number& number() const;
  std::shared_ptr<const Number> number_;  // null: zero
};

// b is not zero. a // b, towards minus infinity.
BigInt floor_divide(const BigInt& a, const BigInt& b);
// a / b as the nearest double, ties to even, subnormals included (CPython, long_true_divide);
// nothing when it is too large. A zero of a negative quotient is -0.0.
std::optional<double> true_divide(const BigInt& a, const BigInt& b);

}  // namespace nb
