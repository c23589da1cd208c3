// The operands of each op, by name. Those marked "?" may be null: not given, or wanted by nobody.
// in() and out() list what an op reads and writes, for who asks about values alone (plan.cpp).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "harness/base/rng.hpp"
#include "model/device/tensor.hpp"
#include "model/host/cached_rows.hpp"
#include "model/kernels/attention.hpp"
#include "model/kernels/cross_entropy.hpp"
#include "model/kernels/objectives.hpp"
#include "model/kernels/rms_norm.hpp"
#include "model/kernels/rotary.hpp"

namespace nb::host {

using Values = std::shared_ptr<HostValues>;
using Ids = std::shared_ptr<const std::vector<int>>;

template <class... Operands>
std::array<const Values*, sizeof...(Operands)> list(const Operands&... operands) {
  return {&operands...};
}

struct Embedding {
  Values table, y;
  Ids ids;
  auto in() const { return list(table); }
  auto out() const { return list(y); }
};
struct EmbeddingBackward {
  Values dy, dtable;
  Ids ids;
  auto in() const { return list(dy); }
  auto out() const { return list(dtable); }
};

// width: of the rows that are normed, which may be heads.
struct RmsNorm {
  Values x, y, rstd;  // rstd?
  std::int64_t width = 0;
  float epsilon = kernels::kRmsNormEpsilon;
  auto in() const { return list(x); }
  auto out() const { return list(y, rstd); }
};
struct RmsNormBackward {
  Values dy, x, rstd, dx;
  std::int64_t width = 0;
  auto in() const { return list(dy, x, rstd); }
  auto out() const { return list(dx); }
};

struct LayerNorm {
  Values x, gain, bias, y, mean, rstd;  // mean?, rstd?
  float epsilon = 0;
  auto in() const { return list(x, gain, bias); }
  auto out() const { return list(y, mean, rstd); }
};
struct LayerNormBackwardInput {
  Values dy, x, gain, mean, rstd, dx;
  auto in() const { return list(dy, x, gain, mean, rstd); }
  auto out() const { return list(dx); }
};
struct LayerNormBackwardWeights {
  Values dy, x, mean, rstd, dgain, dbias;  // dgain?, dbias?
  auto in() const { return list(dy, x, mean, rstd); }
  auto out() const { return list(dgain, dbias); }
};

// linear: y = x wᵀ; linear_backward_input: y = x w, where x is dy and y is dx.
struct Product {
  Values x, w, y;
  auto in() const { return list(x, w); }
  auto out() const { return list(y); }
};
struct LinearBackwardWeight {
  Values dy, x, dw;
  auto in() const { return list(dy, x); }
  auto out() const { return list(dw); }
};

// And its gradient, of dy.
struct Rotary {
  Values x, cos, sin, y;
  kernels::RotaryShape shape;
  std::vector<std::int64_t> positions = {};  // of every row, instead of shape.time; no gradient
  auto in() const { return list(x, cos, sin); }
  auto out() const { return list(y); }
};

struct Attention {
  Values q, k, v, y, row_max, row_sum;  // row_max?, row_sum?
  kernels::AttentionShape shape;
  auto in() const { return list(q, k, v); }
  auto out() const { return list(y, row_max, row_sum); }
};
struct AttentionBackward {
  Values dy, q, k, v, y, row_max, row_sum, dq, dk, dv;
  kernels::AttentionShape shape;
  auto in() const { return list(dy, q, k, v, y, row_max, row_sum); }
  auto out() const { return list(dq, dk, dv); }
};
struct KvCacheAppend {
  Values k, v;
  std::shared_ptr<const CacheWrite> write;  // into caches, which no op makes
  auto in() const { return list(k, v); }
  auto out() const { return list(); }
};
struct CachedAttention {
  Values q, k, v, y;
  std::shared_ptr<CachedKeys> keys;
  auto in() const { return list(q, k, v); }
  auto out() const { return list(y); }
};

// a + b, which may take the buffer of a.
struct Add {
  Values a, b, y;
  auto in() const { return list(a, b); }
  auto out() const { return list(y); }
};

// One kernel of x alone; of two operands, which may be dy and what its gradient reads.
struct Unary {
  Values x, y;
  void (*kernel)(ConstMatrix x, Matrix y, DType storage);
  auto in() const { return list(x); }
  auto out() const { return list(y); }
};
struct Binary {
  Values a, b, y;
  void (*kernel)(ConstMatrix a, ConstMatrix b, Matrix y, DType storage);
  auto in() const { return list(a, b); }
  auto out() const { return list(y); }
};

// x or dy times factors[index], else times a constant.
struct Scale {
  Values x, factors, y;  // factors?
  double factor = 1;
  std::int64_t index = 0;
  auto in() const { return list(x, factors); }
  auto out() const { return list(y); }
};

// Gradients of parameters, of dy and x; of dy alone.
struct ScaleBackwardFactor {
  Values dy, x, dfactors;
  std::int64_t index = 0;
  auto in() const { return list(dy, x); }
  auto out() const { return list(dfactors); }
};
struct ApplyGainBackwardGain {
  Values dy, x, dgain;
  auto in() const { return list(dy, x); }
  auto out() const { return list(dgain); }
};
struct AddBiasBackward {
  Values dy, dbias;
  auto in() const { return list(dy); }
  auto out() const { return list(dbias); }
};

struct GateHeadsBackwardGate {
  Values dy, x, dgate;
  auto in() const { return list(dy, x); }
  auto out() const { return list(dgate); }
};

// And its gradient, of dy. time: rows of a sequence.
struct PreviousRows {
  Values x, y;
  std::int64_t time = 0;
  auto in() const { return list(x); }
  auto out() const { return list(y); }
};

// And its gradient, of dy.
struct Dropout {
  Values x, y;
  double rate = 0;
  Rng rng{0, {}};
  auto in() const { return list(x); }
  auto out() const { return list(y); }
};

// What both directions of a loss know. Columns behind the vocabulary are padding (0: none are).
struct Labels {
  Ids targets;  // of each row; -1 is ignored
  std::int64_t vocab = 0;
  kernels::CrossEntropySettings settings;
};
struct CrossEntropy {
  Values logits, losses, row_max, row_sum;  // all results?
  Labels labels;
  bool per_row = false;  // a loss a row, not their mean
  auto in() const { return list(logits); }
  auto out() const { return list(losses, row_max, row_sum); }
};
struct CrossEntropyBackward {
  Values logits, row_max, row_sum, dlosses, dlogits;  // dlosses?: then scale × their mean's
  Labels labels;
  double scale = 1;
  auto in() const { return list(logits, row_max, row_sum, dlosses); }
  auto out() const { return list(dlogits); }
};

// From the losses of tokens to one number, with its gradient.
struct Objective {
  Values losses, loss, dlosses;  // dlosses?
  std::shared_ptr<const kernels::Objective> objective;
  double scale = 1;
  auto in() const { return list(losses); }
  auto out() const { return list(loss, dlosses); }
};

struct Nothing {  // of an op that was run
  auto in() const { return list(); }
  auto out() const { return list(); }
};

using Operands =
    std::variant<Nothing, Embedding, EmbeddingBackward, RmsNorm, RmsNormBackward, LayerNorm,
                 LayerNormBackwardInput, LayerNormBackwardWeights, Product, LinearBackwardWeight,
                 Rotary, Attention, AttentionBackward, KvCacheAppend, CachedAttention, Add, Unary,
                 Binary, Scale, ScaleBackwardFactor, ApplyGainBackwardGain, AddBiasBackward,
                 GateHeadsBackwardGate, PreviousRows, Dropout, CrossEntropy, CrossEntropyBackward,
                 Objective>;

// Every operand of every op is listed: in() and out() are as long as it has Values, which stand
// first in it.
struct AnyValues {
  operator Values() const;  // NOLINT: implicit, as a Values is
};
template <class T, class... Given>
constexpr std::size_t values_of() {
  if constexpr (requires { T{Given()..., AnyValues()}; })
    return values_of<T, Given..., AnyValues>();
  else
    return sizeof...(Given);
}
template <class... T>
constexpr bool all_are_listed(const std::variant<T...>*) {
  return ((std::tuple_size_v<decltype(std::declval<T>().in())> +
               std::tuple_size_v<decltype(std::declval<T>().out())> ==
           values_of<T>()) &&
          ...);
}
static_assert(all_are_listed(static_cast<const Operands*>(nullptr)));

}  // namespace nb::host
