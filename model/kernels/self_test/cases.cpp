#include "model/kernels/self_test/cases.hpp"

#include <bit>
#include <cmath>

namespace nb::kernels::self_test {
namespace {

class Draws {
 public:
  explicit Draws(std::uint32_t seed) : state_(seed * 2654435761u + 1u) {}
  std::uint32_t next() {
    state_ = state_ * 1664525u + 1013904223u;
    return state_ >> 8;
  }
  float ordinary() {
    const float size = 0.125f + static_cast<float>(next() % (1u << 16)) * 0x1.fp-15f;
    return next() % 2 == 0 ? size : -size;
  }
  float hard(std::uint32_t edges) {
    static constexpr float kEdges[] = {0.0f,     -0.0f,     0x1p-149f,   -0x1p-126f,  0x1p-56f,
                                       88.8f,    -103.9f,   0x1.fep-57f, 0x1.ffp-57f, -0x1p-57f,
                                       65504.0f, 65520.0f,  0x1.8p-133f, 0x1.fep127f, 0.625f,
                                       INFINITY, -INFINITY, NAN};
    const std::uint32_t pick = next() % 16;
    if (pick < 4) return kEdges[next() % edges];
    return pick == 4 ? ordinary() * 0x1p-60f : ordinary();
  }
  static constexpr std::uint32_t kFinite = 15, kAll = 18;

 private:
  std::uint32_t state_;
};

template <class Draw>
std::vector<float> drawn(std::int64_t count, const Draw& draw) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = draw(i);
  return values;
}

}  // namespace

std::vector<float> ordinary_values(std::int64_t count, std::uint32_t seed) {
  Draws draws(seed);
  return drawn(count, [&](std::size_t) { return draws.ordinary(); });
}

std::vector<float> finite_values(std::int64_t count, std::uint32_t seed) {
  Draws draws(seed);
  return drawn(count, [&](std::size_t) { return draws.hard(Draws::kFinite); });
}

std::vector<float> hard_values(std::int64_t count, std::uint32_t seed) {
  Draws draws(seed);
  return drawn(count, [&](std::size_t) { return draws.hard(Draws::kAll); });
}

std::vector<float> mixed_values(std::int64_t count, std::uint32_t seed) {
  Draws draws(seed);
  return drawn(count,
               [&](std::size_t i) { return i < 128 ? draws.ordinary() : draws.hard(Draws::kAll); });
}

std::vector<float> tame(std::vector<float> values) {
  for (float& x : values) x = std::fabs(x) < 1000.0f ? x : 1.0f;
  return values;
}

std::vector<float> bf16_numbers(std::vector<float> values) {
  for (float& x : values) x = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xffff0000u);
  return values;
}

std::vector<std::uint16_t> bf16(const std::vector<float>& values) {
  std::vector<std::uint16_t> result;
  for (const float x : values) {
    result.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16));
  }
  return result;
}

std::vector<float> numbers(const std::vector<std::uint16_t>& bf16) {
  std::vector<float> result;
  for (const std::uint16_t x : bf16) {
    result.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16));
  }
  return result;
}

bool same(const float* a, const float* b, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const bool equal =
        std::isnan(a[i]) ? std::isnan(b[i])
                         : std::bit_cast<std::uint32_t>(a[i]) == std::bit_cast<std::uint32_t>(b[i]);
    if (!equal) return false;
  }
  return true;
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && same(a.data(), b.data(), std::ssize(a));
}

float PackedLine::value(std::int64_t k) const {
  float x = 0.0f;
  if (values_per_word == 2) {
    const std::uint32_t pair = words[k / 2 * step];
    x = std::bit_cast<float>(k % 2 == 0 ? pair << 16 : pair & 0xffff0000u);
  } else {
    x = std::bit_cast<float>(words[(swaps_pairs ? k ^ 1 : k) * step]);
  }
  return is_bf16 ? x + 0.0f : x;
}

}  // namespace nb::kernels::self_test
