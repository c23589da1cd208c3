#include "model/kernels/muon.hpp"

#include <algorithm>
#include <vector>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "harness/base/portable_math.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/matmul.hpp"
#include "model/kernels/reduce.hpp"
#include "model/kernels/row_loop.hpp"
#include "model/kernels/scratch.hpp"
#include "model/kernels/transpose.hpp"

namespace nb::kernels {
namespace {

void copy(ConstMatrix from, Matrix to, int rounding) {
  const inner::Table& table = inner::table();
  each_row(from.rows, from.cols,
           [&](std::int64_t i) { table.cast(from.row(i), from.cols, to.row(i), rounding); });
}

// One step of the iteration on x (R ≤ C); the others are working memory.
struct Work {
  Matrix x, gram, scaled, product, next;
};
void iterate(const Work& w, const NewtonSchulzSettings& s, int rounding) {
  const inner::Table& table = inner::table();
  matmul_gram(w.x, w.gram, s.matmul);
  each_row(w.gram.rows, w.gram.cols, [&](std::int64_t i) {
    table.scale(w.gram.row(i), w.gram.cols, s.c, w.scaled.row(i), rounding);
  });
  matmul_nn(w.scaled, w.gram, w.product, s.matmul);
  each_row(w.gram.rows, w.gram.cols, [&](std::int64_t i) {
    table.scaled_plus(w.gram.row(i), w.product.row(i), w.gram.cols, s.b, w.product.row(i), rounding,
                      s.pointwise.eager);
  });
  matmul_nn(w.product, w.x, w.next, s.matmul);
  each_row(w.x.rows, w.x.cols, [&](std::int64_t i) {
    table.scaled_plus(w.x.row(i), w.next.row(i), w.x.cols, s.a, w.x.row(i), rounding,
                      s.pointwise.eager);
  });
}

}  // namespace

void muon_momentum(std::span<const float> gradient, std::span<float> buffer,
                   std::span<float> update, double momentum, DType state, bool nesterov) {
  NB_CHECK(gradient.size() == buffer.size() && buffer.size() == update.size(),
           "[muon_momentum] gradient has {} elements, buffer {}, update {}", gradient.size(),
           buffer.size(), update.size());
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(state);
  const auto mu = static_cast<float>(momentum), rest = static_cast<float>(1.0 - momentum);
  each_piece(gradient.size(), [&](std::size_t begin, std::int64_t count) {
    table.muon_momentum(gradient.data() + begin, buffer.data() + begin, update.data() + begin,
                        count, mu, rest, nesterov, rounding);
  });
}

void newton_schulz(ConstMatrix x, Matrix out, const NewtonSchulzSettings& settings) {
  NB_CHECK(same_shape(x, out), "[newton_schulz] x is ({},{}), out ({},{})", x.rows, x.cols,
           out.rows, out.cols);
  if (x.size() == 0) return;
  const int rounding = inner::rounding_of(settings.pointwise);
  const std::int64_t r = std::min(x.rows, x.cols), c = std::max(x.rows, x.cols);
  const bool tall = x.rows > x.cols;
  const Scratch scratch(static_cast<std::size_t>(3 * r * c + 3 * r * r) * sizeof(float));
  float* memory = scratch.floats();
  const Matrix upright = matrix(memory, x.rows, x.cols);
  const Work w = {matrix(memory + r * c, r, c), matrix(memory + 3 * r * c, r, r),
                  matrix(memory + 3 * r * c + r * r, r, r),
                  matrix(memory + 3 * r * c + 2 * r * r, r, r), matrix(memory + 2 * r * c, r, c)};
  copy(x, upright, rounding);
  if (tall) {
    transpose(upright, w.x);
  } else {
    copy(upright, w.x, inner::kRoundNone);
  }
  const double sum = sum_of_squares({w.x.data, static_cast<std::size_t>(w.x.size())});
  const PointwisePolicy& p = settings.pointwise;
  const auto round = [&](float v) {
    return p.storage == DType::kFp16 && p.fp16_saturates ? round_to_fp16_saturating(v)
                                                         : round_to(p.storage, v);
  };
  const float norm = round(static_cast<float>(pm::sqrt(sum)));
  const float divisor = round(norm + 1e-7f);
  const inner::Table& table = inner::table();
  each_row(w.x.rows, w.x.cols, [&](std::int64_t i) {
    table.divide(w.x.row(i), w.x.cols, divisor, w.x.row(i), rounding);
  });
  for (int step = 0; step < settings.steps; ++step) iterate(w, settings, rounding);
  if (tall) {
    transpose(w.x, out);
  } else {
    copy(w.x, out, inner::kRoundNone);
  }
}

void newton_schulz_all(std::span<const Matrix> matrices, const NewtonSchulzSettings& settings) {
  constexpr std::size_t kMinPerThread = 4;  // below, threads would wait for the last ones
  if (matrices.size() < kMinPerThread * static_cast<std::size_t>(threads())) {
    for (const Matrix& m : matrices) newton_schulz(m, m, settings);
    return;
  }
  const auto flop = [](const Matrix& m) { return m.size() * std::min(m.rows, m.cols); };
  std::vector<Matrix> longest_first(matrices.begin(), matrices.end());
  std::stable_sort(longest_first.begin(), longest_first.end(),
                   [&](const Matrix& a, const Matrix& b) { return flop(a) > flop(b); });
  parallel_for(longest_first.size(), 1, [&](std::size_t i) {
    check_float_mode();
    newton_schulz(longest_first[i], longest_first[i], settings);
  });
}

void muon_update(Matrix parameter, ConstMatrix update, double learning_rate) {
  muon_update(parameter, update, learning_rate, parameter.rows, parameter.cols);
}

void muon_update(Matrix parameter, ConstMatrix update, double learning_rate, std::int64_t of_rows,
                 std::int64_t of_cols) {
  NB_CHECK(same_shape(parameter, update), "[muon_update] parameter is ({},{}), update ({},{})",
           parameter.rows, parameter.cols, update.rows, update.cols);
  if (parameter.size() == 0) return;
  const double ratio = static_cast<double>(of_rows) / static_cast<double>(of_cols);
  const auto scale = static_cast<float>(learning_rate * pm::sqrt(std::max(1.0, ratio)));
  const inner::Table& table = inner::table();
  each_row(parameter.rows, parameter.cols, [&](std::int64_t i) {
    table.add_scaled(update.row(i), parameter.cols, -scale, parameter.row(i));
  });
}

}  // namespace nb::kernels
