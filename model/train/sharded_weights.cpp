#include "model/train/sharded_weights.hpp"

#include <algorithm>
#include <string>

#include "harness/base/check.hpp"
#include "model/ops/optimizer_ops.hpp"

namespace nb {
namespace {

// The block that a parameter belongs to; `layers`: none (the root).
std::size_t unit_of(const std::string& name, std::size_t layers) {
  constexpr std::string_view kBlock = "transformer.h.";
  if (!name.starts_with(kBlock)) return layers;
  return static_cast<std::size_t>(std::stoll(name.substr(kBlock.size())));
}

std::span<const float> values_of(const Tensor& tensor) { return tensor.host(); }

}  // namespace

struct ShardedWeights::Part {
  Parameter* whole = nullptr;  // of the decoder; its value comes and goes
  Shape shape;
  DType dtype = DType::kFp32;  // of the master weights
  RowShard shard;
  Parameter rows;  // the master rows; no value where there are none
  Tensor resting;  // between steps, on the first rank
};

// Parts that go over the wire together, in one type: FSDP2's flat buffer. Rank r's piece of it has
// the rows of every part, each padded to equal sizes.
struct ShardedWeights::Bundle {
  DType wire = DType::kFp32;
  std::vector<Part*> parts;
  std::int64_t piece() const {
    std::int64_t elements = 0;
    for (const Part* part : parts) elements += part->shard.padded_elements();
    return elements;
  }
};

ShardedWeights::ShardedWeights(Decoder& decoder, const ShardPlan& plan)
    : decoder_(decoder),
      device_(decoder.device()),
      plan_(plan),
      group_(device_, plan.piece(), plan.pieces),
      copies_(device_, plan.copy(), plan.copies) {
  const auto layers = static_cast<std::size_t>(decoder.config().n_layer);
  units_.resize(layers + 1);
  for (std::vector<Parameter>* some : {&decoder.parameters(), &decoder.adapters().parameters()})
    for (Parameter& p : *some) {
      Part& part = *parts_.emplace_back(std::make_unique<Part>());
      part.whole = &p;
      part.shape = p.value.shape();
      part.dtype = p.value.dtype();
      part.shard = row_shard(part.shape, plan.piece(), plan.pieces);
      part.rows = {.name = p.name, .role = p.role, .value = {}, .is_trained = p.is_trained};
      if (part.shard.count > 0)
        part.rows.value = device_.allocate(shard_shape(part.shape, part.shard), p.value.dtype(),
                                           p.name, Lifetime::kLasting, BlockUse::kParameter);
      units_[unit_of(p.name, layers)].parts.push_back(&part);
      if (p.is_trained) trained_.push_back({&part.rows, part.shape});
    }
  for (const auto& part : parts_) {
    Tensor& value = part->whole->value;
    part->resting = plan.rank == 0 ? value.values_only() : Tensor();
    value = part->resting;
  }
  device_.empty_cache();
  device_.reset_memory_peaks();
  decoder_.weights().hooks = this;
}

ShardedWeights::~ShardedWeights() { decoder_.weights().hooks = nullptr; }

std::vector<OwnGradient> ShardedWeights::own_gradients() {
  std::vector<OwnGradient> own;
  for (const ParameterRows& one : trained_)
    if (!one.rows->grad.empty()) own.push_back({&one.rows->grad, plan_.copy() == 0});
  return own;
}

void ShardedWeights::round_gradients(DType dtype) {
  std::vector<Tensor*> gradients;
  for (const OwnGradient& one : own_gradients()) gradients.push_back(one.gradient);
  ops::grad_round(device_, gradients, dtype);
}

void ShardedWeights::zero_grad() {
  for (const ParameterRows& one : trained_) one.rows->grad = {};
}

void ShardedWeights::begin(Communicator& world) {
  NB_CHECK(!is_in_step_ && world.rank() == plan_.rank && world.size() == plan_.ranks(),
           "[sharded_weights] rank {} of {} begins as {} of {}", plan_.rank, plan_.ranks(),
           world.rank(), world.size());
  if (plan_.copies == 1) {
    group_.lend(&world);
  } else {
    std::vector<std::vector<int>> groups(static_cast<std::size_t>(plan_.copies)),
        copies(static_cast<std::size_t>(plan_.pieces));
    for (int r = 0; r < plan_.ranks(); ++r) {
      groups[static_cast<std::size_t>(r / plan_.pieces)].push_back(r);
      copies[static_cast<std::size_t>(r % plan_.pieces)].push_back(r);
    }
    own_group_ = world.split(groups, "fsdp");
    own_copies_ = world.split(copies, "dp");
    group_.lend(own_group_.get());
    copies_.lend(own_copies_.get());
  }
  for (const auto& part : parts_) part->whole->value = {};
  is_in_step_ = true;
}

void ShardedWeights::end() {
  for (Unit& unit : units_) free(unit);
  for (const auto& part : parts_) part->whole->value = part->resting;
  is_in_step_ = is_whole_ = false;
  group_.lend(nullptr);
  copies_.lend(nullptr);
  own_group_.reset();
  own_copies_.reset();
}

void ShardedWeights::gather_all() {
  for (Unit& unit : units_) gather(unit);
  is_whole_ = true;
}

void ShardedWeights::free_all() {
  is_whole_ = false;
  for (Unit& unit : units_) free(unit);
}

void ShardedWeights::take(Decoder& whole) {
  std::size_t next = 0;
  for (std::vector<Parameter>* some : {&whole.parameters(), &whole.adapters().parameters()})
    for (const Parameter& p : *some) {
      Part& part = *parts_[next++];
      if (part.shard.count == 0) continue;
      const auto rows = values_of(p.value).subspan(static_cast<std::size_t>(part.shard.first()),
                                                   static_cast<std::size_t>(part.shard.elements()));
      std::ranges::copy(rows, part.rows.value.host().begin());
    }
}

void ShardedWeights::give(Decoder& whole) const {
  std::size_t next = 0;
  for (std::vector<Parameter>* some : {&whole.parameters(), &whole.adapters().parameters()})
    for (Parameter& p : *some) {
      const Part& part = *parts_[next++];
      if (part.shard.count > 0)
        std::ranges::copy(values_of(part.rows.value), p.value.host().begin() + part.shard.first());
    }
}

std::vector<std::string> ShardedWeights::differing(const ShardedWeights& other) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < parts_.size(); ++i)
    if (parts_[i]->shard.count > 0 &&
        !std::ranges::equal(std::as_bytes(values_of(parts_[i]->rows.value)),
                            std::as_bytes(values_of(other.parts_[i]->rows.value))))
      names.push_back(parts_[i]->rows.name);
  return names;
}

void ShardedWeights::before_pass() {
  if (is_in_step_ && !is_whole_) gather(units_.back());
}

// Blocks whose input has no gradient are finished here, as FSDP2's last callback does.
void ShardedWeights::after_pass() {
  if (!is_in_step_ || is_whole_) return;
  for (Unit& unit : units_) {
    reduce(unit);
    free(unit);
  }
}

void ShardedWeights::before_block(std::int64_t layer) {
  if (is_in_step_ && !is_whole_) gather(units_[static_cast<std::size_t>(layer)]);
}

void ShardedWeights::after_block(std::int64_t layer) {
  if (is_in_step_ && !is_whole_) free(units_[static_cast<std::size_t>(layer)]);
}

void ShardedWeights::after_block_backward(std::int64_t layer) {
  if (!is_in_step_ || is_whole_) return;
  Unit& unit = units_[static_cast<std::size_t>(layer)];
  reduce(unit);
  free(unit);
}

std::vector<ShardedWeights::Bundle> ShardedWeights::bundles_of(std::span<Part* const> parts,
                                                               const std::optional<DType>& wire,
                                                               bool of_gradients) {
  std::vector<Bundle> bundles;
  for (Part* part : parts) {
    // A gradient has the type of the gathered weight.
    const DType type = wire.value_or(of_gradients ? part->whole->grad.dtype() : part->dtype);
    auto found = std::ranges::find(bundles, type, &Bundle::wire);
    if (found == bundles.end()) found = bundles.insert(found, Bundle{type, {}});
    found->parts.push_back(part);
  }
  return bundles;
}

// What a copy of values from one place on the device to another takes.
void ShardedWeights::copy(std::string_view label, std::int64_t count, DType from, DType to) {
  device_.run(
      {.kind = OpKind::kCast, .label = label, .count = count, .dtype = from, .to_dtype = to},
      [] {});
}

void ShardedWeights::gather(Unit& unit) {
  if (unit.is_gathered) return;
  unit.is_gathered = true;
  for (const Bundle& bundle : bundles_of(unit.parts, plan_.param, false)) gather(bundle);
}

void ShardedWeights::gather(const Bundle& bundle) {
  const std::int64_t piece = bundle.piece();
  Tensor flat = device_.allocate({piece * plan_.pieces}, bundle.wire, "fsdp.gathered",
                                 Lifetime::kPassing, BlockUse::kParameter);
  const std::span<float> all = flat.host();
  const auto piece_size = static_cast<std::size_t>(piece);
  const auto own = [&] {
    return all.subspan(static_cast<std::size_t>(plan_.piece()) * piece_size, piece_size);
  };
  std::size_t at = 0;
  for (const Part* part : bundle.parts) {
    const auto padded = static_cast<std::size_t>(part->shard.padded_elements());
    copy(part->rows.name, part->shard.padded_elements(), part->dtype, bundle.wire);
    if (device_.executes()) {
      const auto to = own().subspan(at, padded);
      const auto rows = values_of(part->rows.value);
      std::ranges::fill(std::ranges::copy(rows, to.begin()).out, to.end(), 0.0F);
    }
    at += padded;
  }
  const std::string& label = bundle.parts.front()->rows.name;
  group_.all_gather(device_.executes() ? CollectiveBuffer(own(), bundle.wire)
                                       : CollectiveBuffer(piece, bundle.wire),
                    CollectiveBuffer(flat), label);
  at = 0;
  for (Part* part : bundle.parts) {
    Tensor& value = part->whole->value;
    value = device_.allocate(part->shape, bundle.wire, part->rows.name, Lifetime::kPassing,
                             BlockUse::kParameter);
    copy(part->rows.name, value.count(), bundle.wire, bundle.wire);
    if (device_.executes()) {
      const std::span<float> whole = value.host();
      for (int r = 0; r < plan_.pieces; ++r) {
        const RowShard shard = row_shard(part->shape, r, plan_.pieces);
        const auto rows =
            std::span<const float>(all).subspan(static_cast<std::size_t>(r) * piece_size + at,
                                                static_cast<std::size_t>(shard.elements()));
        std::ranges::copy(rows, whole.begin() + shard.first());
      }
    }
    at += static_cast<std::size_t>(part->shard.padded_elements());
  }
}

void ShardedWeights::free(Unit& unit) {
  if (!unit.is_gathered) return;
  unit.is_gathered = false;
  for (Part* part : unit.parts) part->whole->value = {};
}

void ShardedWeights::reduce(Unit& unit) {
  std::vector<Part*> with_gradient;
  for (Part* part : unit.parts)
    if (!part->whole->grad.empty()) with_gradient.push_back(part);
  for (const Bundle& bundle : bundles_of(with_gradient, plan_.reduce, true)) reduce(bundle);
}

void ShardedWeights::reduce(const Bundle& bundle) {
  const std::int64_t piece = bundle.piece();
  const auto piece_size = static_cast<std::size_t>(piece);
  Tensor flat = device_.allocate({piece * plan_.pieces}, bundle.wire, "fsdp.gradients",
                                 Lifetime::kPassing, BlockUse::kGradient);
  const std::span<float> all = flat.host();
  std::ranges::fill(all, 0.0F);
  std::size_t at = 0;
  for (Part* part : bundle.parts) {
    Tensor& gradient = part->whole->grad;
    copy(part->rows.name, gradient.count(), gradient.dtype(), bundle.wire);
    if (device_.executes())
      for (int r = 0; r < plan_.pieces; ++r) {
        const RowShard shard = row_shard(part->shape, r, plan_.pieces);
        const auto rows = values_of(gradient).subspan(static_cast<std::size_t>(shard.first()),
                                                      static_cast<std::size_t>(shard.elements()));
        std::ranges::copy(rows, all.begin() + static_cast<std::ptrdiff_t>(
                                                  static_cast<std::size_t>(r) * piece_size + at));
      }
    gradient = {};
    at += static_cast<std::size_t>(part->shard.padded_elements());
  }
  const std::string& label = bundle.parts.front()->rows.name;
  Tensor own = device_.allocate({piece}, bundle.wire, "fsdp.gradient_rows", Lifetime::kPassing,
                                BlockUse::kGradient);
  group_.reduce_scatter(CollectiveBuffer(flat), CollectiveBuffer(own), Reduce::kAverage, label);
  if (plan_.copies > 1) copies_.all_reduce(CollectiveBuffer(own), Reduce::kAverage, label);
  at = 0;
  for (Part* part : bundle.parts) {
    if (part->shard.count > 0)
      add_gradient(
          *part, device_.executes()
                     ? values_of(own).subspan(at, static_cast<std::size_t>(part->shard.elements()))
                     : std::span<const float>());
    at += static_cast<std::size_t>(part->shard.padded_elements());
  }
}

// To those of the step's micro-batches before.
void ShardedWeights::add_gradient(Part& part, std::span<const float> reduced) {
  Parameter& rows = part.rows;
  const bool is_first = rows.grad.empty();
  const DType dtype = part.dtype;
  if (is_first)
    rows.grad = device_.allocate(rows.value.shape(), dtype, rows.name, Lifetime::kPassing,
                                 BlockUse::kGradient);
  device_.run({.kind = OpKind::kGradScale,
               .label = rows.name,
               .count = rows.grad.count(),
               .tensors = 1,
               .dtype = dtype},
              [&] {
                const std::span<float> sum = rows.grad.host();
                for (std::size_t i = 0; i < sum.size(); ++i)
                  sum[i] = round_to(dtype, is_first ? reduced[i] : sum[i] + reduced[i]);
              });
}

}  // namespace nb
