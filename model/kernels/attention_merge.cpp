#include "model/kernels/attention_merge.hpp"

#include <algorithm>
#include <cmath>

#include "harness/base/check.hpp"
#include "model/kernels/attention_shape.hpp"
#include "model/kernels/vector_math.hpp"

namespace nb::kernels {

void merge_attention(const AttentionPart& whole, const ConstAttentionPart& part,
                     const AttentionShape& shape) {
  NB_CHECK(whole.out.rows == shape.batch * shape.queries && part.out.rows == whole.out.rows &&
               whole.out.cols == shape.heads * shape.head_dim && part.out.cols == whole.out.cols,
           "[merge_attention] ({},{}) and ({},{}), the shape says ({},{})", whole.out.rows,
           whole.out.cols, part.out.rows, part.out.cols, shape.batch * shape.queries,
           shape.heads * shape.head_dim);
  for (const std::size_t size :
       {whole.row_max.size(), whole.row_sum.size(), part.row_max.size(), part.row_sum.size()})
    check_saved("merge_attention", size, shape);
  std::size_t at = 0;
  for (std::int64_t b = 0; b < shape.batch; ++b)
    for (std::int64_t h = 0; h < shape.heads; ++h)
      for (std::int64_t i = 0; i < shape.queries; ++i, ++at) {
        const float max = std::max(whole.row_max[at], part.row_max[at]);
        const float mine = whole.row_sum[at] * exp(whole.row_max[at] - max);
        const float other = part.row_sum[at] * exp(part.row_max[at] - max);
        const float sum = mine + other;
        const float keeps = mine / sum, takes = other / sum;
        float* out = whole.out.row(b * shape.queries + i) + h * shape.head_dim;
        const float* in = part.out.row(b * shape.queries + i) + h * shape.head_dim;
        for (std::int64_t d = 0; d < shape.head_dim; ++d)
          out[d] = std::fma(takes, in[d], keeps * out[d]);
        whole.row_max[at] = max;
        whole.row_sum[at] = sum;
      }
}

}  // namespace nb::kernels
