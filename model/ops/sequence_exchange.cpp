#include "model/ops/sequence_exchange.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "harness/base/check.hpp"
#include "model/ops/result.hpp"

namespace nb::ops {
namespace {

// Sizes of both forms: rows of all columns, in pieces of `tokens` tokens × `columns` columns.
struct Pieces {
  std::int64_t ranks, batch, tokens, columns;

  std::int64_t count() const { return ranks * batch * tokens * columns; }
  // Where row `token` of sequence `b` of rank r's piece begins: pieces one after the other, as they
  // travel; rows of a rank's tokens, the pieces side by side; rows of all tokens of some columns.
  std::int64_t travelling(std::int64_t r, std::int64_t b, std::int64_t token) const {
    return ((r * batch + b) * tokens + token) * columns;
  }
  std::int64_t side_by_side(std::int64_t r, std::int64_t b, std::int64_t token) const {
    return ((b * tokens + token) * ranks + r) * columns;
  }
  std::int64_t whole_sequence(std::int64_t r, std::int64_t b, std::int64_t token) const {
    return ((b * ranks + r) * tokens + token) * columns;
  }
};
using Place = std::int64_t (Pieces::*)(std::int64_t, std::int64_t, std::int64_t) const;

// x, whose pieces lie at `from`, with them at `to`.
Tensor laid_out(const Tensor& x, const Shape& shape, const Pieces& pieces, Place from, Place to,
                std::string_view label) {
  Device& device = x.device();
  Tensor y = result(device, shape, label);
  static_cast<void>(device.run({.kind = OpKind::kCast,
                                .label = label,
                                .count = pieces.count(),
                                .dtype = x.dtype(),
                                .to_dtype = y.dtype(),
                                .inputs = {&x},
                                .output = &y},
                               [&] {
                                 const float* in = x.host().data();
                                 float* out = y.host().data();
                                 for (std::int64_t r = 0; r < pieces.ranks; ++r)
                                   for (std::int64_t b = 0; b < pieces.batch; ++b)
                                     for (std::int64_t t = 0; t < pieces.tokens; ++t)
                                       std::copy_n(in + std::invoke(from, pieces, r, b, t),
                                                   pieces.columns,
                                                   out + std::invoke(to, pieces, r, b, t));
                               }));
  return y;
}

// Both ways: pieces are put one after the other, exchanged, and put in place.
Tensor exchanged(const Tensor& x, const Shape& shape, const Pieces& pieces, Place from, Place to,
                 std::string_view label, Communicator& ranks) {
  const Shape flat = {pieces.ranks * pieces.batch * pieces.tokens, pieces.columns};
  // Of one sequence, pieces of all tokens lie as they travel.
  const auto lies = [&](Place place) {
    return place == &Pieces::whole_sequence && pieces.batch == 1;
  };
  Tensor sent = lies(from) ? x : laid_out(x, flat, pieces, from, &Pieces::travelling, label);
  Tensor received = result(x.device(), lies(to) ? shape : flat, label);
  ranks.all_to_all(CollectiveBuffer(sent), CollectiveBuffer(received), label);
  sent = {};
  return lies(to) ? received : laid_out(received, shape, pieces, &Pieces::travelling, to, label);
}

enum class Way { kToColumns, kToTokens };

Tensor exchange(const Tensor& x, std::int64_t batch, Way way, std::string_view label,
                Communicator& ranks) {
  const std::int64_t p = ranks.size(), rows = x.shape().leading(), cols = x.shape().last();
  const bool to_columns = way == Way::kToColumns;
  NB_CHECK(
      batch > 0 && rows % (to_columns ? batch : batch * p) == 0 && (!to_columns || cols % p == 0),
      "[sequence_exchange] {}: x {}, {} sequences, {} ranks", label, x.shape().text(), batch, p);
  if (to_columns)
    return exchanged(x, {rows * p, cols / p}, {p, batch, rows / batch, cols / p},
                     &Pieces::side_by_side, &Pieces::whole_sequence, label, ranks);
  return exchanged(x, {rows / p, cols * p}, {p, batch, rows / batch / p, cols},
                   &Pieces::whole_sequence, &Pieces::side_by_side, label, ranks);
}

Tensor recorded(const Tensor& x, std::int64_t batch, Way way, std::string_view label,
                Communicator& ranks) {
  Tensor y = exchange(x, batch, way, label, ranks);
  if (!Tape::wants_gradient(x)) return y;
  Tape::record(y, {&x}, {}, [&] {
    return [batch, way, &ranks, label = std::string(label)](const Tensor& dy, const SavedBlocks&) {
      const Way back = way == Way::kToColumns ? Way::kToTokens : Way::kToColumns;
      return Tape::Gradients{exchange(dy, batch, back, label, ranks)};
    };
  });
  return y;
}

}  // namespace

Tensor tokens_to_columns(const Tensor& x, std::int64_t batch, std::string_view label,
                         Communicator& ranks) {
  return recorded(x, batch, Way::kToColumns, label, ranks);
}

Tensor columns_to_tokens(const Tensor& x, std::int64_t batch, std::string_view label,
                         Communicator& ranks) {
  return recorded(x, batch, Way::kToTokens, label, ranks);
}

}  // namespace nb::ops
