#include "model/train/context_rank.hpp"

#include <fmt/format.h>

#include "harness/base/check.hpp"
#include "model/ops/attention.hpp"
#include "model/ops/model_parallel.hpp"
#include "model/ops/ring_attention.hpp"

namespace nb {

ContextKind context_kind(std::string_view name) {
  NB_CHECK(name == "ulysses" || name == "ring", "[context_rank] {}", name);
  return name == "ring" ? ContextKind::kRing : ContextKind::kUlysses;
}

std::vector<std::int64_t> positions_of(const ContextPlan& plan, std::int64_t time) {
  if (plan.kind == ContextKind::kRing) return ops::zigzag_positions(time, plan.part(), plan.parts);
  NB_CHECK(time % plan.parts == 0, "[context_rank] {} tokens in {} parts", time, plan.parts);
  const std::int64_t each = time / plan.parts;
  std::vector<std::int64_t> positions;
  for (std::int64_t t = 0; t < each; ++t) positions.push_back(plan.part() * each + t);
  return positions;
}

namespace {

// Two chunks a rank, and every key of a sequence.
Result<void> check_ring(const DecoderConfig& config, std::int64_t parts) {
  if (config.sequence_len % (2 * parts) != 0)
    return bad_input(fmt::format(
        "mesh/cp: a ring of {} ranks cannot cut {} tokens of a sequence into {} equal chunks; "
        "choose another number, or another sequence length",
        parts, config.sequence_len, 2 * parts));
  for (std::int64_t layer = 0; layer < config.n_layer; ++layer)
    if (config.window(layer) > 0)
      return bad_input(fmt::format(
          "mesh/context: block {} sees a window of {} keys, a ring's attention all of them; say "
          "ulysses, or choose another model",
          layer, config.window(layer)));
  return {};
}

Result<void> check_ulysses(const DecoderConfig& config, std::int64_t parts) {
  struct Number {
    std::int64_t count;
    const char *one, *several, *other;
  };
  for (const Number& number :
       {Number{config.sequence_len, "token of a sequence", "tokens of a sequence",
               "or another sequence length"},
        Number{config.n_head, "head", "heads", "another model, or context ring"},
        Number{config.n_kv_head, "key-value head", "key-value heads",
               "another model, or context ring"}})
    if (number.count % parts != 0)
      return bad_input(
          fmt::format("mesh/cp: {} ranks cannot share {} {} evenly; choose a divisor, {}", parts,
                      number.count, number.count == 1 ? number.one : number.several, number.other));
  return {};
}

}  // namespace

Result<void> check_context(const DecoderConfig& config, std::int64_t parts, ContextKind kind) {
  if (parts == 1) return {};
  if (config.architecture.smear)
    return bad_input(
        "mesh/cp: the model's smear reads the token before, which another rank may have; choose "
        "another model, or leave cp out");
  return kind == ContextKind::kRing ? check_ring(config, parts) : check_ulysses(config, parts);
}

ContextRank::ContextRank(Decoder& decoder, const ContextPlan& plan)
    : decoder_(decoder),
      plan_(plan),
      positions_(positions_of(plan, decoder.config().sequence_len)),
      tables_(rows_of(decoder.rotary_tables(), positions_, decoder.device())),
      group_(decoder.device(), plan.part(), plan.parts) {}

ContextRank::~ContextRank() { decoder_.weights().hooks = nullptr; }

void ContextRank::begin(Communicator& world) {
  NB_CHECK(world.rank() == plan_.rank && world.size() == plan_.ranks(),
           "[context_rank] rank {} of {} begins as {} of {}", plan_.rank, plan_.ranks(),
           world.rank(), world.size());
  decoder_.weights().hooks = this;
  if (plan_.copies == 1) return group_.lend(&world);
  std::vector<std::vector<int>> groups(static_cast<std::size_t>(plan_.copies));
  for (int r = 0; r < plan_.ranks(); ++r)
    groups[static_cast<std::size_t>(r / plan_.parts)].push_back(r);
  own_group_ = world.split(groups, "cp");
  group_.lend(own_group_.get());
}

void ContextRank::end() {
  decoder_.weights().hooks = nullptr;
  group_.lend(nullptr);
  own_group_.reset();
}

Tensor ContextRank::attend(const Tensor& q, const Tensor& k, const Tensor& v,
                           const ops::HeadShape& whole) {
  if (plan_.kind == ContextKind::kRing)
    return ops::ring_attention(q, k, v, whole, plan_.part(), "attn", group_);
  const auto to_heads = [&](const Tensor& x, const char* label) {
    return ops::tokens_to_columns(x, whole.batch, label, group_);
  };
  ops::HeadShape own = whole;
  own.heads /= plan_.parts;
  own.kv_heads /= plan_.parts;
  Tensor queries = to_heads(q, "attn.q_heads"), keys = to_heads(k, "attn.k_heads"),
         values = to_heads(v, "attn.v_heads");
  const Tensor y = ops::attention(queries, keys, values, own, "attn");
  queries = keys = values = {};
  return ops::columns_to_tokens(y, whole.batch, "attn.tokens", group_);
}

}  // namespace nb
