#include "model/ops/sequence_rows.hpp"

#include <algorithm>
#include <string>

#include "harness/base/check.hpp"
#include "model/autograd/tape.hpp"
#include "model/device/device.hpp"

namespace nb::ops {
namespace {

Tensor part_of(const Tensor& x, const Communicator& ranks) {
  const std::int64_t rows = x.shape().leading();
  NB_CHECK(rows % ranks.size() == 0, "[sequence_rows] {}: {} rows on {} ranks", x.name(), rows,
           ranks.size());
  return x.device().allocate({rows / ranks.size(), x.shape().last()}, x.dtype(), x.name());
}

Tensor gathered(Tensor x, Communicator& ranks, std::string_view label) {
  Tensor whole = x.device().allocate({x.shape().leading() * ranks.size(), x.shape().last()},
                                     x.dtype(), x.name());
  ranks.all_gather(CollectiveBuffer(x), CollectiveBuffer(whole), label);
  return whole;
}

Tensor scattered(Tensor x, Communicator& ranks, std::string_view label) {
  Tensor own = part_of(x, ranks);
  ranks.reduce_scatter(CollectiveBuffer(x), CollectiveBuffer(own), Reduce::kSum, label);
  return own;
}

// y came from x, whose gradient `back` makes of y's.
void record(const Tensor& x, Tensor& y, Communicator& ranks,
            Tensor (*back)(Tensor, Communicator&, std::string_view)) {
  if (!Tape::wants_gradient(x)) return;
  Tape::record(y, {&x}, {}, [&] {
    return [&ranks, back, label = std::string(x.name())](const Tensor& dy, const SavedBlocks&) {
      return Tape::Gradients{back(dy, ranks, label)};
    };
  });
}

}  // namespace

Tensor all_rows(const Tensor& x, Communicator& ranks) {
  Tensor whole = gathered(x, ranks, x.name());
  record(x, whole, ranks, scattered);
  return whole;
}

Tensor own_rows_of_sum(const Tensor& y, Communicator& ranks) {
  Tensor own = scattered(y, ranks, y.name());
  record(y, own, ranks, gathered);
  return own;
}

Tensor own_rows(const Tensor& x, Communicator& ranks) {
  Tensor own = part_of(x, ranks);
  static_cast<void>(
      x.device().run({.kind = OpKind::kCast,
                      .label = x.name(),
                      .count = own.count(),
                      .dtype = x.dtype(),
                      .to_dtype = own.dtype(),
                      .inputs = {&x},
                      .output = &own},
                     [&] {
                       const auto count = static_cast<std::size_t>(own.count());
                       const auto from = static_cast<std::size_t>(ranks.rank()) * count;
                       std::ranges::copy(x.host().subspan(from, count), own.host().begin());
                     }));
  record(x, own, ranks, gathered);
  return own;
}

}  // namespace nb::ops
