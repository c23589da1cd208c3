#include "tests/model/kernels/shapes/edges.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace nb::test {
namespace {

const float kNan = std::bit_cast<float>(0x7fc00000u);
const float kNanWithPayload = std::bit_cast<float>(0xffc12345u);
const float kSignallingNan = std::bit_cast<float>(0x7fa00001u);
constexpr float kInfinity = std::numeric_limits<float>::infinity();

const std::array kEdges = {
    0.0f, -0.0f, 0x1p-149f, -0x1p-149f, 0x1.fffffcp-127f, -0x1p-127f, 0x1p-126f, -0x1.000002p-126f,
    kInfinity, -kInfinity, kNan, kNanWithPayload, kSignallingNan, 0x1.fffffep127f, -0x1.fffffep127f,
    0x1.fep127f, -0x1.ff0002p127f, 0x1.fefffep127f,
    // bf16: to even down and up, and just beside the ties.
    0x1.01p0f, -0x1.03p0f, 0x1.00fffep0f, 0x1.010002p0f, -0x1.02fffep-3f,
    // The floor: on it, rounded up to it, just under, and under after rounding.
    0x1p-56f, -0x1p-56f, 0x1.ffp-57f, -0x1.fefffep-57f, 0x1.02p-56f, -0x1.fep-57f, 0x1p-57f,
    0x1p-112f,
    // fp16: largest, tie to infinity, under it, denormals and the tie to its smallest.
    65504.0f, -65520.0f, 65519.996f, 0x1p-14f, 0x1.ffcp-15f, 0x1p-24f, 0x1p-25f, -0x1.000002p-25f,
    // tf32 (10 bits) and hf32 (11 bits).
    0x1.002p0f, 0x1.006p0f, -0x1.001p0f, 0x1.003p0f,
    // Where exp overflows, underflows and becomes denormal; where tanh and its two forms meet.
    88.722839f, 88.722847f, -87.33655f, -103.97208f, -104.0f, 0.625f, -0.62499994f, 9.0f, 1.0f,
    -1.0f};

const std::array<ProductEdge, 44> kProductEdges = {{
    {"a denormal and one", 0x1p-149f, 1.0f},
    {"a denormal made normal", -0x1.8p-130f, 0x1p100f},
    {"a denormal and a denormal", 0x1p-130f, -0x1p-140f},
    {"a product below every denormal", 0x1p-100f, 0x1p-100f},
    {"a product that is denormal", 0x1p-70f, 0x1p-70f},
    {"a product that rounds to the smallest normal", 0x1.fffffep-64f, 0x1p-63f},
    {"-0 and one", -0.0f, 1.0f},
    {"0 and -1", 0.0f, -1.0f},
    {"-0 and -0", -0.0f, -0.0f, -0.0f, 1.0f},
    {"infinity", kInfinity, 1.0f},
    {"infinities of both signs", kInfinity, 1.0f, -kInfinity, 1.0f},
    {"infinity and zero", kInfinity, 0.0f},
    {"zero and -infinity", -0.0f, -kInfinity},
    {"infinity and a value under the floor", kInfinity, 0x1p-60f},
    {"infinity and a denormal", -kInfinity, 0x1p-149f},
    {"NaN", kNan, 1.0f},
    {"NaN with a payload", kNanWithPayload, 1.0f},
    {"a signalling NaN and zero", 0.0f, kSignallingNan},
    {"NaN and infinity", kNan, kInfinity},
    {"on the floor", 0x1p-56f, 1.0f},
    {"on the floor twice", 0x1p-56f, -0x1p-56f},
    {"on the floor, cancelled", 0x1p-56f, 0x1p-56f, -0x1p-56f, 0x1p-56f},
    {"a tie that rounds up to the floor", 0x1.ffp-57f, 1.0f},
    {"just under that tie", -0x1.fefffep-57f, 1.0f},
    {"the largest bf16 under the floor", 0x1.fep-57f, 0x1p56f},
    {"the same, negative, in B", 0x1p56f, -0x1.fep-57f},
    {"the smallest above the floor", 0x1.02p-56f, 0x1p56f},
    {"half of the floor", -0x1p-57f, 0x1p100f},
    {"bf16 tie to even, down", 0x1.01p0f, 1.0f},
    {"bf16 tie to even, up", 0x1.03p0f, 1.0f},
    {"just under a bf16 tie", 0x1.00fffep0f, -1.0f},
    {"just over a bf16 tie", 0x1.010002p0f, 1.0f},
    {"an input that rounds to infinity", 0x1.ffp127f, 1.0f},
    {"and one that does not", 0x1.fefffep127f, 1.0f},
    {"a product that overflows", 0x1p127f, 2.0f},
    {"a sum that overflows", 0x1.fep127f, 1.0f, 0x1.fep127f, 1.0f},
    {"an overflow that cannot come back", 0x1.fep127f, 1.0f, -0x1.fep127f, 2.0f},
    {"an output that rounds to infinity", 0x1.fep127f, 1.0f, 0x1p119f, 1.0f},
    {"and one that does not", 0x1.fep127f, 1.0f, 0x1.fep118f, 1.0f},
    {"fp16 output on the tie to infinity", 65280.0f, 1.0f, 240.0f, 1.0f},
    {"fp16 output under it", -65280.0f, 1.0f, -239.0f, 1.0f},
    {"fp16 output, denormal tie", 0x1p-12f, 0x1p-13f},
    {"output bf16 tie", 1.0f, 1.0f, 0x1p-8f, 1.0f},
    {"what the order of k decides", 0x1p-24f, 1.0f, -1.0f, 1.0f},
}};

}  // namespace

std::span<const float> edge_values() { return kEdges; }
std::span<const ProductEdge> product_edges() { return kProductEdges; }

std::vector<std::int64_t> edge_places(std::int64_t n) {
  std::vector<std::int64_t> places;
  for (const std::int64_t place :
       {std::int64_t{0}, std::int64_t{1}, n / 2, n - n % 16 - 1, n - n % 16, n - 2, n - 1}) {
    if (place >= 0 && place < n && std::find(places.begin(), places.end(), place) == places.end())
      places.push_back(place);
  }
  return places;
}

Array edged_array(std::int64_t rows, std::int64_t cols, std::uint64_t seed, std::size_t shift,
                  std::int64_t padding) {
  Array result = random_array(rows, cols, seed, Values::kOrdinary, padding);
  const std::vector<std::int64_t> places = edge_places(cols);
  if (places.empty()) return result;
  for (std::int64_t i = 0; i < rows; ++i) {
    // One edge in odd rows, so that NaN and infinity hide nothing in what is summed there.
    const std::size_t first = shift * static_cast<std::size_t>(rows) + static_cast<std::size_t>(i);
    const std::size_t count = i % 2 == 0 ? places.size() : 1;
    for (std::size_t e = 0; e < count; ++e)
      result.view().row(i)[places[(first + e) % places.size()]] =
          kEdges[(first + e) % kEdges.size()];
  }
  return result;
}

std::vector<float> edged_vector(std::size_t size, std::uint64_t seed, std::size_t shift) {
  std::vector<float> result = random_vector(size, seed);
  std::size_t next = shift;
  for (const std::int64_t place : edge_places(static_cast<std::int64_t>(size)))
    result[static_cast<std::size_t>(place)] = kEdges[next++ % kEdges.size()];
  // And all of them in a row where there is room.
  if (size >= 3 * kEdges.size())
    std::copy(kEdges.begin(), kEdges.end(), result.begin() + static_cast<std::ptrdiff_t>(size / 3));
  return result;
}

Operands edged_operands(std::int64_t m, std::int64_t n, std::int64_t k, const ProductEdge& edge,
                        bool alone, std::int64_t padding) {
  Operands result{random_array(m, k, 1, Values::kOrdinary, padding),
                  random_array(n, k, 2, Values::kOrdinary, padding)};
  if (m == 0 || n == 0 || k == 0) return result;
  const std::array rows = {std::int64_t{0}, m / 2, m - 1}, cols = {std::int64_t{0}, n / 2, n - 1};
  const std::array at = {std::int64_t{0}, k / 2, k - 1};
  for (std::size_t r = 0; r < rows.size(); ++r) {
    float* row = result.a.view().row(rows[r]);
    if (alone)
      for (std::int64_t i = 0; i < k; ++i) row[i] = i % 2 == 0 ? -0.0f : 0.0f;
    const bool has_other = edge.other_a != 0.0f || edge.other_b != 0.0f;
    if (has_other) row[at[(r + 1) % 3]] = edge.other_a;
    row[at[r]] = edge.a;
    for (const std::int64_t col : cols) {
      if (has_other) result.b.view().row(col)[at[(r + 1) % 3]] = edge.other_b;
    }
  }
  // Every chosen column meets row r at its own k; the partner's factor stands at the next place.
  for (std::size_t c = 0; c < cols.size(); ++c) result.b.view().row(cols[c])[at[c]] = edge.b;
  return result;
}

Array transposed(const Array& x, std::int64_t padding) {
  const ConstMatrix from = x.view();
  Array result(from.cols, from.rows, padding);
  for (std::int64_t i = 0; i < from.rows; ++i)
    for (std::int64_t j = 0; j < from.cols; ++j) result.view().row(j)[i] = from.row(i)[j];
  return result;
}

}  // namespace nb::test
