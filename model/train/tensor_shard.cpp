#include "model/train/tensor_shard.hpp"

#include <algorithm>
#include <utility>

#include "harness/base/check.hpp"
#include "model/autograd/tape.hpp"
#include "model/ops/elementwise.hpp"
#include "model/ops/model_parallel.hpp"
#include "model/ops/rows.hpp"
#include "model/train/tensor_cuts.hpp"

namespace nb {

TensorShard::TensorShard(Decoder& whole, const TensorPlan& plan)
    : device_(whole.device()),
      plan_(plan),
      group_(device_, plan.part(), plan.parts),
      copies_(device_, plan.copy(), plan.copies) {
  NB_CHECK(whole.adapters().parameters().empty(), "[tensor_shard] adapters are not cut");
  std::vector<Shape> shapes;
  for (Parameter& p : whole.parameters()) {
    shapes.push_back(p.value.shape());
    p.value = plan.rank == 0 ? p.value.values_only() : Tensor();
  }
  device_.empty_cache();
  part_ = std::make_unique<Decoder>(part_config(whole.config(), plan.part(), plan.parts), device_);
  part_->weights().hooks = this;
  NB_CHECK(part_->parameters().size() == shapes.size(), "[tensor_shard] {} of {} parameters",
           part_->parameters().size(), shapes.size());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Parameter& p = part_->parameters()[i];
    NB_CHECK(p.name == whole.parameters()[i].name, "[tensor_shard] {} for {}", p.name,
             whole.parameters()[i].name);
    const Shape own = part_shape(p.name, shapes[i], plan.parts);
    // Of these a part has the rows of all tokens, which its config does not know.
    if (p.role == ParameterRole::kValueEmbedding)
      p.value =
          device_.allocate(own, p.value.dtype(), p.name, Lifetime::kPassing, BlockUse::kParameter);
    NB_CHECK(p.value.shape() == own, "[tensor_shard] {} is cut to {}, not {}", p.name,
             p.value.shape().text(), own.text());
    trained_.push_back({&p, shapes[i], cut_dimension(p.name) == std::size_t{1}});
  }
  device_.reset_memory_peaks();
}

TensorShard::~TensorShard() = default;

void TensorShard::sum_row_gradients() {
  if (!plan_.is_sequence_parallel || !plan_.sums_row_gradients) return;
  for (const ParameterRows& one : trained_)
    if (is_read_by_rows(one.rows->name) && !one.rows->grad.empty())
      group_.all_reduce(CollectiveBuffer(one.rows->grad), Reduce::kSum, one.rows->name);
}

void TensorShard::average_gradients() {
  if (plan_.copies == 1) return;
  for (const ParameterRows& one : trained_) {
    CollectiveBuffer gradient(one.rows->grad);
    gradient.dtype = plan_.reduce.value_or(gradient.dtype);
    copies_.all_reduce(gradient, Reduce::kAverage, one.rows->name);
  }
}

std::vector<OwnGradient> TensorShard::own_gradients(
    const std::function<bool(const std::string&)>& counts) {
  std::vector<OwnGradient> own;
  for (const ParameterRows& one : trained_) {
    const std::string& name = one.rows->name;
    const bool is_alone = cut_dimension(name) || plan_.part() == 0;
    if (!one.rows->grad.empty())
      own.push_back({&one.rows->grad, plan_.copy() == 0 && is_alone && counts(name)});
  }
  return own;
}

std::vector<ParameterRows> TensorShard::own() const {
  std::vector<ParameterRows> own = trained_;
  std::erase_if(own, [](const ParameterRows& one) { return !one.rows->is_trained; });
  return own;
}

void TensorShard::begin(Communicator& world) {
  NB_CHECK(world.rank() == plan_.rank && world.size() == plan_.ranks(),
           "[tensor_shard] rank {} of {} begins as {} of {}", plan_.rank, plan_.ranks(),
           world.rank(), world.size());
  if (plan_.parts == plan_.ranks()) return group_.lend(&world);
  std::vector<std::vector<int>> groups(static_cast<std::size_t>(plan_.ranks() / plan_.parts)),
      copies(static_cast<std::size_t>(plan_.parts));
  for (int r = 0; r < plan_.ranks(); ++r) {
    groups[static_cast<std::size_t>(r / plan_.parts)].push_back(r);
    copies[static_cast<std::size_t>(r % plan_.parts)].push_back(r);
  }
  own_group_ = world.split(groups, "tp");
  group_.lend(own_group_.get());
  if (plan_.stages > 1) return;
  own_copies_ = world.split(copies, "dp");
  copies_.lend(own_copies_.get());
}

void TensorShard::end() {
  group_.lend(nullptr);
  copies_.lend(nullptr);
  own_group_.reset();
  own_copies_.reset();
}

void TensorShard::take(Decoder& whole) {
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    const auto from = std::as_const(whole.parameters()[i].value).host();
    Parameter& p = *trained_[i].rows;
    if (p.value.empty()) continue;
    const auto to = p.value.host();
    std::ranges::fill(to, 0.0F);  // padding stays so: its gradient is zero
    each_run(p.name, trained_[i].whole, p.value.shape(), plan_.part(),
             [&](std::size_t at, std::size_t part_at, std::size_t count) {
               std::ranges::copy(from.subspan(at, count), to.subspan(part_at, count).begin());
             });
  }
}

void TensorShard::give(Decoder& whole) const {
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    const Parameter& p = *trained_[i].rows;
    if (p.value.empty() || (!cut_dimension(p.name) && plan_.part() > 0)) continue;
    const auto from = p.value.host();
    const auto to = whole.parameters()[i].value.host();
    each_run(p.name, trained_[i].whole, p.value.shape(), plan_.part(),
             [&](std::size_t at, std::size_t part_at, std::size_t count) {
               std::ranges::copy(from.subspan(part_at, count), to.subspan(at, count).begin());
             });
  }
}

std::vector<std::string> TensorShard::differing(const TensorShard& other) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    const Parameter &p = *trained_[i].rows, &q = *other.trained_[i].rows;
    if (p.value.empty() || q.value.empty()) continue;
    if (cut_dimension(p.name) && plan_.part() != other.plan_.part()) continue;
    if (!std::ranges::equal(std::as_bytes(p.value.host()), std::as_bytes(q.value.host())))
      names.push_back(p.name);
  }
  return names;
}

// Ids of other ranks' tokens read the first row, and give zeros in its place.
Tensor TensorShard::embedding(Parameter& table, std::span<const int> ids, std::int64_t rows,
                              bool is_whole) {
  const std::int64_t first = first_token(table), tokens = table.value.shape()[0];
  std::vector<int> local(ids.size());
  Tensor is_own = device_.allocate({rows, 1}, device_.numerics().storage, "wte.own");
  const std::span<float> own = is_own.host();  // empty on a dry device
  for (std::size_t i = 0; i < ids.size() && i < own.size(); ++i) {
    const std::int64_t id = ids[i] - first;
    const bool is_here = id >= 0 && id < tokens;
    local[i] = is_here ? static_cast<int>(id) : 0;
    own[i] = is_here ? 1.0F : 0.0F;
  }
  Tensor y = ops::gate_heads(ops::embedding(table, local, rows), is_own, table.name);
  if (is_whole)
    group_.all_reduce(CollectiveBuffer(y), Reduce::kSum, y.name());
  else
    after_part_sum(y);
  return y;
}

std::int64_t TensorShard::rows_here(std::int64_t rows) const {
  return plan_.is_sequence_parallel ? rows / plan_.parts : rows;
}

Tensor TensorShard::own_rows(const Tensor& x) {
  return plan_.is_sequence_parallel ? ops::own_rows(x, group_) : x;
}

Tensor TensorShard::before_columns(const Tensor& x) {
  if (plan_.is_sequence_parallel) return ops::all_rows(x, group_);
  if (!Tape::wants_gradient(x)) return x;
  Tensor same = x;  // the tape's node is that of all copies
  Tape::record(same, {&same}, {}, [&] {
    return [this, label = std::string(x.name())](const Tensor& dx, const SavedBlocks&) {
      Tensor sum = dx;
      group_.all_reduce(CollectiveBuffer(sum), Reduce::kSum, label);
      return Tape::Gradients{std::move(sum)};
    };
  });
  return same;
}

void TensorShard::after_part_sum(Tensor& y) {
  if (plan_.is_sequence_parallel)
    y = ops::own_rows_of_sum(y, group_);
  else
    group_.all_reduce(CollectiveBuffer(y), Reduce::kSum, y.name());
}

Tensor TensorShard::head_loss(const Tensor& x, Parameter& w, std::span<const int> targets,
                              double scale, const ops::HeadOptions& options) {
  return ops::vocab_head_loss(before_columns(x), w, targets, first_token(w), scale, options,
                              group_);
}

}  // namespace nb
