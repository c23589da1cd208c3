#include "model/ops/ring_attention.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/check.hpp"
#include "model/kernels/attention.hpp"
#include "model/kernels/attention_merge.hpp"
#include "model/ops/result.hpp"

namespace nb::ops {
namespace {

constexpr int kHalves = 2;  // chunks of a rank

int chunk_of(int part, int half, int parts) { return half == 0 ? part : 2 * parts - 1 - part; }

struct Ring {
  HeadShape whole;
  int part, parts;
  Communicator& ranks;
  std::string label;

  std::int64_t chunk() const { return whole.time / (2 * parts); }
  // Whose keys are here in round `round`.
  int owner(int round) const { return (part - round + parts) % parts; }
  // Queries of half `q` and keys of half `k` of the round's owner, in chunks; none: nothing is
  // seen.
  std::optional<kernels::AttentionShape> shape(int q, int k, int round) const {
    const int behind = chunk_of(part, q, parts) - chunk_of(owner(round), k, parts);
    if (behind < 0) return std::nullopt;
    return kernels::AttentionShape{.batch = whole.batch,
                                   .queries = chunk(),
                                   .keys = chunk(),
                                   .heads = whole.heads,
                                   .kv_heads = whole.kv_heads,
                                   .head_dim = whole.head_dim,
                                   .first_position = behind * chunk()};
  }
  // All ranks see as many pairs in a round, in other halves: what the device is told is the same.
  OpDesc describe(OpKind kind, int round) const {
    const std::int64_t tokens = 2 * chunk();
    return {.kind = kind,
            .label = label,
            .batch = whole.batch,
            .time = tokens,
            .pairs = round == 0 ? tokens * (tokens + 1) / 2 : tokens * chunk(),
            .heads = whole.heads,
            .kv_heads = whole.kv_heads,
            .head_dim = whole.head_dim};
  }
};

// The rows of one half of the rank's tokens, of all sequences.
class Half {
 public:
  Half(const Ring& ring, std::int64_t cols)
      : rows_(ring.whole.batch * ring.chunk()),
        cols_(cols),
        chunk_(ring.chunk()),
        values_(static_cast<std::size_t>(rows_ * cols)) {}
  Half(const Ring& ring, int half, ConstMatrix of) : Half(ring, of.cols) {
    for (std::int64_t i = 0; i < rows_; ++i)
      std::copy_n(of.row(row_of(half, i)), cols_, view().row(i));
  }
  Matrix view() { return matrix(values_.data(), rows_, cols_); }
  ConstMatrix view() const { return matrix(values_.data(), rows_, cols_); }
  void put(int half, Matrix to) const {
    for (std::int64_t i = 0; i < rows_; ++i)
      std::copy_n(view().row(i), cols_, to.row(row_of(half, i)));
  }
  void add_to(int half, Matrix to) const {
    for (std::int64_t i = 0; i < rows_; ++i)
      for (std::int64_t j = 0; j < cols_; ++j) to.row(row_of(half, i))[j] += view().row(i)[j];
  }

 private:
  std::int64_t row_of(int half, std::int64_t i) const {
    return (i / chunk_ * kHalves + half) * chunk_ + i % chunk_;
  }
  std::int64_t rows_, cols_, chunk_;
  std::vector<float> values_;
};

// What a half of the queries has seen so far.
struct Seen {
  Half out;
  std::vector<float> row_max, row_sum;
  bool is_empty = true;

  explicit Seen(const Ring& ring)
      : out(ring, ring.whole.heads * ring.whole.head_dim),
        row_max(static_cast<std::size_t>(ring.whole.batch * ring.whole.heads * ring.chunk())),
        row_sum(row_max.size()) {}
};
using SeenHalves = std::vector<Seen>;  // none on a dry device

MatmulPolicy fp32_results(const Device& device) {
  MatmulPolicy policy = device.numerics().matmul();
  policy.output = DType::kFp32;
  return policy;
}

// Rounded to the storage dtype, in a tensor of it.
Tensor stored(const Tensor& sum, std::string_view label) {
  Device& device = sum.device();
  Tensor y = result(device, sum.shape(), label);
  static_cast<void>(device.run({.kind = OpKind::kCast,
                                .label = label,
                                .count = sum.count(),
                                .dtype = sum.dtype(),
                                .to_dtype = y.dtype(),
                                .inputs = {&sum},
                                .output = &y},
                               [&] {
                                 std::ranges::copy(sum.host(), y.host().begin());
                                 round_to(y.dtype(), y.host());
                               }));
  return y;
}

// One place further around the ring: what is sent goes, what comes takes its place.
void pass_on(const Ring& ring, std::initializer_list<Tensor*> tensors) {
  const int p = ring.parts, next = (ring.ranks.rank() + 1) % p,
            before = (ring.ranks.rank() + p - 1) % p;
  std::vector<Tensor> came;
  for (const Tensor* one : tensors)
    came.push_back(one->device().allocate(one->shape(), one->dtype(), one->name()));
  std::vector<Transfer> transfers;
  int tag = 0;
  for (Tensor* one : tensors) {
    transfers.push_back({true, next, CollectiveBuffer(*one), tag});
    transfers.push_back(
        {false, before, CollectiveBuffer(came[static_cast<std::size_t>(tag)]), tag});
    ++tag;
  }
  ring.ranks.transfer(transfers, ring.label);
  tag = 0;
  for (Tensor* one : tensors) *one = std::move(came[static_cast<std::size_t>(tag++)]);
}

void see(const Ring& ring, int round, const Tensor& q, const Tensor& k, const Tensor& v,
         SeenHalves& seen) {
  const MatmulPolicy policy = fp32_results(q.device());
  for (int of_k = 0; of_k < kHalves; ++of_k) {
    const Half keys(ring, of_k, k.matrix()), values(ring, of_k, v.matrix());
    for (int of_q = 0; of_q < kHalves; ++of_q) {
      const auto shape = ring.shape(of_q, of_k, round);
      if (!shape) continue;
      const Half queries(ring, of_q, q.matrix());
      Seen part(ring);
      kernels::attention(queries.view(), keys.view(), values.view(), part.out.view(),
                         {part.row_max, part.row_sum}, *shape, policy);
      Seen& all = seen[static_cast<std::size_t>(of_q)];
      if (all.is_empty) {
        all = std::move(part);
        all.is_empty = false;
        continue;
      }
      kernels::merge_attention({all.out.view(), all.row_max, all.row_sum},
                               {std::as_const(part).out.view(), part.row_max, part.row_sum},
                               *shape);
    }
  }
}

struct Kept {
  Tensor q, k, v, y;
  Tensor log_sums;  // on the device: one number a query and head
  SeenHalves seen;
};

void see_backward(const Ring& ring, int round, const Tensor& dy, const Kept& kept, const Tensor& k,
                  const Tensor& v, Tensor& dq, Tensor& dk, Tensor& dv) {
  const MatmulPolicy policy = fp32_results(dy.device());
  const Matrix dq_all = dq.matrix(), dk_all = dk.matrix(), dv_all = dv.matrix();
  const Tensor &q = kept.q, &y = kept.y;
  for (int of_k = 0; of_k < kHalves; ++of_k) {
    const Half keys(ring, of_k, k.matrix()), values(ring, of_k, v.matrix());
    for (int of_q = 0; of_q < kHalves; ++of_q) {
      const auto shape = ring.shape(of_q, of_k, round);
      if (!shape) continue;
      const Half queries(ring, of_q, q.matrix()), out(ring, of_q, y.matrix()),
          dout(ring, of_q, dy.matrix());
      const Seen& seen = kept.seen[static_cast<std::size_t>(of_q)];
      Half dq_part(ring, q.shape().last()), dk_part(ring, k.shape().last()),
          dv_part(ring, k.shape().last());
      kernels::attention_backward(dout.view(), queries.view(), keys.view(), values.view(),
                                  out.view(), seen.row_max, seen.row_sum, dq_part.view(),
                                  dk_part.view(), dv_part.view(), *shape, policy);
      dq_part.add_to(of_q, dq_all);
      dk_part.add_to(of_k, dk_all);
      dv_part.add_to(of_k, dv_all);
    }
  }
}

Tape::Gradients ring_backward(const Tensor& dy, const Ring& ring, Kept& kept) {
  Device& device = dy.device();
  Tensor k = kept.k, v = kept.v;
  const auto sums = [&](const Shape& shape, std::string_view name) {
    return device.allocate(shape, DType::kFp32, name);
  };
  Tensor dq = sums(kept.q.shape(), "dq.sum"), dk = sums(k.shape(), "dk.sum"),
         dv = sums(v.shape(), "dv.sum");
  for (int round = 0; round < ring.parts; ++round) {
    if (round > 0) pass_on(ring, {&k, &v, &dk, &dv});
    OpDesc desc = ring.describe(OpKind::kAttentionBackward, round);
    desc.inputs = {&dy};
    desc.output = &dq;
    device.run_backward(desc, {}, [&] {
      if (round == 0)
        for (Tensor* one : {&dq, &dk, &dv}) std::ranges::fill(one->host(), 0.0F);
      see_backward(ring, round, dy, kept, k, v, dq, dk, dv);
    });
  }
  k = v = kept.k = kept.v = kept.q = kept.y = {};
  if (ring.parts > 1) pass_on(ring, {&dk, &dv});
  Tape::Gradients d;
  d.push_back(stored(dq, "dq"));
  dq = {};
  d.push_back(stored(dk, "dk"));
  dk = {};
  d.push_back(stored(dv, "dv"));
  return d;
}

}  // namespace

std::vector<std::int64_t> zigzag_positions(std::int64_t time, int part, int parts) {
  NB_CHECK(parts > 0 && part >= 0 && part < parts && time > 0 && time % (2 * parts) == 0,
           "[ring_attention] {} tokens in two chunks each of {} parts", time, parts);
  const std::int64_t chunk = time / (2 * parts);
  std::vector<std::int64_t> positions;
  for (int half = 0; half < kHalves; ++half)
    for (std::int64_t t = 0; t < chunk; ++t)
      positions.push_back(chunk_of(part, half, parts) * chunk + t);
  return positions;
}

Tensor ring_attention(const Tensor& q, const Tensor& k, const Tensor& v, const HeadShape& whole,
                      int part, std::string_view label, Communicator& ranks) {
  Device& device = q.device();
  const Ring ring = {whole, part, ranks.size(), ranks, std::string(label)};
  const std::int64_t rows = whole.rows() / ring.parts;
  NB_CHECK(
      whole.time % (2 * ring.parts) == 0 && whole.window == 0 &&
          q.shape() == Shape({rows, whole.heads * whole.head_dim}) &&
          k.shape() == Shape({rows, whole.kv_heads * whole.head_dim}) && v.shape() == k.shape(),
      "[ring_attention] {}: q {}, k {}, v {}: sequences of {} on {} ranks, window {}", label,
      q.shape().text(), k.shape().text(), v.shape().text(), whole.time, ring.parts, whole.window);
  const auto kept = std::make_shared<Kept>();
  kept->q = q, kept->k = k, kept->v = v;
  if (device.executes()) kept->seen = {Seen(ring), Seen(ring)};
  Tensor sum = device.allocate(q.shape(), DType::kFp32, "attn.sum");
  kept->log_sums = device.allocate({rows, whole.heads}, DType::kFp32, "attn.log_sums");
  Tensor keys = k, values = v;
  for (int round = 0; round < ring.parts; ++round) {
    if (round > 0) pass_on(ring, {&keys, &values});
    Tensor of_round;
    if (round > 0) of_round = device.allocate(q.shape(), DType::kFp32, "attn.round");
    OpDesc desc = ring.describe(OpKind::kAttention, round);
    desc.inputs = {&q, &keys, &values};
    desc.output = round > 0 ? &of_round : &sum;
    static_cast<void>(device.run(desc, [&] { see(ring, round, q, keys, values, kept->seen); }));
    if (round == 0) continue;
    static_cast<void>(device.run({.kind = OpKind::kAdd,
                                  .label = "attn.merge",
                                  .rows = rows,
                                  .cols = q.shape().last(),
                                  .inputs = {&sum, &of_round},
                                  .output = &sum},
                                 [] {}));
  }
  keys = values = {};
  int half = 0;
  for (Seen& seen : kept->seen) {
    seen.out.put(half++, sum.matrix());
    seen.out = Half(ring, 0);
  }
  Tensor y = stored(sum, label);
  sum = {};
  if (!wants_backward({&q, &k, &v}, false)) return y;
  kept->y = y;
  Tape::record(y, {&q, &k, &v}, {}, [&] {
    return [kept, ring](const Tensor& dy, const SavedBlocks&) {
      return ring_backward(dy, ring, *kept);
    };
  });
  return y;
}

}  // namespace nb::ops
