#include "harness/predict/sweep.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace nb {
namespace {

constexpr std::size_t kMostPoints = 1000;

struct Axis {
  std::string field;
  std::vector<std::string> values;
};

Result<Axis> axis_of(const std::string& spec) {
  const std::size_t equals = spec.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == spec.size())
    return bad_input(fmt::format(
        "sweep: \"{}\" is not FIELD=a,b,c: cards=1,2,4,8 or device=ascend_910b3,h100_sxm", spec));
  Axis axis{spec.substr(0, equals), {}};
  for (std::size_t at = equals + 1; at <= spec.size();) {
    // Entries of an allocator's options are separated by commas: its values by semicolons.
    const char comma = axis.field.starts_with("alloc") ? ';' : ',';
    const std::size_t end = std::min(spec.find(comma, at), spec.size());
    if (end == at)
      return bad_input(fmt::format("sweep: \"{}\" has an empty value; write FIELD=a,b,c", spec));
    axis.values.push_back(spec.substr(at, end - at));
    at = end + 1;
  }
  return axis;
}

// Of Megatron's models beside the fields of a request.
constexpr std::array<std::string_view, 4> kCuts = {"tp", "pp", "vpp", "optimizer"};

const std::vector<std::string_view>& megatron_fields() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all(kCuts.begin(), kCuts.end());
    for (const Field& field : megatron_run_flags()) all.push_back(field.name);
    return all;
  }();
  return names;
}

std::string* cut_of(MegatronFlags& flags, std::string field) {
  std::ranges::replace(field, '-', '_');
  const std::array<std::string*, 4> texts = {&flags.tp, &flags.pp, &flags.vpp, &flags.optimizer};
  const auto found = std::ranges::find(kCuts, field);
  if (found != kCuts.end()) return texts[static_cast<std::size_t>(found - kCuts.begin())];
  return std::ranges::count(megatron_fields(), field) > 0 ? &flags.run[field] : nullptr;
}

Result<void> ask_point(SweepPoint& point) {
  NB_TRY(const bool is_megatron, asks_megatron(point.request, point.megatron_flags));
  if (is_megatron) {
    NB_TRY(point.megatron, ask_megatron(point.request, point.megatron_flags));
    return {};
  }
  NB_TRY(point.subject, subject_of(point.request));
  NB_TRY(point.prediction,
         predict(point.subject.settings, point.subject.profile, point.subject.between_nodes));
  return {};
}

Result<void> add_points(const PredictRequest& request, const MegatronFlags& flags,
                        const std::vector<Axis>& axes, std::vector<std::string> values,
                        Sweep& sweep) {
  if (values.size() == axes.size()) {
    SweepPoint point{std::move(values), request, flags, {}, {}, {}, {}};
    if (const auto asked = ask_point(point); !asked) point.error = asked.error().message;
    sweep.points.push_back(std::move(point));
    return {};
  }
  const Axis& axis = axes[values.size()];
  for (const std::string& value : axis.values) {
    PredictRequest next = request;
    MegatronFlags next_flags = flags;
    if (std::string* cut = cut_of(next_flags, axis.field)) {
      *cut = value;
    } else {
      NB_TRY(next, with_entry(request, axis.field, value, megatron_fields()));
    }
    std::vector<std::string> longer = values;
    longer.push_back(value);
    NB_TRY_VOID(add_points(next, next_flags, axes, std::move(longer), sweep));
  }
  return {};
}

}  // namespace

double SweepPoint::throughput_tok_s() const {
  if (!megatron) return prediction.throughput_tok_s;
  return megatron->step.rate_tok_s_card * static_cast<double>(megatron->job.run.ranks);
}

Result<Sweep> run_sweep(const PredictRequest& request, const std::vector<std::string>& specs,
                        const MegatronFlags& flags) {
  std::vector<Axis> axes;
  Sweep sweep;
  std::size_t count = 1;
  for (const std::string& spec : specs) {
    NB_TRY(const Axis axis, axis_of(spec));
    if (std::ranges::count(sweep.fields, axis.field) > 0)
      return bad_input(fmt::format("sweep: {} is swept twice; list all values once", axis.field));
    count *= axis.values.size();
    sweep.fields.push_back(axis.field);
    axes.push_back(axis);
  }
  if (count > kMostPoints)
    return bad_input(
        fmt::format("sweep: {} points are more than {}; sweep fewer values", count, kMostPoints));
  NB_TRY_VOID(add_points(request, flags, axes, {}, sweep));
  // Nothing at all was answered: what is wrong is no matter of the swept values.
  if (std::ranges::all_of(sweep.points, [](const SweepPoint& one) { return !one.error.empty(); }))
    return bad_input(fmt::format("sweep: {}: {}",
                                 point_text(sweep, sweep.points.front().values, axes.size()),
                                 sweep.points.front().error));
  return sweep;
}

std::string point_text(const Sweep& sweep, const std::vector<std::string>& values,
                       std::size_t count) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < count; ++i)
    words.push_back(fmt::format("{}={}", sweep.fields[i], values[i]));
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace nb
