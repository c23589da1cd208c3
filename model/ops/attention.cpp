#include "model/ops/attention.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/ops/result.hpp"

namespace nb::ops {
namespace {

void check_shapes(const Tensor& q, const Tensor& k, const Tensor& v, const HeadShape& shape,
                  std::string_view label) {
  const Shape wide = {shape.rows(), shape.heads * shape.head_dim};
  const Shape narrow = {shape.rows(), shape.kv_heads * shape.head_dim};
  NB_CHECK(q.shape() == wide && k.shape() == narrow && v.shape() == narrow,
           "[attention] {}: q {}, k {}, v {}; expected {} and {}", label, q.shape().text(),
           k.shape().text(), v.shape().text(), wide.text(), narrow.text());
}

OpDesc describe(OpKind kind, const HeadShape& shape, std::string_view label) {
  return {.kind = kind,
          .label = label,
          .batch = shape.batch,
          .time = shape.time,
          .heads = shape.heads,
          .kv_heads = shape.kv_heads,
          .head_dim = shape.head_dim,
          .window = shape.window};
}

kernels::AttentionShape kernel_shape(const HeadShape& shape) {
  return {.batch = shape.batch,
          .queries = shape.time,
          .keys = shape.time,
          .heads = shape.heads,
          .kv_heads = shape.kv_heads,
          .head_dim = shape.head_dim,
          .window = shape.window};
}

Tape::Gradients attention_backward(const Tensor& dy, const Tensor& q, const Tensor& k,
                                   const Tensor& v, const Tensor& y, const HeadShape& shape,
                                   const host::Values& row_max, const host::Values& row_sum,
                                   std::string_view label, SavedBlocks saved) {
  NB_CHECK(dy.shape() == q.shape(), "[attention_backward] {}: dy {}, q {}", label,
           dy.shape().text(), q.shape().text());
  Device& device = dy.device();
  Tape::Gradients d = {result(device, q.shape(), "dq"), result(device, k.shape(), "dk"),
                       result(device, v.shape(), "dv")};
  OpDesc desc = describe(OpKind::kAttentionBackward, shape, label);
  desc.inputs = {&dy};
  desc.output = &d[0];
  host::run_backward(
      device, desc, std::move(saved),
      {.in = {dy.values(), q.values(), k.values(), v.values(), y.values(), row_max, row_sum},
       .out = {d[0].values(), d[1].values(), d[2].values()},
       .attention = kernel_shape(shape)});
  return d;
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const HeadShape& shape,
                 std::string_view label) {
  check_shapes(q, k, v, shape, label);
  Device& device = q.device();
  Tensor y = result(device, q.shape(), label);
  const std::int64_t rows = shape.rows() * shape.heads;
  const host::Values row_max = host_rows(device, rows), row_sum = host_rows(device, rows);
  OpDesc desc = describe(OpKind::kAttention, shape, label);
  desc.inputs = {&q, &k, &v};
  forward(desc, y,
          {.in = {q.values(), k.values(), v.values()},
           .out = {y.values(), row_max, row_sum},
           .attention = kernel_shape(shape)},
          {&q, &k, &v}, [&] {
            return [q = q.values_only(), k = k.values_only(), v = v.values_only(),
                    y = y.values_only(), shape, row_max, row_sum,
                    label = std::string(label)](const Tensor& dy, SavedBlocks saved) {
              return attention_backward(dy, q, k, v, y, shape, row_max, row_sum, label,
                                        std::move(saved));
            };
          });
  return y;
}

}  // namespace nb::ops
