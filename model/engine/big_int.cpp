#include "model/engine/big_int.hpp"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <utility>

#include "harness/base/check.hpp"

namespace nb {

using Integer = boost::multiprecision::cpp_int;

struct BigInt::Number {
  Integer value;
};

namespace {

std::int64_t bits_of(const Integer& magnitude) {
  return magnitude.is_zero() ? 0 : static_cast<std::int64_t>(msb(magnitude)) + 1;
}

// magnitude / 2^bits; `lost` becomes true when a one is shifted out. bits < 0: to the left.
Integer shifted_right(const Integer& magnitude, std::int64_t bits, bool& lost) {
  if (bits <= 0) return magnitude << static_cast<unsigned long>(-bits);
  lost = lost || (!magnitude.is_zero() && static_cast<std::int64_t>(lsb(magnitude)) < bits);
  return magnitude >> static_cast<unsigned long>(bits);
}

}  // namespace

BigInt::BigInt(Number number)
    : number_(number.value.is_zero() ? nullptr : std::make_shared<Number>(std::move(number))) {}

const BigInt::Number& BigInt::number() const {
  static const Number kZero;
  return number_ == nullptr ? kZero : *number_;
}

BigInt::BigInt(std::int64_t value) : BigInt(Number{Integer(value)}) {}

BigInt BigInt::parse(std::string_view digits, unsigned base) {
  NB_CHECK(!digits.empty(), "[BigInt] no digits");
  Integer value;
  for (const char c : digits) {
    const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    NB_CHECK(digit >= 0 && digit < static_cast<int>(base), "[BigInt] '{}' in base {}", c, base);
    value *= base;
    value += digit;
  }
  return BigInt(Number{std::move(value)});
}

bool BigInt::is_negative() const { return number().value.sign() < 0; }

std::int64_t BigInt::bit_length() const { return bits_of(abs(number().value)); }

std::string BigInt::decimal() const { return number().value.str(); }

std::optional<std::int64_t> BigInt::as_int64() const {
  if (bit_length() > 63) return std::nullopt;  // -2^63 is not worth a case
  return static_cast<std::int64_t>(number().value);
}

std::optional<double> BigInt::as_double() const {
  const std::int64_t bits = bit_length();
  if (bits > std::numeric_limits<double>::max_exponent) return std::nullopt;
  const std::int64_t shift = std::max<std::int64_t>(bits - 64, 0);
  bool lost = false;
  const auto top = static_cast<std::uint64_t>(shifted_right(abs(number().value), shift, lost));
  // The lost bits stand in the last of 64, so that rounding to 53 sees them.
  const double value =
      std::ldexp(static_cast<double>(top | (lost ? 1U : 0U)), static_cast<int>(shift));
  if (std::isinf(value)) return std::nullopt;
  return is_negative() ? -value : value;
}

BigInt BigInt::operator-() const { return BigInt(Number{-number().value}); }

BigInt operator+(const BigInt& a, const BigInt& b) {
  return BigInt(BigInt::Number{a.number().value + b.number().value});
}

BigInt operator*(const BigInt& a, const BigInt& b) {
  return BigInt(BigInt::Number{a.number().value * b.number().value});
}

bool operator==(const BigInt& a, const BigInt& b) { return a.number().value == b.number().value; }

BigInt floor_divide(const BigInt& a, const BigInt& b) {
  NB_CHECK(!b.is_zero(), "[floor_divide] by zero");
  Integer quotient, rest;
  divide_qr(a.number().value, b.number().value, quotient, rest);  // towards zero
  if (!rest.is_zero() && a.is_negative() != b.is_negative()) --quotient;
  return BigInt(BigInt::Number{std::move(quotient)});
}

std::optional<double> true_divide(const BigInt& a, const BigInt& b) {
  NB_CHECK(!b.is_zero(), "[true_divide] by zero");
  using Limits = std::numeric_limits<double>;
  const bool is_negative = a.is_negative() != b.is_negative();
  const std::int64_t difference = a.bit_length() - b.bit_length();
  if (difference > Limits::max_exponent) return std::nullopt;
  if (a.is_zero() || difference < Limits::min_exponent - Limits::digits - 1)
    return is_negative ? -0.0 : 0.0;
  // The quotient with two or three bits too many, and whether anything lies below them.
  const std::int64_t shift =
      std::max<std::int64_t>(difference, Limits::min_exponent) - Limits::digits - 2;
  bool inexact = false;
  Integer quotient, rest;
  divide_qr(shifted_right(abs(a.number().value), shift, inexact), Integer(abs(b.number().value)),
            quotient, rest);
  inexact = inexact || !rest.is_zero();
  auto x = static_cast<std::uint64_t>(quotient);
  const std::int64_t extra =
      std::max<std::int64_t>(bits_of(quotient), Limits::min_exponent - shift) - Limits::digits;
  const std::uint64_t half = 1ULL << (extra - 1);
  const std::uint64_t seen = x | (inexact ? 1U : 0U);
  if ((seen & half) != 0 && (seen & (3 * half - 1)) != 0) x += half;
  x &= ~(2 * half - 1);
  const double value = std::ldexp(static_cast<double>(x), static_cast<int>(shift));
  if (std::isinf(value)) return std::nullopt;
  return is_negative ? -value : value;
}

}  // namespace nb
