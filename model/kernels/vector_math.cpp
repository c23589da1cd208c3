#include "model/kernels/vector_math.hpp"

#include "harness/base/check.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/row_loop.hpp"

namespace nb::kernels {
namespace {

using Function = void (*)(const float*, std::int64_t, float*);

void apply(Function function, std::span<const float> in, std::span<float> out) {
  NB_CHECK(in.size() == out.size(), "[vector_math] {} values into {}", in.size(), out.size());
  each_piece(in.size(), [&](std::size_t begin, std::int64_t count) {
    function(in.data() + begin, count, out.data() + begin);
  });
}

float apply_to_one(Function function, float x) {
  float y = 0.0f;
  function(&x, 1, &y);
  return y;
}

}  // namespace

void exp(std::span<const float> in, std::span<float> out) { apply(inner::table().exp, in, out); }
void log(std::span<const float> in, std::span<float> out) { apply(inner::table().log, in, out); }

float exp(float x) { return apply_to_one(inner::table().exp, x); }
float log(float x) { return apply_to_one(inner::table().log, x); }

}  // namespace nb::kernels
