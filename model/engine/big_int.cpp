#include "model/engine/big_int.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "harness/base/check.hpp"

namespace nb {
namespace {

using Limbs = std::vector<std::uint32_t>;
constexpr int kLimbBits = 32;

void trim(Limbs& limbs) {
  while (!limbs.empty() && limbs.back() == 0) limbs.pop_back();
}

std::int64_t bits_of(const Limbs& limbs) {
  if (limbs.empty()) return 0;
  return static_cast<std::int64_t>(limbs.size()) * kLimbBits - std::countl_zero(limbs.back());
}

int compare(const Limbs& a, const Limbs& b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  for (std::size_t i = a.size(); i-- > 0;)
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  return 0;
}

Limbs add(const Limbs& a, const Limbs& b) {
  Limbs sum(std::max(a.size(), b.size()) + 1);
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    carry += (i < a.size() ? a[i] : 0ULL) + (i < b.size() ? b[i] : 0ULL);
    sum[i] = static_cast<std::uint32_t>(carry);
    carry >>= kLimbBits;
  }
  trim(sum);
  return sum;
}

// a >= b
Limbs subtract(const Limbs& a, const Limbs& b) {
  Limbs difference(a.size());
  std::int64_t borrow = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::int64_t digit =
        static_cast<std::int64_t>(a[i]) - (i < b.size() ? std::int64_t{b[i]} : 0) - borrow;
    borrow = digit < 0 ? 1 : 0;
    difference[i] = static_cast<std::uint32_t>(digit + (borrow << kLimbBits));
  }
  trim(difference);
  return difference;
}

// limbs = limbs × factor + addend
void multiply_add(Limbs& limbs, std::uint32_t factor, std::uint32_t addend) {
  std::uint64_t carry = addend;
  for (std::uint32_t& limb : limbs) {
    carry += std::uint64_t{limb} * factor;
    limb = static_cast<std::uint32_t>(carry);
    carry >>= kLimbBits;
  }
  if (carry != 0) limbs.push_back(static_cast<std::uint32_t>(carry));
}

// limbs = limbs / divisor; the remainder
std::uint32_t divide_small(Limbs& limbs, std::uint32_t divisor) {
  std::uint64_t rest = 0;
  for (std::size_t i = limbs.size(); i-- > 0;) {
    rest = (rest << kLimbBits) | limbs[i];
    limbs[i] = static_cast<std::uint32_t>(rest / divisor);
    rest %= divisor;
  }
  trim(limbs);
  return static_cast<std::uint32_t>(rest);
}

Limbs shift_left(const Limbs& limbs, std::int64_t bits) {
  if (limbs.empty()) return {};
  Limbs shifted(static_cast<std::size_t>(bits / kLimbBits), 0);
  const int part = static_cast<int>(bits % kLimbBits);
  std::uint64_t carry = 0;
  for (const std::uint32_t limb : limbs) {
    carry |= std::uint64_t{limb} << part;
    shifted.push_back(static_cast<std::uint32_t>(carry));
    carry >>= kLimbBits;
  }
  shifted.push_back(static_cast<std::uint32_t>(carry));
  trim(shifted);
  return shifted;
}

// `lost` becomes true when a one is shifted out.
Limbs shift_right(const Limbs& limbs, std::int64_t bits, bool& lost) {
  const auto whole = static_cast<std::size_t>(bits / kLimbBits);
  const int part = static_cast<int>(bits % kLimbBits);
  if (whole >= limbs.size()) {
    lost = lost || !limbs.empty();
    return {};
  }
  for (std::size_t i = 0; i < whole; ++i) lost = lost || limbs[i] != 0;
  lost = lost || (limbs[whole] & ((1ULL << part) - 1)) != 0;
  Limbs shifted;
  for (std::size_t i = whole; i < limbs.size(); ++i) {
    const std::uint64_t high = i + 1 < limbs.size() ? limbs[i + 1] : 0;
    shifted.push_back(static_cast<std::uint32_t>(((high << kLimbBits) | limbs[i]) >> part));
  }
  trim(shifted);
  return shifted;
}

// Knuth, The Art of Computer Programming 2, 4.3.1, algorithm D. b is not zero.
std::pair<Limbs, Limbs> divide(const Limbs& a, const Limbs& b) {
  if (compare(a, b) < 0) return {{}, a};
  if (b.size() == 1) {
    Limbs quotient = a;
    const std::uint32_t rest = divide_small(quotient, b[0]);
    return {quotient, rest == 0 ? Limbs{} : Limbs{rest}};
  }
  const int shift = std::countl_zero(b.back());
  const Limbs v = shift_left(b, shift);
  Limbs u = shift_left(a, shift);
  u.resize(std::max(u.size(), a.size()) + 1, 0);
  const std::size_t n = v.size();
  Limbs quotient(u.size() - n, 0);
  for (std::size_t j = quotient.size(); j-- > 0;) {
    const std::uint64_t top = (std::uint64_t{u[j + n]} << kLimbBits) | u[j + n - 1];
    std::uint64_t guess = top / v[n - 1], rest = top % v[n - 1];
    while (guess >> kLimbBits != 0 || guess * v[n - 2] > ((rest << kLimbBits) | u[j + n - 2])) {
      --guess;
      rest += v[n - 1];
      if (rest >> kLimbBits != 0) break;
    }
    std::int64_t borrow = 0;
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i <= n; ++i) {
      carry += i < n ? guess * v[i] : 0;
      const std::int64_t digit =
          std::int64_t{u[i + j]} - static_cast<std::int64_t>(carry & 0xffffffffU) - borrow;
      u[i + j] = static_cast<std::uint32_t>(digit);
      borrow = digit < 0 ? 1 : 0;
      carry >>= kLimbBits;
    }
    if (borrow != 0) {  // the guess was one too large
      --guess;
      carry = 0;
      for (std::size_t i = 0; i <= n; ++i) {
        carry += std::uint64_t{u[i + j]} + (i < n ? v[i] : 0U);
        u[i + j] = static_cast<std::uint32_t>(carry);
        carry >>= kLimbBits;
      }
    }
    quotient[j] = static_cast<std::uint32_t>(guess);
  }
  trim(quotient);
  trim(u);
  bool lost = false;
  return {quotient, shift_right(u, shift, lost)};
}

std::uint64_t low64(const Limbs& limbs) {
  return (limbs.size() > 1 ? std::uint64_t{limbs[1]} << kLimbBits : 0) |
         (limbs.empty() ? 0 : limbs[0]);
}

}  // namespace

BigInt::BigInt(Limbs limbs, bool is_negative)
    : limbs_(std::move(limbs)), is_negative_(is_negative && !limbs_.empty()) {}

BigInt::BigInt(std::int64_t value) : is_negative_(value < 0) {
  const std::uint64_t magnitude =
      value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  limbs_ = {static_cast<std::uint32_t>(magnitude),
            static_cast<std::uint32_t>(magnitude >> kLimbBits)};
  trim(limbs_);
}

BigInt BigInt::parse(std::string_view digits, unsigned base) {
  NB_CHECK(!digits.empty(), "[BigInt] no digits");
  Limbs limbs;
  for (const char c : digits) {
    const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    NB_CHECK(digit >= 0 && digit < static_cast<int>(base), "[BigInt] '{}' in base {}", c, base);
    multiply_add(limbs, base, static_cast<std::uint32_t>(digit));
    trim(limbs);
  }
  return {std::move(limbs), false};
}

std::int64_t BigInt::bit_length() const { return bits_of(limbs_); }

std::string BigInt::decimal() const {
  if (is_zero()) return "0";
  std::string text;  // backwards
  for (Limbs rest = limbs_; !rest.empty();) {
    std::uint32_t nine = divide_small(rest, 1'000'000'000);
    for (int i = 0; i < 9 && (nine != 0 || !rest.empty()); ++i, nine /= 10)
      text += static_cast<char>('0' + nine % 10);
  }
  if (is_negative_) text += '-';
  std::reverse(text.begin(), text.end());
  return text;
}

std::optional<std::int64_t> BigInt::as_int64() const {
  if (bit_length() > 63) return std::nullopt;  // -2^63 is not worth a case
  const auto magnitude = static_cast<std::int64_t>(low64(limbs_));
  return is_negative_ ? -magnitude : magnitude;
}

std::optional<double> BigInt::as_double() const {
  const std::int64_t bits = bit_length();
  if (bits > std::numeric_limits<double>::max_exponent) return std::nullopt;
  const std::int64_t shift = std::max<std::int64_t>(bits - 64, 0);
  bool lost = false;
  const std::uint64_t top = low64(shift_right(limbs_, shift, lost));
  // The lost bits stand in the last of 64, so that rounding to 53 sees them.
  const double value =
      std::ldexp(static_cast<double>(top | (lost ? 1U : 0U)), static_cast<int>(shift));
  if (std::isinf(value)) return std::nullopt;
  return is_negative_ ? -value : value;
}

BigInt BigInt::operator-() const { return {limbs_, !is_negative_}; }

BigInt operator+(const BigInt& a, const BigInt& b) {
  if (a.is_negative_ == b.is_negative_) return {add(a.limbs_, b.limbs_), a.is_negative_};
  if (compare(a.limbs_, b.limbs_) >= 0) return {subtract(a.limbs_, b.limbs_), a.is_negative_};
  return {subtract(b.limbs_, a.limbs_), b.is_negative_};
}

BigInt operator*(const BigInt& a, const BigInt& b) {
  Limbs product(a.limbs_.size() + b.limbs_.size(), 0);
  for (std::size_t i = 0; i < a.limbs_.size(); ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < b.limbs_.size(); ++j) {
      carry += std::uint64_t{a.limbs_[i]} * b.limbs_[j] + product[i + j];
      product[i + j] = static_cast<std::uint32_t>(carry);
      carry >>= kLimbBits;
    }
    product[i + b.limbs_.size()] = static_cast<std::uint32_t>(carry);
  }
  trim(product);
  return {std::move(product), a.is_negative_ != b.is_negative_};
}

BigInt floor_divide(const BigInt& a, const BigInt& b) {
  NB_CHECK(!b.is_zero(), "[floor_divide] by zero");
  auto [quotient, rest] = divide(a.limbs_, b.limbs_);
  const bool is_negative = a.is_negative_ != b.is_negative_;
  if (is_negative && !rest.empty()) quotient = add(quotient, {1});
  return {std::move(quotient), is_negative};
}

std::optional<double> true_divide(const BigInt& a, const BigInt& b) {
  NB_CHECK(!b.is_zero(), "[true_divide] by zero");
  using Limits = std::numeric_limits<double>;
  const bool is_negative = a.is_negative_ != b.is_negative_;
  const std::int64_t difference = a.bit_length() - b.bit_length();
  if (difference > Limits::max_exponent) return std::nullopt;
  if (a.is_zero() || difference < Limits::min_exponent - Limits::digits - 1)
    return is_negative ? -0.0 : 0.0;
  // The quotient with two or three bits too many, and whether anything lies below them.
  const std::int64_t shift =
      std::max<std::int64_t>(difference, Limits::min_exponent) - Limits::digits - 2;
  bool inexact = false;
  const Limbs scaled =
      shift <= 0 ? shift_left(a.limbs_, -shift) : shift_right(a.limbs_, shift, inexact);
  const auto [quotient, rest] = divide(scaled, b.limbs_);
  inexact = inexact || !rest.empty();
  std::uint64_t x = low64(quotient);
  const std::int64_t bits = bits_of(quotient);
  const std::int64_t extra =
      std::max<std::int64_t>(bits, Limits::min_exponent - shift) - Limits::digits;
  const std::uint64_t half = 1ULL << (extra - 1);
  const std::uint64_t seen = x | (inexact ? 1U : 0U);
  if ((seen & half) != 0 && (seen & (3 * half - 1)) != 0) x += half;
  x &= ~(2 * half - 1);
  const double value = std::ldexp(static_cast<double>(x), static_cast<int>(shift));
  if (std::isinf(value)) return std::nullopt;
  return is_negative ? -value : value;
}

}  // namespace nb
