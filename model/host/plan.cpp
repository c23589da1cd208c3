#include "model/host/plan.hpp"

#include <algorithm>
#include <chrono>
#include <type_traits>
#include <utility>
#include <variant>

#include "harness/base/check.hpp"
#include "model/device/device.hpp"
#include "model/kernels/policy.hpp"

namespace nb::host {
namespace {

// bf16 numbers can lie in two bytes where the policy rounds to them before anybody reads them, and
// the products read that format.
bool may_be_bf16(const NumericsPolicy& n) {
  const MatmulPolicy forward = n.linear(), gradient = n.weight_gradient_matmul();
  return n.storage == DType::kBf16 && forward.output == DType::kBf16 &&
         forward.accumulation != Accumulation::kHostBlas && takes_bf16(forward) &&
         takes_bf16(n.matmul()) && takes_bf16(gradient);
}

template <class T, class... Others>
constexpr bool kIsOneOf = (std::is_same_v<T, Others> || ...);

// How many of an op's results are activations, in the storage dtype: the first, the three gradients
// of attention; none of a parameter's gradients and of the losses.
template <class T>
constexpr std::size_t kActivations =
    std::is_same_v<T, AttentionBackward> ? 3
    : kIsOneOf<T, EmbeddingBackward, LinearBackwardWeight, ScaleBackwardFactor,
               ApplyGainBackwardGain, AddBiasBackward, LayerNormBackwardWeights, CrossEntropy>
        ? 0
        : 1;

// Every operand that is there; an input that is given twice counts once.
template <class F>
void each_in(const Op& op, const F& f) {
  std::visit(
      [&](const auto& operands) {
        const auto all = operands.in();
        for (auto in = all.begin(); in != all.end(); ++in) {
          const auto is_same = [&](const Values* other) { return *other == **in; };
          if (**in != nullptr && std::none_of(all.begin(), in, is_same)) f(**in);
        }
      },
      op.operands);
}
template <class F>
void each_out(const Op& op, const F& f) {
  std::visit(
      [&](const auto& operands) {
        for (const Values* out : operands.out())
          if (*out != nullptr) f(*out);
      },
      op.operands);
}

double size(const Values& values) {
  return values == nullptr ? 0.0 : static_cast<double>(values->count());
}

// Multiplications and additions of a product, and what writing into a cache is worth.
template <class T>
double extra_work(const T&) {
  return 0;
}
double extra_work(const Product& op) { return 2 * size(op.y) * static_cast<double>(op.x->cols); }
double extra_work(const LinearBackwardWeight& op) {
  return 2 * size(op.dw) * static_cast<double>(op.dy->rows);
}

constexpr double kWorkPerValue = 8;

double extra_work(const KvCacheAppend& op) { return kWorkPerValue * (size(op.k) + size(op.v)); }

// Work of an op, to share the time of a step.
double work_of(const Op& op) {
  double work = std::visit([](const auto& operands) { return extra_work(operands); }, op.operands);
  each_out(op, [&](const Values& out) { work += kWorkPerValue * size(out); });
  return work;
}

const char* g_pattern_off = nullptr;

}  // namespace

void set_pattern_off(const char* name) { g_pattern_off = name; }

Plan::Plan(std::vector<Op> ops, bool fuses) : ops_(std::move(ops)) {
  needed_.resize(ops_.size());
  taken_.resize(ops_.size());
  find_uses();
  find_needed();
  if (fuses) {
    for (const Pattern& pattern : patterns()) {
      if (g_pattern_off != nullptr && std::string_view(g_pattern_off) == pattern.name) continue;
      for (std::int32_t i = 0; i < size(); ++i)
        if (op(i).kind == pattern.last && is_free(i)) pattern.match(*this, i);
    }
  }
  take_the_rest();
  std::sort(steps_.begin(), steps_.end(),
            [](const Step& a, const Step& b) { return a.ops.back() < b.ops.back(); });
  for (Use& use : uses_) {
    use.may_be_bf16 = use.may_be_bf16 && fuses;
    use.readers_left = static_cast<std::int32_t>(use.readers.size());
  }
  choose_formats();
}

Plan::Use* Plan::use(const Values& values) {
  return &uses_[static_cast<std::size_t>(values->slot)];
}
const Plan::Use* Plan::use(const Values& values) const {
  return &uses_[static_cast<std::size_t>(values->slot)];
}

void Plan::find_uses() {
  const auto slot = [&](const Values& values) -> Use& {
    if (values->slot < 0 || static_cast<std::size_t>(values->slot) >= uses_.size() ||
        uses_[static_cast<std::size_t>(values->slot)].values != values) {
      values->slot = static_cast<std::int32_t>(uses_.size());
      uses_.push_back({});
      uses_.back().values = values;
    }
    return *use(values);
  };
  for (std::int32_t i = 0; i < size(); ++i) {
    std::visit(
        [&]<class T>(const T& operands) {
          for (const Values* in : operands.in())
            if (*in != nullptr) ++slot(*in).references;
          std::size_t k = 0;
          for (const Values* values : operands.out()) {
            const bool is_activation = k++ < kActivations<T>;
            if (*values == nullptr) continue;
            Use& out = slot(*values);
            ++out.references;
            out.producer = i;
            out.may_be_bf16 = is_activation && may_be_bf16(*op(i).numerics);
          }
        },
        op(i).operands);
  }
  for (Use& use : uses_) use.is_held = use.values.use_count() > use.references + 1;
}

void Plan::find_needed() {
  for (std::int32_t i = size(); i-- > 0;) {
    bool needed = op(i).is<KvCacheAppend>();
    each_out(op(i), [&](const Values& out) {
      needed = needed || use(out)->is_held || !use(out)->readers.empty();
    });
    needed_[static_cast<std::size_t>(i)] = needed ? 1 : 0;
    if (needed) each_in(op(i), [&](const Values& in) { use(in)->readers.push_back(i); });
  }
  for (Use& use : uses_) std::reverse(use.readers.begin(), use.readers.end());
}

bool Plan::is_free(std::int32_t index) const {
  const auto i = static_cast<std::size_t>(index);
  return index >= 0 && needed_[i] != 0 && taken_[i] == 0;
}

std::int32_t Plan::producer(const Values& values) const { return use(values)->producer; }
const std::vector<std::int32_t>& Plan::readers(const Values& values) const {
  return use(values)->readers;
}
bool Plan::is_held(const Values& values) const { return use(values)->is_held; }

std::int32_t Plan::made_by(const Values& values, OpKind kind) const {
  const std::int32_t at = producer(values);
  return at >= 0 && op(at).kind == kind && is_free(at) ? at : -1;
}

std::int32_t Plan::only_for(std::int32_t reader, const Values& values, OpKind kind) const {
  const std::vector<std::int32_t>& all = readers(values);
  if (is_held(values) || all.size() != 1 || all[0] != reader) return -1;
  return made_by(values, kind);
}

bool Plan::is_written_between(const Values& values, std::int32_t after, std::int32_t until) const {
  bool is_written = false;
  for (std::int32_t i = after + 1; i <= until; ++i)
    each_out(op(i), [&](const Values& out) { is_written = is_written || out == values; });
  return is_written;
}

void Plan::take(Step step) {
  for (const std::int32_t i : step.ops) {
    NB_CHECK(is_free(i), "[host] op {} is taken twice", i);
    taken_[static_cast<std::size_t>(i)] = 1;
  }
  steps_.push_back(std::move(step));
}

void Plan::take_the_rest() {
  for (std::int32_t i = 0; i < size(); ++i)
    if (is_free(i)) take(single(i));
}

void Plan::needs_fp32(const Values& values) {
  if (values != nullptr) use(values)->needs_fp32 = true;
}

std::int32_t Plan::group_of(std::int32_t slot) {
  Use& one = uses_[static_cast<std::size_t>(slot)];
  if (one.group < 0 || one.group == slot) return slot;
  return one.group = group_of(one.group);
}

void Plan::alike(const Values& a, const Values& b) {
  uses_[static_cast<std::size_t>(group_of(a->slot))].group = group_of(b->slot);
}

void Plan::choose_formats() {
  for (const Step& step : steps_)
    if (step.formats != nullptr) step.formats(*this, step);
  std::vector<char> all_bf16(uses_.size(), 1);
  const auto group = [&](const Use& one) {
    return static_cast<std::size_t>(group_of(one.values->slot));
  };
  for (const Use& one : uses_) {
    const bool is_there = one.producer < 0;  // made before, as it is
    const bool fits =
        is_there ? one.values->is_bf16 : one.may_be_bf16 && !one.needs_fp32 && !one.is_held;
    if (!fits) all_bf16[group(one)] = 0;
  }
  for (Use& one : uses_) one.may_be_bf16 = all_bf16[group(one)] != 0;
}

bool Plan::is_wanted(const Values& values, const Step& step) const {
  if (values == nullptr) return false;
  const Use& one = *use(values);
  std::int32_t others = one.readers_left;
  for (const std::int32_t i : step.ops)
    if (std::find(one.readers.begin(), one.readers.end(), i) != one.readers.end()) --others;
  return one.is_held || others > 0;
}
bool Plan::is_bf16(const Values& values) const { return use(values)->may_be_bf16; }

AnyMatrix Plan::make(const Values& values) {
  if (values->buffer == nullptr) values->device.make_host_buffer(*values, is_bf16(values));
  ++values->changes;
  return values->any_matrix_to_write();
}

Matrix Plan::make_fp32(const Values& values) {
  if (values->buffer == nullptr) values->device.make_host_buffer(*values, false);
  ++values->changes;
  return values->matrix_to_write();
}

Plan::InAndOut Plan::make_in_place(const Values& out, const Values& in) {
  const bool is_last = !use(in)->is_held && use(in)->readers_left == 1;
  if (is_last && in->is_bf16 == is_bf16(out)) {
    out->buffer = std::exchange(in->buffer, nullptr);
    out->is_bf16 = in->is_bf16;
    const AnyMatrix numbers = make(out);
    return {numbers, numbers};
  }
  return {in->any_matrix(), make(out)};
}

AnyMatrix Plan::make_copy(const Values& out, const Values& in) {
  const auto [from, to] = make_in_place(out, in);
  NB_CHECK((from.bf16 != nullptr) == (to.bf16 != nullptr), "[host] a copy in another format");
  if (from.bf16 != nullptr && from.bf16 != to.bf16)
    std::copy_n(from.bf16, from.rows * from.stride, to.bf16);
  else if (from.fp32 != to.fp32)
    std::copy_n(from.fp32, from.rows * from.stride, to.fp32);
  return to;
}

void Plan::run_step(const Step& step, HostProfile* profile) {
  const auto start = HostProfile::Clock::now();
  step.run(*this, step);
  if (profile != nullptr) {
    const auto ns = static_cast<double>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(HostProfile::Clock::now() - start)
            .count());
    double total = 0;
    for (const std::int32_t i : step.ops) total += work_of(op(i));
    for (const std::int32_t i : step.ops)
      profile->add_time(op(i).kind, op(i).label,
                        static_cast<std::int64_t>(ns * work_of(op(i)) / std::max(total, 1.0)));
  }
  for (const std::int32_t i : step.ops) {
    each_in(op(i), [&](const Values& in) {
      Use& used = *use(in);
      if (--used.readers_left == 0 && !used.is_held && used.producer >= 0)
        used.values.reset();  // the op still holds it
    });
    each_out(op(i), [&](const Values& out) {
      Use& made = *use(out);
      if (made.producer == i) out->is_pending = false;
      if (!made.is_held && made.readers_left == 0) made.values.reset();
    });
    ops_[static_cast<std::size_t>(i)].operands = Nothing();
  }
}

// What a failed run would have written must not be read.
void Plan::abandon() {
  for (const Op& one : ops_)
    each_out(one, [](const Values& out) {
      if (out->buffer != nullptr) out->device.give_back_host(std::exchange(out->buffer, nullptr));
    });
}

void Plan::run(HostProfile* profile) {
  try {
    for (const Step& step : steps_) run_step(step, profile);
  } catch (...) {
    abandon();
    throw;
  }
  for (const Op& one : ops_)  // those that nobody needed
    each_out(one, [](const Values& out) { out->is_pending = false; });
}

}  // namespace nb::host
