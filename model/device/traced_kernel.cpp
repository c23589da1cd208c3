#include "model/device/traced_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace nb {
namespace {

// By KernelUnit.
constexpr std::array<std::string_view, 5> kUnits = {"matrix", "attention", "vector", "host_link",
                                                    "link"};

struct Number {
  std::string_view name;
  std::int64_t Kernel::*whole;
  std::uint64_t Kernel::*bytes;
};
constexpr std::array kNumbers = {
    Number{"batch", &Kernel::batch, nullptr},
    Number{"m", &Kernel::m, nullptr},
    Number{"n", &Kernel::n, nullptr},
    Number{"k", &Kernel::k, nullptr},
    Number{"read", nullptr, &Kernel::read_bytes},
    Number{"write", nullptr, &Kernel::write_bytes},
    Number{"burst", &Kernel::burst_bytes, nullptr},
};

bool take_number(TracedKernel& traced, std::string_view word) {
  const std::size_t equal = word.find('=');
  if (equal == word.npos) return false;
  std::int64_t value = 0;
  const std::string_view digits = word.substr(equal + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  constexpr std::int64_t kLargest = std::int64_t{1} << 50;
  if (error != std::errc() || end != digits.data() + digits.size() || value < 0 || value > kLargest)
    return false;
  if (word.substr(0, equal) == "ranks") {
    traced.ranks = value;
    return value > 0;
  }
  Kernel& kernel = traced.kernel;
  for (const Number& one : kNumbers) {
    if (one.name != word.substr(0, equal)) continue;
    if (one.whole != nullptr)
      kernel.*one.whole = value;
    else
      kernel.*one.bytes = static_cast<std::uint64_t>(value);
    return true;
  }
  return false;
}

bool take_word(TracedKernel& traced, std::string_view word) {
  Kernel& kernel = traced.kernel;
  for (std::size_t i = 0; i < kUnits.size(); ++i)
    if (kUnits[i] == word) {
      kernel.unit = static_cast<KernelUnit>(i);
      return true;
    }
  if (word == "backward") return kernel.backward = true;
  if (word == "causal") return kernel.is_causal_square = true;
  if (word.find('=') != word.npos) return take_number(traced, word);
  const auto dtype = parse_dtype(word);
  if (!dtype) return false;
  kernel.dtype = *dtype;
  return true;
}

}  // namespace

std::string traced_label(std::string_view label, const TracedKernel& traced) {
  const Kernel& kernel = traced.kernel;
  std::string text(label);
  if (!text.empty()) text += ' ';
  text += fmt::format("[{} {}", kUnits[static_cast<std::size_t>(kernel.unit)], name(kernel.dtype));
  for (const Number& one : kNumbers) {
    const auto value =
        one.whole != nullptr ? static_cast<std::uint64_t>(kernel.*one.whole) : kernel.*one.bytes;
    if (value != 0) text += fmt::format(" {}={}", one.name, value);
  }
  if (traced.ranks != 1) text += fmt::format(" ranks={}", traced.ranks);
  if (kernel.backward) text += " backward";
  if (kernel.is_causal_square) text += " causal";
  return text + "]";
}

std::optional<TracedKernel> kernel_of_label(std::string_view text) {
  const std::size_t open = text.rfind('[');
  if (open == text.npos || !text.ends_with(']')) return std::nullopt;
  std::string_view words = text.substr(open + 1, text.size() - open - 2);
  TracedKernel traced;
  bool has_word = false;
  while (!words.empty()) {
    const std::size_t blank = std::min(words.find(' '), words.size());
    if (!take_word(traced, words.substr(0, blank))) return std::nullopt;
    has_word = true;
    words.remove_prefix(std::min(blank + 1, words.size()));
  }
  if (!has_word) return std::nullopt;
  return traced;
}

}  // namespace nb
