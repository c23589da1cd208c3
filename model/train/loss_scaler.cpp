#include "model/train/loss_scaler.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace nb {
namespace {

constexpr double kGrowth = 2, kBackoff = 0.5, kSmallest = 1;
constexpr std::int64_t kGrowthInterval = 2000;

}  // namespace

bool LossScaler::update(bool is_finite) {
  ++steps_;
  const bool grows = is_finite && made_ + 1 == kGrowthInterval;
  if (!is_finite) ++skipped_;
  made_ = is_finite && !grows ? made_ + 1 : 0;
  if (grows || !is_finite) changes_.push_back({steps_, scale() * (is_finite ? kGrowth : kBackoff)});
  return scale() >= kSmallest;
}

double LossScaler::scale_at(std::int64_t step) const {
  double scale = kFirst;
  for (const Change& change : changes_)
    if (change.step <= step) scale = change.scale;
  return scale;
}

Json LossScaler::state() const {
  Json changes = Json::array();
  for (const Change& change : changes_) changes.push_back({change.step, change.scale});
  return {
      {"changes", std::move(changes)}, {"steps", steps_}, {"made", made_}, {"skipped", skipped_}};
}

Result<void> LossScaler::restore(const Json& state) {
  try {
    std::vector<Change> changes;
    for (const Json& change : state.at("changes"))
      changes.push_back({change.at(0).get<std::int64_t>(), change.at(1).get<double>()});
    if (changes.empty()) return bad_input("loss scale: damaged (no scale)");
    state.at("steps").get_to(steps_);
    state.at("made").get_to(made_);
    state.at("skipped").get_to(skipped_);
    changes_ = std::move(changes);
  } catch (const Json::exception& e) {
    return bad_input(fmt::format("loss scale: damaged ({})", e.what()));
  }
  return {};
}

double loss_scale_of(const Device& device) {
  return device.numerics().loss_scaling == LossScaling::kDynamic ? LossScaler::kFirst : 1;
}

Result<void> check_unscaled(const Device& device, std::string_view what) {
  if (device.numerics().loss_scaling == LossScaling::kNone) return {};
  return bad_input(
      fmt::format("{} asks for loss scaling, with which {} is not trained here; use a device with "
                  "bf16 or fp32 storage",
                  device.profile().name(), what));
}

}  // namespace nb
