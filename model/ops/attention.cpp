#include "model/ops/attention.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/ops/activation_buffer.hpp"
#include "model/ops/saved.hpp"

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
          .head_dim = shape.head_dim};
}

kernels::AttentionShape kernel_shape(const HeadShape& shape) {
  return {.batch = shape.batch,
          .queries = shape.time,
          .keys = shape.time,
          .heads = shape.heads,
          .kv_heads = shape.kv_heads,
          .head_dim = shape.head_dim};
}

}  // namespace

Tensor attention(Device& device, const Tensor& q, const Tensor& k, const Tensor& v,
                 const HeadShape& shape, std::string_view label, AttentionRows* rows,
                 SavedBlocks* saved) {
  check_shapes(q, k, v, shape, label);
  NB_CHECK((rows == nullptr) == (saved == nullptr), "[attention] {}: rows without saved", label);
  Tensor y = device.allocate(q.shape(), device.numerics().storage, label, form_of(q));
  OpDesc desc = describe(OpKind::kAttention, shape, label);
  desc.inputs = {&q, &k, &v};
  desc.output = &y;
  desc.saves_for_backward = saved != nullptr;
  keep(saved, device.run(desc, [&] {
    kernels::AttentionSaved kept;
    if (rows != nullptr) {
      const auto count = static_cast<std::size_t>(shape.rows() * shape.heads);
      rows->max.resize(count);
      rows->sum.resize(count);
      kept = {rows->max, rows->sum};
    }
    kernels::attention(q.numbers(), k.numbers(), v.numbers(), y.numbers_to_write(), kept,
                       kernel_shape(shape), device.numerics().matmul());
  }));
  return y;
}

Tensor attention_cached(Device& device, const Tensor& q,
                        std::span<const kernels::CachedSequence> sequences,
                        const kernels::CachedShape& shape, std::string_view label) {
  NB_CHECK(q.shape().last() == shape.heads * shape.head_dim && shape.kv_heads > 0,
           "[attention_cached] {}: q {}, {} heads of {}, {} key heads", label, q.shape().text(),
           shape.heads, shape.head_dim, shape.kv_heads);
  OpDesc desc = {.kind = OpKind::kAttention,
                 .label = label,
                 .batch = 1,
                 .heads = shape.heads,
                 .kv_heads = shape.kv_heads,
                 .head_dim = shape.head_dim};
  for (const kernels::CachedSequence& s : sequences) {
    desc.time += s.queries;
    desc.key_time += s.queries == 0 ? 0 : s.first_position + s.queries;
    desc.pairs += s.queries * s.first_position + s.queries * (s.queries + 1) / 2;
  }
  Tensor y = device.allocate(q.shape(), device.numerics().storage, label);
  if (desc.time == 0) return y;
  desc.output = &y;
  static_cast<void>(device.run(desc, [&] {
    kernels::attention_cached(q.matrix(), y.matrix(), sequences, shape, device.numerics().matmul());
  }));
  return y;
}

AttentionGradients attention_backward(Device& device, const Tensor& dy, const Tensor& q,
                                      const Tensor& k, const Tensor& v, const Tensor& y,
                                      const HeadShape& shape, const AttentionRows& rows,
                                      std::string_view label, SavedBlocks saved) {
  check_shapes(q, k, v, shape, label);
  NB_CHECK(dy.shape() == q.shape() && y.shape() == q.shape(),
           "[attention_backward] {}: dy {}, q {}", label, dy.shape().text(), q.shape().text());
  const DType storage = device.numerics().storage;
  AttentionGradients gradients{device.allocate(q.shape(), storage, "dq", form_of(q)),
                               device.allocate(k.shape(), storage, "dk", form_of(k)),
                               device.allocate(v.shape(), storage, "dv", form_of(v))};
  OpDesc desc = describe(OpKind::kAttentionBackward, shape, label);
  desc.inputs = {&dy};
  desc.output = &gradients.dq;
  device.run_backward(desc, std::move(saved), [&] {
    kernels::attention_backward(dy.numbers(), q.numbers(), k.numbers(), v.numbers(), y.numbers(),
                                rows.max, rows.sum, gradients.dq.numbers_to_write(),
                                gradients.dk.numbers_to_write(), gradients.dv.numbers_to_write(),
                                kernel_shape(shape), device.numerics().matmul());
  });
  return gradients;
}

}  // namespace nb::ops
