#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "harness/base/parallel.hpp"
#include "model/kernels/attention.hpp"
#include "model/kernels/attention_head.hpp"
#include "model/kernels/attention_shape.hpp"
#include "model/kernels/scratch.hpp"

namespace nb::kernels {
namespace {

void check_sequence(std::size_t index, const CachedSequence& s, ConstMatrix q,
                    const CachedShape& shape, const MatmulPolicy& policy) {
  NB_CHECK(s.queries >= 0 && s.first_row >= 0 && s.first_row + s.queries <= q.rows &&
               s.first_position >= 0,
           "[attention_cached] sequence {}: rows {} + {} of {}, first position {}", index,
           s.first_row, s.queries, q.rows, s.first_position);
  std::int64_t rows = 0;
  for (const KeySegment& segment : s.segments) {
    NB_CHECK(segment.k.cols == shape.kv_heads * shape.head_dim &&
                 segment.v.cols == segment.k.cols && segment.v.rows == segment.k.rows,
             "[attention_cached] sequence {}: k is ({},{}), v ({},{}), the shape says {} columns",
             index, segment.k.rows, segment.k.cols, segment.v.rows, segment.v.cols,
             shape.kv_heads * shape.head_dim);
    NB_CHECK(takes_bf16(policy) || (segment.k.bf16 == nullptr && segment.v.bf16 == nullptr),
             "[attention_cached] sequence {}: bf16, and inputs of another format", index);
    rows += segment.k.rows;
  }
  NB_CHECK(s.queries == 0 || rows >= s.first_position + s.queries,
           "[attention_cached] sequence {}: {} cached keys, position {} needs them all", index,
           rows, s.first_position + s.queries - 1);
}

constexpr std::int64_t kFewQueries = 4;      // these go one by one
constexpr std::size_t kSequencesAtOnce = 8;  // of those that share a first segment
constexpr std::size_t kPieces = 32;          // of a loop over so many short tasks

std::int64_t keys_of(const CachedSequence& s) { return s.first_position + s.queries; }

// Sees all of the same first segment, so that its packed keys can be shared.
bool shares_prefix(const CachedSequence& a, const CachedSequence& b) {
  if (a.segments.empty() || b.segments.empty()) return false;
  const KeySegment &x = a.segments.front(), &y = b.segments.front();
  return x.k.same_place(y.k) && x.v.same_place(y.v) && std::min(keys_of(a), keys_of(b)) >= x.k.rows;
}

// Ends of runs of sequences that one task takes, per key head.
std::vector<std::size_t> runs_of(std::span<const CachedSequence> sequences) {
  std::vector<std::size_t> ends;
  std::size_t begin = 0;
  for (std::size_t i = 1; i <= sequences.size(); ++i) {
    if (i < sequences.size() && i - begin < kSequencesAtOnce &&
        shares_prefix(sequences[begin], sequences[i])) {
      continue;
    }
    ends.push_back(i);
    begin = i;
  }
  return ends;
}

void addresses(const KeyRows& rows, const void** to) {
  const auto* row = static_cast<const std::byte*>(rows.row(0));
  const std::int64_t stride = rows.stride_bytes();
  for (std::int64_t j = 0; j < rows.rows; ++j, row += stride) to[j] = row;
}

// A sequence's keys of one key head.
struct HeadOf {
  const CachedSequence* sequence = nullptr;
  std::int64_t kv_head = 0;
};

// One key head of a run of sequences.
class HeadRun {
 public:
  HeadRun(ConstMatrix q, Matrix out, const CachedShape& shape, const MatmulPolicy& policy,
          std::int64_t kv_head)
      : q_(q), out_(out), shape_(shape), policy_(policy), kv_(kv_head), format_(policy) {}

  // after: what this thread probably works on next.
  void run(std::span<const CachedSequence> sequences, const HeadOf& after) const {
    // Keys [first, most) are packed, of all sequences alike, so that a prefix can be shared.
    std::int64_t most = 0, first = 0;
    for (const CachedSequence& s : sequences) {
      if (s.queries <= kFewQueries || !sums_are_chains(policy_)) continue;
      first = most == 0 ? first_packed(s) : std::min(first, first_packed(s));
      most = std::max(most, keys_of(s));
    }
    std::optional<HeadKeys> packed;
    if (most > 0) packed.emplace(format_, most - first, shape_.head_dim);
    for (const CachedSequence& s : sequences) {
      if (s.queries == 0) continue;
      if (!sums_are_chains(policy_)) {
        each_head(s, [&](const QueryRows& rows) { by_definition(s, rows); });
        continue;
      }
      if (s.queries <= kFewQueries) {
        one_by_one(s, &s == &sequences.back() ? after : HeadOf{&s + 1, kv_});
        continue;
      }
      pack(s, first, sequences.size() > 1, *packed);
      each_head(s, [&](QueryRows rows) {
        if (packed->finite()) {
          rows.position -= first;
          packed->attend(rows, scale(), shape_.window);
        } else {
          by_definition(s, rows);
        }
      });
    }
  }

 private:
  float scale() const { return score_scale({.head_dim = shape_.head_dim, .scale = shape_.scale}); }

  std::int64_t first_packed(const CachedSequence& s) const {
    return first_packed_key(s.first_position, shape_.window);
  }

  // body(segment's k, v) of the keys of `at` from `from` on, in segments from `first` on: of those
  // before `from`, no rows.
  template <class Body>
  void each_segment(const HeadOf& at, std::int64_t from, std::size_t first,
                    const Body& body) const {
    const CachedSequence& s = *at.sequence;
    std::int64_t left = keys_of(s);
    for (std::size_t i = 0; i < s.segments.size() && left > 0; ++i) {
      const KeySegment& segment = s.segments[i];
      const std::int64_t rows = std::min(left, segment.k.rows), skipped = std::min(from, rows);
      if (i >= first) {
        body(segment.k.head(at.kv_head, shape_.head_dim).rows_from(skipped, rows - skipped),
             segment.v.head(at.kv_head, shape_.head_dim).rows_from(skipped, rows - skipped));
      }
      left -= rows;
      from -= skipped;
    }
  }

  // A first segment that the run shares is packed once and kept.
  void pack(const CachedSequence& s, std::int64_t from, bool shares, HeadKeys& packed) const {
    packed.reset();
    const bool has_prefix = shares && packed.size() > 0;
    std::size_t index = has_prefix ? 1 : 0;
    each_segment({&s, kv_}, from, index, [&](const KeyRows& k, const KeyRows& v) {
      packed.append(k, v);
      if (shares && index == 0) packed.mark();
      ++index;
    });
  }

  template <class Body>
  void each_head(const CachedSequence& s, const Body& body) const {
    const std::int64_t group = shape_.heads / shape_.kv_heads, dim = shape_.head_dim;
    for (std::int64_t h = kv_ * group; h < (kv_ + 1) * group; ++h) {
      const auto rows = [&](auto m) {
        return column_block(row_block(m, s.first_row, s.queries), h * dim, dim);
      };
      body(QueryRows{.q = rows(q_), .out = rows(out_), .position = s.first_position});
    }
  }

  void one_by_one(const CachedSequence& s, const HeadOf& after) const {
    const auto padded = [](std::int64_t keys) { return round_up(keys, inner::kKeysAtOnce); };
    const std::int64_t first = first_packed(s), keys = keys_of(s) - first;
    const std::int64_t next =
        after.sequence == nullptr ? 0 : keys_of(*after.sequence) - first_packed(*after.sequence);
    const std::int64_t pointers = 2 * (padded(keys) + padded(next));
    const Scratch scratch(static_cast<std::size_t>(pointers) * sizeof(const void*) +
                          bf16_of_fp32(s) * sizeof(std::uint16_t));
    auto* k_rows = static_cast<const void**>(scratch.data());
    const void** const v_rows = k_rows + padded(keys);
    const void** const next_k = v_rows + padded(keys);
    const void** const next_v = next_k + padded(next);
    auto* free = reinterpret_cast<std::uint16_t*>(k_rows + pointers);
    const auto point = [&](const KeyRows& rows, const void** to) {
      if (rows.bf16 != nullptr || !takes_bf16(policy_)) return addresses(rows, to);
      for (std::int64_t j = 0; j < rows.rows; ++j, free += shape_.head_dim) {
        format_.tiles.to_bf16(rows.fp32 + j * rows.stride, shape_.head_dim, free);
        to[j] = free;
      }
    };
    std::int64_t done = 0;
    each_segment({&s, kv_}, first, 0, [&](const KeyRows& k, const KeyRows& v) {
      point(k, k_rows + done);
      point(v, v_rows + done);
      done += k.rows;
    });
    std::fill(k_rows + keys, k_rows + padded(keys), k_rows[keys - 1]);
    std::fill(v_rows + keys, v_rows + padded(keys), v_rows[keys - 1]);
    done = 0;
    if (next > 0) {
      // What both share has just been read.
      const std::size_t shared = after.kv_head == kv_ && shares_prefix(s, *after.sequence) ? 1 : 0;
      each_segment(after, first_packed(*after.sequence), shared,
                   [&](const KeyRows& k, const KeyRows& v) {
                     addresses(k, next_k + done);
                     addresses(v, next_v + done);
                     done += k.rows;
                   });
      if (done > 0) std::fill(next_k + done, next_k + padded(done), next_k[done - 1]);
    }
    each_head(s, [&](QueryRows rows) {
      rows.position -= first;
      attend_one_by_one(format_, rows, k_rows, v_rows, {next_k, next_v, done}, scale(),
                        shape_.window);
    });
  }

  // Of rows that are not rounded yet.
  std::size_t bf16_of_fp32(const CachedSequence& s) const {
    if (!takes_bf16(policy_)) return 0;
    std::int64_t rows = 0;
    each_segment({&s, kv_}, first_packed(s), 0, [&](const KeyRows& k, const KeyRows& v) {
      rows += (k.bf16 == nullptr ? k.rows : 0) + (v.bf16 == nullptr ? v.rows : 0);
    });
    return static_cast<std::size_t>(rows * shape_.head_dim);
  }

  void by_definition(const CachedSequence& s, const QueryRows& rows) const {
    const std::int64_t keys = keys_of(s), dim = shape_.head_dim;
    const Scratch k_all(static_cast<std::size_t>(keys * dim) * 4);
    const Scratch v_all(static_cast<std::size_t>(keys * dim) * 4);
    std::int64_t done = 0;
    each_segment({&s, kv_}, 0, 0, [&](const KeyRows& k, const KeyRows& v) {
      for (std::int64_t j = 0; j < k.rows; ++j, ++done) {
        k.copy_row(j, k_all.floats() + done * dim);
        v.copy_row(j, v_all.floats() + done * dim);
      }
    });
    attend_by_definition(rows, matrix(k_all.floats(), keys, dim), matrix(v_all.floats(), keys, dim),
                         scale(), shape_.window, policy_);
  }

  ConstMatrix q_;
  Matrix out_;
  const CachedShape& shape_;
  const MatmulPolicy& policy_;
  std::int64_t kv_;
  AttentionFormat format_;
};

}  // namespace

void attention_cached(ConstMatrix q, Matrix out, std::span<const CachedSequence> sequences,
                      const CachedShape& shape, const MatmulPolicy& policy) {
  NB_CHECK(shape.heads > 0 && shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0,
           "[attention_cached] {} key heads do not divide {} heads", shape.kv_heads, shape.heads);
  NB_CHECK(q.cols == shape.heads * shape.head_dim && out.rows == q.rows && out.cols == q.cols,
           "[attention_cached] q is ({},{}), out ({},{}), the shape says {} columns", q.rows,
           q.cols, out.rows, out.cols, shape.heads * shape.head_dim);
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    check_sequence(i, sequences[i], q, shape, policy);
  }
  NB_CHECK(shape.window >= 0, "[attention_cached] window {} is negative", shape.window);
  NB_CHECK(policy.split_k >= 1, "[attention_cached] split_k is {}, not >= 1", policy.split_k);
  const std::vector<std::size_t> ends = runs_of(sequences);
  const auto begin_of = [&](std::size_t run) { return run == 0 ? 0 : ends[run - 1]; };
  // Head by head: threads that have heads of their own have equally many queries and keys. Single
  // tokens sequence by sequence: the thread that made a row of q, k and v is its reader.
  const auto heads = static_cast<std::size_t>(shape.kv_heads);
  const std::size_t tasks = ends.size() * heads;
  const bool is_decoding = std::all_of(sequences.begin(), sequences.end(),
                                       [](const CachedSequence& s) { return s.queries <= 1; });
  const auto run_of = [&](std::size_t task) {
    return is_decoding ? task / heads : task % ends.size();
  };
  const auto head_of = [&](std::size_t task) {
    return HeadOf{&sequences[begin_of(run_of(task))],
                  static_cast<std::int64_t>(is_decoding ? task % heads : task / ends.size())};
  };
  parallel_for(tasks, std::max<std::size_t>(1, tasks / kPieces), [&](std::size_t task) {
    const std::size_t run = run_of(task), begin = begin_of(run);
    HeadRun(q, out, shape, policy, head_of(task).kv_head)
        .run(sequences.subspan(begin, ends[run] - begin),
             task + 1 < tasks ? head_of(task + 1) : HeadOf{});
  });
}

}  // namespace nb::kernels
