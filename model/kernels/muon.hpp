// Muon: momentum, Newton–Schulz orthogonalisation, update (nanochat's muon.py; optim.py of the
// original release).
#pragma once

#include <span>

#include "model/kernels/policy.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

// buffer = round_state(fma(fp32(1-mu), g, fp32(mu) * buffer));  update = nesterov ? fma(fp32(mu),
// buffer, fp32(1-mu) * g) : buffer, in fp32 from the rounded buffer, which is what a checkpoint
// holds. state: the buffer's type. update may be gradient.
void muon_momentum(std::span<const float> gradient, std::span<float> buffer,
                   std::span<float> update, double momentum, DType state, bool nesterov = true);

struct NewtonSchulzSettings {
  int steps = 5;
  float a = 3.4445f, b = -4.7750f, c = 2.0315f;
  // Products: inputs, accumulation, output (bf16 on the devices; fp32 for parity tests).
  MatmulPolicy matmul = {};
  // storage of X, A, B; eager rounds r(b*A), r(c*A), r(a*X) and each sum, fused rounds r(c*A) (a
  // product's input) and the two sums once: round(fma(b, A, P)), round(fma(a, X, P)).
  PointwisePolicy pointwise = {};
};

// x (R,C) → out (R,C), which may be x. X = round(x), transposed when R > C; norm = round(sqrt(Σ
// X²)) with the sum of reduce.hpp; X = round(X / round(norm + 1e-7)); then `steps` times
//   A = X Xᵀ ; B = b*A + (c*A)·A ; X = a*X + B·X      (Python's precedence: c*A @ A is (c*A) @ A);
//   transposed back.
void newton_schulz(ConstMatrix x, Matrix out, const NewtonSchulzSettings& settings);

// The same of each of them, in place: side by side, where there are enough of them for the threads.
void newton_schulz_all(std::span<const Matrix> matrices, const NewtonSchulzSettings& settings);

// parameter = fma(-s, update, parameter), s = fp32(lr * sqrt(max(1, rows/cols))), in fp32.
void muon_update(Matrix parameter, ConstMatrix update, double learning_rate);
// The same for some of the rows of a matrix of of_rows and of_cols, which make the scale.
void muon_update(Matrix parameter, ConstMatrix update, double learning_rate, std::int64_t of_rows,
                 std::int64_t of_cols);

}  // namespace nb::kernels
