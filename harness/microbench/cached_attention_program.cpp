// Attention of a d4 over cached keys, on the host's clock: one token of each of 64 sequences with
// caches of their own (decoding: bound by reading keys and values), and chunks of 12 tokens behind
// a prefix of 480 that all share (the choices of a few-shot item).
#include <bit>
#include <memory>
#include <string>
#include <vector>

#include "harness/base/rng.hpp"
#include "harness/microbench/programs.hpp"
#include "harness/microbench/timing.hpp"
#include "model/kernels/attention.hpp"
#include "model/kernels/scratch.hpp"

namespace nb {
namespace {

constexpr std::int64_t kHeads = 2, kHeadDim = 128, kColumns = kHeads * kHeadDim;

struct CachedCase {
  const char* name;
  std::int64_t sequences, queries, shared, own;  // keys of a sequence: shared + own
};
constexpr CachedCase kCases[] = {{"decode", 64, 1, 0, 200}, {"choices", 16, 12, 480, 12}};

std::vector<float> drawn(std::int64_t rows, std::uint64_t seed) {
  const Rng rng(seed, "microbench cached attention");
  std::vector<float> values(static_cast<std::size_t>(rows * kColumns));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = round_to(DType::kBf16, static_cast<float>(2.0 * rng.uniform(i) - 1.0));
  return values;
}

std::int64_t rows(const std::vector<float>& values) {
  return static_cast<std::int64_t>(values.size()) / kColumns;
}
ConstMatrix view(const std::vector<float>& values) {
  return matrix(values.data(), rows(values), kColumns);
}

// Keys or values as the engine's caches hold them: bf16 where the policy has them, on huge pages
// where the system has them.
struct CachedValues {
  std::vector<float> floats;
  kernels::LargeBuffer memory;
  std::uint16_t* bf16 = nullptr;

  CachedValues(std::int64_t rows, std::uint64_t seed, const MatmulPolicy& policy)
      : floats(drawn(rows, seed)) {
    if (!takes_bf16(policy)) return;
    memory.resize(floats.size() * sizeof *bf16);
    bf16 = reinterpret_cast<std::uint16_t*>(memory.floats());
    kernels::store_keys(view(floats), {.bf16 = bf16, .stride = kColumns, .head_dim = kColumns},
                        policy);
  }
  kernels::KeyRows rows() const {
    kernels::KeyRows all = view(floats);
    if (bf16 != nullptr) all.fp32 = nullptr, all.bf16 = bf16;
    return all;
  }
};

class CachedAttentionWork {
 public:
  CachedAttentionWork(const CachedCase& c, const MatmulPolicy& policy)
      : case_(c),
        prefix_k_(c.shared, 1, policy),
        prefix_v_(c.shared, 2, policy),
        k_(c.sequences * c.own, 3, policy),
        v_(c.sequences * c.own, 4, policy),
        q_(drawn(c.sequences * c.queries, 5)),
        out_(q_.size()) {
    for (std::int64_t s = 0; s < c.sequences; ++s) {
      std::vector<kernels::KeySegment>& parts = segments_.emplace_back();
      if (c.shared > 0) parts.push_back({prefix_k_.rows(), prefix_v_.rows()});
      parts.push_back(
          {k_.rows().rows_from(s * c.own, c.own), v_.rows().rows_from(s * c.own, c.own)});
    }
    for (std::int64_t s = 0; s < c.sequences; ++s) {
      sequences_.push_back({.first_row = s * c.queries,
                            .queries = c.queries,
                            .first_position = c.shared + c.own - c.queries,
                            .segments = segments_[static_cast<std::size_t>(s)]});
    }
  }

  void run(const MatmulPolicy& policy) {
    kernels::attention_cached(view(q_), matrix(out_.data(), rows(q_), kColumns), sequences_,
                              {.heads = kHeads, .kv_heads = kHeads, .head_dim = kHeadDim}, policy);
  }

  // The last sequence by attention() over its keys in one piece.
  bool equals_one_piece(const MatmulPolicy& policy) {
    run(policy);
    std::vector<float> k = prefix_k_.floats, v = prefix_v_.floats;
    const auto own = static_cast<std::ptrdiff_t>(case_.own * kColumns);
    k.insert(k.end(), k_.floats.end() - own, k_.floats.end());
    v.insert(v.end(), v_.floats.end() - own, v_.floats.end());
    const std::int64_t first = (case_.sequences - 1) * case_.queries;
    std::vector<float> whole(static_cast<std::size_t>(case_.queries * kColumns));
    kernels::attention(row_block(view(q_), first, case_.queries), view(k), view(v),
                       matrix(whole.data(), case_.queries, kColumns), {},
                       {.batch = 1,
                        .queries = case_.queries,
                        .keys = rows(k),
                        .heads = kHeads,
                        .kv_heads = kHeads,
                        .head_dim = kHeadDim,
                        .first_position = rows(k) - case_.queries},
                       policy);
    const float* cached = out_.data() + first * kColumns;
    for (std::size_t i = 0; i < whole.size(); ++i)
      if (std::bit_cast<std::uint32_t>(whole[i]) != std::bit_cast<std::uint32_t>(cached[i]))
        return false;
    return true;
  }

 private:
  CachedCase case_;
  CachedValues prefix_k_, prefix_v_, k_, v_;
  std::vector<float> q_, out_;
  std::vector<std::vector<kernels::KeySegment>> segments_;
  std::vector<kernels::CachedSequence> sequences_;
};

HostBenchmark describe(const CachedCase& c, const MicrobenchRequest& request, DType inputs) {
  const auto queries = static_cast<double>(c.sequences * c.queries);
  const auto before = static_cast<double>(c.shared + c.own - c.queries);
  const double pairs = queries * (before + static_cast<double>(c.queries + 1) / 2.0);
  const auto keys = static_cast<double>(c.shared + c.sequences * c.own);
  return {.name = std::string("attention/d4/") + c.name,
          .min_time_s = request.min_time_s,
          .flop = 4.0 * pairs * static_cast<double>(kColumns),
          .bytes = 2.0 * keys * static_cast<double>(kColumns * (inputs == DType::kBf16 ? 2 : 4)),
          .tokens = queries,
          .inputs = inputs};
}

}  // namespace

void register_cached_attention(const MicrobenchRequest& request, const DeviceProfile& profile) {
  const MatmulPolicy policy = profile.numerics.matmul();
  for (const CachedCase& c : kCases) {
    const auto work = std::make_shared<std::unique_ptr<CachedAttentionWork>>();
    register_host(describe(c, request, policy.inputs),
                  [&c, policy, work](benchmark::State& state) -> std::function<void()> {
                    if (*work == nullptr) {
                      *work = std::make_unique<CachedAttentionWork>(c, policy);
                      if (!(*work)->equals_one_piece(policy)) {
                        state.SkipWithError("cached attention differs from one pass");
                        return {};
                      }
                    }
                    return [work, policy] { (*work)->run(policy); };
                  });
  }
}

}  // namespace nb
