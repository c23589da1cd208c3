#include <algorithm>

#include "model/kernels/self_test/attention_packing.hpp"

namespace nb::kernels::self_test {
namespace {

using inner::AttentionTiles;

// One head of `time` queries behind `position` keys, all of whose gradients are made where there
// are none. Query 3 has scores of zeros, query 4 such that exponentials leave the ordinary range.
class Head {
 public:
  Head(const AttentionPacking& packing, std::int64_t position, std::int64_t time, std::int64_t dim,
       std::int64_t window)
      : tiles_(packing.tiles()),
        packing_(packing),
        position_(position),
        time_(time),
        keys_(position + time),
        dim_(dim),
        window_(window),
        sum_stride_(round_up(dim, 16)),
        q_(ordinary_values(time * dim, 84)),
        k_(ordinary_values(keys_ * dim, 85)),
        v_(ordinary_values(keys_ * dim, 86)),
        dout_(ordinary_values(time * dim, 87)),
        delta_(ordinary_values(time, 88)),
        max_(floats(time)),
        sum_(floats(time)) {
    for (std::int64_t d = 0; d < dim; ++d) {
      q_[static_cast<std::size_t>(3 * dim + d)] = d % 2 == 0 ? 0.0f : -0.0f;
      q_[static_cast<std::size_t>(4 * dim + d)] *= 60.0f;
    }
  }

  void add_forward(Results& r) {
    const Words k = packing_.rows(k_, keys_, dim_), v = packing_.panels(v_, keys_, dim_);
    std::vector<float> scores = floats(packing_.padded(keys_) * tiles_.width);
    Words weights = AttentionPacking::unwritten(round_up(keys_, 2) * tiles_.width);
    std::vector<float> sums = floats(tiles_.width * sum_stride_), all;
    std::vector<float> max = floats(tiles_.width), sum = max;
    each_block([&](std::int64_t first, std::int64_t count) {
      const Words q = packing_.lanes(q_.data() + first * dim_, count, dim_);
      tiles_.forward({.q = q.data(),
                      .k = k.data(),
                      .v = v.data(),
                      .v_panel = packing_.panel_words(keys_),
                      .dim = dim_,
                      .queries = count,
                      .position = position_ + first,
                      .keys = keys_,
                      .window = window_,
                      .scale = kScale,
                      .rounding = packing_.rounding(),
                      .scores = scores.data(),
                      .weights = weights.data(),
                      .sums = sums.data(),
                      .max = max.data(),
                      .sum = sum.data(),
                      .ahead = nullptr});
      std::copy_n(max.begin(), count, max_.begin() + first);
      std::copy_n(sum.begin(), count, sum_.begin() + first);
      append(sums, count, all);
    });
    r.add("forward", std::move(all));
    r.add("forward", max_);
    r.add("forward", sum_);
  }

  // After forward. Two passes over the keys, the second of which continues the sums of the first.
  void add_backward(Results& r) const {
    const Words k = packing_.rows(k_, keys_, dim_), v = packing_.rows(v_, keys_, dim_),
                k_by_dim = packing_.panels(k_, keys_, dim_);
    const std::int64_t padded = packing_.padded(keys_),
                       row_words = packing_.words(round_up(time_, tiles_.width));
    Words p(static_cast<std::size_t>(padded * row_words)), ds = p;
    Words weights = AttentionPacking::unwritten(round_up(padded, 2) * tiles_.width);
    std::vector<float> sums = floats(tiles_.width * sum_stride_), all;
    each_block([&](std::int64_t first, std::int64_t count) {
      const Words q = packing_.lanes(q_.data() + first * dim_, count, dim_),
                  dout = packing_.lanes(dout_.data() + first * dim_, count, dim_);
      const std::vector<float> max = lanes_of(max_, first, count),
                               sum = lanes_of(sum_, first, count),
                               delta = lanes_of(delta_, first, count);
      const std::int64_t word = first / tiles_.values_per_word;
      tiles_.backward({.q = q.data(),
                       .dout = dout.data(),
                       .k = k.data(),
                       .v = v.data(),
                       .k_by_dim = k_by_dim.data(),
                       .k_panel = packing_.panel_words(keys_),
                       .dim = dim_,
                       .queries = count,
                       .position = position_ + first,
                       .keys = keys_,
                       .window = window_,
                       .scale = kScale,
                       .rounding = packing_.rounding(),
                       .max = max.data(),
                       .sum = sum.data(),
                       .delta = delta.data(),
                       .p = p.data() + word,
                       .ds = ds.data() + word,
                       .row_words = row_words,
                       .weights = weights.data(),
                       .dq = sums.data(),
                       .ahead = nullptr});
      append(sums, count, all);
    });
    r.add("backward", std::move(all));
    // p and ds themselves: rows of words, unswapped.
    std::vector<float> values;
    for (const Words* made : {&p, &ds}) {
      for (std::int64_t key = 0; key < keys_; ++key) {
        const PackedLine line = {made->data() + key * row_words, 1, tiles_.values_per_word, false,
                                 tiles_.to_bf16 != nullptr};
        for (std::int64_t i = 0; i < time_; ++i) values.push_back(line.value(i));
      }
    }
    r.add("backward", std::move(values));
    add_over_queries(ds, row_words, packing_.panels(q_, time_, dim_), r);
    add_over_queries(p, row_words, packing_.panels(dout_, time_, dim_), r);
  }

 private:
  static constexpr float kScale = 0.0625f;

  template <class Body>
  void each_block(const Body& body) const {
    for (std::int64_t first = 0; first < time_; first += tiles_.width) {
      body(first, std::min<std::int64_t>(tiles_.width, time_ - first));
    }
  }
  std::vector<float> lanes_of(const std::vector<float>& values, std::int64_t first,
                              std::int64_t count) const {
    std::vector<float> lanes(static_cast<std::size_t>(tiles_.width), 1.0f);
    std::copy_n(values.begin() + first, count, lanes.begin());
    return lanes;
  }
  void append(const std::vector<float>& sums, std::int64_t rows, std::vector<float>& to) const {
    for (std::int64_t i = 0; i < rows; ++i) {
      to.insert(to.end(), sums.begin() + i * sum_stride_, sums.begin() + i * sum_stride_ + dim_);
    }
  }

  void add_over_queries(const Words& weights, std::int64_t row_words, const Words& b,
                        Results& r) const {
    const std::int64_t padded = packing_.padded(keys_);
    std::vector<float> sums = floats(padded * sum_stride_), all;
    const std::int64_t cut = std::min<std::int64_t>(32, time_ / 2 * 2);  // of either width
    for (const std::int64_t first : {std::int64_t{0}, cut}) {
      const std::int64_t count = first == 0 ? cut : time_ - cut;
      const std::int64_t skipped = first / tiles_.values_per_word;
      for (std::int64_t key = 0; key < padded; key += tiles_.rows) {
        float* c = sums.data() + key * sum_stride_;
        tiles_.over_queries({.cols = dim_,
                             .words = packing_.words(count),
                             .a = weights.data() + key * row_words + skipped,
                             .a_stride = row_words,
                             .b = b.data() + skipped * tiles_.width,
                             .b_panel = packing_.panel_words(time_),
                             .start = first == 0 ? nullptr : c,
                             .c = c,
                             .c_stride = sum_stride_,
                             .ahead = nullptr});
      }
    }
    append(sums, keys_, all);
    r.add("over_queries", std::move(all));
  }

  const AttentionTiles& tiles_;
  const AttentionPacking& packing_;
  std::int64_t position_, time_, keys_, dim_, window_, sum_stride_;
  std::vector<float> q_, k_, v_, dout_, delta_, max_, sum_;
};

}  // namespace

void add_head(const AttentionPacking& packing, std::int64_t position, std::int64_t time,
              std::int64_t dim, std::int64_t window, Results& r) {
  Head head(packing, position, time, dim, window);
  head.add_forward(r);
  head.add_backward(r);
}

void add_one(const AttentionPacking& packing, std::int64_t keys, std::int64_t hidden,
             std::int64_t dim, Results& r) {
  const AttentionTiles& tiles = packing.tiles();
  const std::vector<float> q = ordinary_values(dim, 90), k = ordinary_values(keys * dim, 91);
  std::vector<float> v = ordinary_values(keys * dim, 92);
  std::fill_n(v.begin(), hidden * dim, 0.0f);  // as a caller must
  std::vector<std::uint16_t> k_bf16(k.size()), v_bf16(v.size());
  const bool of_bf16 = tiles.to_bf16 != nullptr;
  if (of_bf16) {
    tiles.to_bf16(k.data(), std::ssize(k), k_bf16.data());
    tiles.to_bf16(v.data(), std::ssize(v), v_bf16.data());
  }
  std::vector<const void*> k_rows, v_rows;
  for (std::int64_t j = 0; j < round_up(keys, inner::kKeysAtOnce); ++j) {
    const std::int64_t at = std::min(j, keys - 1) * dim;
    k_rows.push_back(of_bf16 ? static_cast<const void*>(k_bf16.data() + at) : k.data() + at);
    v_rows.push_back(of_bf16 ? static_cast<const void*>(v_bf16.data() + at) : v.data() + at);
  }
  std::vector<float> scores = floats(keys + inner::kKeysAtOnce), sums = floats(round_up(dim, 16));
  Words words = AttentionPacking::unwritten(dim + keys + 32);
  float max = 0.0f, sum = 0.0f;
  tiles.one({.q = q.data(),
             .now = {k_rows.data(), v_rows.data(), keys},
             .next = {},
             .dim = dim,
             .hidden = hidden,
             .scale = 0.0625f,
             .rounding = packing.rounding(),
             .scores = scores.data(),
             .words = words.data(),
             .sums = sums.data(),
             .max = &max,
             .sum = &sum});
  sums.resize(static_cast<std::size_t>(dim));
  r.add("one", std::move(sums));
  r.add("one", {max, sum});
}

}  // namespace nb::kernels::self_test
