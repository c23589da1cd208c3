#include "model/kernels/reference/muon.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/base/portable_math.hpp"
#include "model/kernels/reference/elementwise.hpp"
#include "model/kernels/reference/matmul.hpp"
#include "model/kernels/reference/rows.hpp"

namespace nb::kernels::reference {
namespace {

struct Owned {
  std::vector<float> data;
  std::int64_t rows, cols;
  Owned(std::int64_t r, std::int64_t c) : data(static_cast<std::size_t>(r * c)), rows(r), cols(c) {}
  Matrix view() { return matrix(data.data(), rows, cols); }
};

}  // namespace

void muon_momentum(std::span<const float> gradient, std::span<float> buffer,
                   std::span<float> update, double momentum, DType state, bool nesterov) {
  const auto mu = static_cast<float>(momentum), rest = static_cast<float>(1.0 - momentum);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const float g = gradient[i];
    buffer[i] = round_to(state, std::fma(rest, g, mu * buffer[i]));
    update[i] = nesterov ? std::fma(mu, buffer[i], rest * g) : buffer[i];
  }
}

void newton_schulz(ConstMatrix x, Matrix out, const NewtonSchulzSettings& s) {
  const auto store = [&](float v) { return round_to(s.pointwise, v); };
  const bool tall = x.rows > x.cols;
  Owned X(std::min(x.rows, x.cols), std::max(x.rows, x.cols));
  for (std::int64_t i = 0; i < X.rows; ++i) {
    for (std::int64_t j = 0; j < X.cols; ++j)
      X.view().row(i)[j] = store(tall ? x.row(j)[i] : x.row(i)[j]);
  }
  const float norm = store(static_cast<float>(pm::sqrt(sum_of_squares(X.data))));
  for (float& v : X.data) v = store(v / store(norm + 1e-7f));
  const auto plus = [&](float factor, float left, float right) {
    return s.pointwise.eager ? store(store(factor * left) + right)
                             : store(std::fma(factor, left, right));
  };
  for (int step = 0; step < s.steps; ++step) {
    Owned A(X.rows, X.rows), cA(X.rows, X.rows), P(X.rows, X.rows), Q(X.rows, X.cols);
    reference::matmul_nt(X.view(), X.view(), A.view(), s.matmul);
    for (std::size_t i = 0; i < A.data.size(); ++i) cA.data[i] = store(s.c * A.data[i]);
    reference::matmul_nn(cA.view(), A.view(), P.view(), s.matmul);
    for (std::size_t i = 0; i < A.data.size(); ++i) P.data[i] = plus(s.b, A.data[i], P.data[i]);
    reference::matmul_nn(P.view(), X.view(), Q.view(), s.matmul);
    for (std::size_t i = 0; i < X.data.size(); ++i) X.data[i] = plus(s.a, X.data[i], Q.data[i]);
  }
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.cols; ++j)
      out.row(i)[j] = tall ? X.view().row(j)[i] : X.view().row(i)[j];
  }
}

void muon_update(Matrix parameter, ConstMatrix update, double learning_rate) {
  const double ratio = static_cast<double>(parameter.rows) / static_cast<double>(parameter.cols);
  const auto scale = static_cast<float>(learning_rate * pm::sqrt(std::max(1.0, ratio)));
  for (std::int64_t i = 0; i < parameter.rows; ++i) {
    for (std::int64_t j = 0; j < parameter.cols; ++j) {
      parameter.row(i)[j] = std::fma(-scale, update.row(i)[j], parameter.row(i)[j]);
    }
  }
}

}  // namespace nb::kernels::reference
