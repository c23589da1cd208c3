// RMS norm of one level, row by row: whole matrices are then read as few long streams, which a
// processor fetches ahead.
#include "model/kernels/inner/functions.hpp"
#include "model/kernels/inner/vec_math.hpp"

namespace nb::kernels::inner::NB_LEVEL {
namespace {

// 1 / sqrt(mean + epsilon), as a scalar computes it (inverse_root.hpp).
NB_OP float inverse_root(float sum, std::int64_t n, float epsilon, Rsqrt how) {
  float lanes[16];
  store(lanes, all(1.0f) / sqrt(all(sum) / all(static_cast<float>(n)) + all(epsilon)));
  if (how == Rsqrt::kPrecise) return lanes[0];
  std::uint32_t bits;
  __builtin_memcpy(&bits, lanes, sizeof bits);
  bits = (bits + 0x1ffu + ((bits >> 10) & 1u)) & ~0x3ffu;
  __builtin_memcpy(lanes, &bits, sizeof bits);
  return lanes[0];
}

template <class Value>
NB_OP const Value* values(const ConstAnyRows& rows) {
  if constexpr (sizeof(Value) == 2) return rows.bf16;
  if constexpr (sizeof(Value) == 4) return rows.fp32;
}
template <class Value>
NB_OP Value* values(const AnyRows& rows) {
  if constexpr (sizeof(Value) == 2) return rows.bf16;
  if constexpr (sizeof(Value) == 4) return rows.fp32;
}

template <int kRounding, class X, class Out>
NB_OP void norm_rows(const NormRows& p) {
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const X* x = values<X>(p.x) + r * p.x.stride;
    const float squares = lane_sum(p.n, [&](Floats acc, std::int64_t i, int lanes) NB_BODY {
      const Floats v = load_lanes(x + i, lanes);
      return fma(v, v, acc);
    });
    const float rstd = inverse_root(squares, p.n, p.epsilon, p.rsqrt);
    if (p.rstd != nullptr) p.rstd[r] = rstd;
    Out* out = values<Out>(p.out) + r * p.out.stride;
    each_groups<kSideBySide>(p.n, [&](std::int64_t i, auto count, int lanes) NB_BODY {
      constexpr int kCount = decltype(count)::value;
      Floats v[kCount];
      each_of<kCount>([&](int c) NB_BODY { v[c] = load_lanes(x + i + 16 * c, lanes) * all(rstd); });
      round_any<kRounding>(v);
      store_groups(out + i, v, lanes);
    });
  }
}

template <int kRounding, class Dy, class X, class Dx>
NB_OP void norm_backward_rows(const NormBackwardRows& p) {
  constexpr std::int64_t kAhead = 512;  // three streams are more than are fetched ahead in time
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const Dy* dy = values<Dy>(p.dy) + r * p.dy.stride;
    const X* x = values<X>(p.x) + r * p.x.stride;
    Dx* dx = values<Dx>(p.dx) + r * p.dx.stride;
    const float dot = lane_sum(p.n, [&](Floats acc, std::int64_t i, int lanes) NB_BODY {
      __builtin_prefetch(dy + i + kAhead);
      __builtin_prefetch(x + i + kAhead);
      __builtin_prefetch(dx + i + kAhead, 1);
      return fma(load_lanes(dy + i, lanes), load_lanes(x + i, lanes), acc);
    });
    const float rstd = p.rstd[r];
    const float coefficient = ((dot * rstd) * rstd) * rstd / static_cast<float>(p.n);
    const Floats scale = all(rstd), minus = all(-coefficient);
    each_groups<kSideBySide>(p.n, [&](std::int64_t i, auto count, int lanes) NB_BODY {
      constexpr int kCount = decltype(count)::value;
      Floats g[kCount];
      each_of<kCount>([&](int c) NB_BODY {
        g[c] = fma(minus, load_lanes(x + i + 16 * c, lanes),
                   scale * load_lanes(dy + i + 16 * c, lanes));
      });
      round_any<kRounding>(g);
      if (p.accumulates) {
        each_of<kCount>([&](int c) NB_BODY { g[c] = load_lanes(dx + i + 16 * c, lanes) + g[c]; });
        round_any<kRounding>(g);
      }
      store_groups(dx + i, g, lanes);
    });
  }
}

// body(the type of the rows' values).
template <class Rows, class Body>
NB_OP void with_values(const Rows& rows, const Body& body) {
  if (rows.bf16 != nullptr) return body(std::uint16_t());
  body(float());
}

}  // namespace

void rms_norm_rows(const NormRows& p) {
  if (p.x.bf16 == nullptr && p.out.bf16 == nullptr) {
    return with_rounding(p.rounding,
                         [&](auto mode) { norm_rows<decltype(mode)::value, float, float>(p); });
  }
  with_values(p.x, [&](auto x) {
    with_values(p.out, [&](auto out) { norm_rows<kRoundBf16, decltype(x), decltype(out)>(p); });
  });
}

void rms_norm_backward_rows(const NormBackwardRows& p) {
  if (p.dy.bf16 == nullptr && p.x.bf16 == nullptr && p.dx.bf16 == nullptr) {
    return with_rounding(p.rounding, [&](auto mode) {
      norm_backward_rows<decltype(mode)::value, float, float, float>(p);
    });
  }
  with_values(p.dy, [&](auto dy) {
    with_values(p.x, [&](auto x) {
      with_values(p.dx, [&](auto dx) {
        norm_backward_rows<kRoundBf16, decltype(dy), decltype(x), decltype(dx)>(p);
      });
    });
  });
}

}  // namespace nb::kernels::inner::NB_LEVEL
