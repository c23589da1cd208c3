#include "model/kernels/gemm_right.hpp"

#include <algorithm>

#include "model/kernels/gemm_plan.hpp"

namespace nb::kernels {

using inner::kGemmSteps;

constexpr std::int64_t kUnitValues = 4096;  // whole rows of the group: long runs of the source

RightPanels::RightPanels(const GemmFormat& format, ConstAnyMatrix source, std::int64_t group,
                         std::uint32_t* panels)
    : format_(format),
      source_(source),
      group_(group),
      steps_(format.steps(source.rows)),
      unit_steps_(std::clamp<std::int64_t>(
          round_up(kUnitValues / group / format.gemm->values_per_step, 2), 2, kGemmSteps)),
      panel_words_(format.panel_words(source.rows)),
      panels_(panels),
      blocks_(ceil_div(steps_, kGemmSteps)),
      begun_(static_cast<std::size_t>(blocks_ * ceil_div(source.cols, group))) {}

PanelShare::PanelShare(RightPanels& panels, std::int64_t col, std::int64_t step, std::int64_t calls)
    : panels_(&panels), col_(col), step_(step), calls_(calls) {
  begun_ = &panels.begun_[static_cast<std::size_t>(col / panels.group_ * panels.blocks_ +
                                                   step / kGemmSteps)];
  units_ =
      static_cast<int>(ceil_div(std::min(kGemmSteps, panels.steps_ - step), panels.unit_steps_));
}

GemmStage PanelShare::next_unit() const {
  const RightPanels& p = *panels_;
  const std::int64_t step = step_ + *begun_ * p.unit_steps_;
  const std::int64_t end = std::min(p.steps_, step_ + kGemmSteps);
  return {col_, std::min(p.group_, p.source_.cols - col_), step,
          std::min(p.unit_steps_, end - step)};
}

void PanelShare::pack(const GemmStage& unit) const {
  const RightPanels& p = *panels_;
  const inner::Gemm& gemm = *p.format_.gemm;
  const std::int64_t k = unit.first * gemm.values_per_step;
  const std::int64_t count = std::min(unit.steps * gemm.values_per_step, p.source_.rows - k);
  const void* const from = p.source_.at(k, unit.row);
  std::uint32_t* const to =
      p.panels_ + unit.row / gemm.cols * p.panel_words_ + unit.first * gemm.cols;
  if (p.source_.bf16 != nullptr) {
    gemm.pack_panels_of_bf16(static_cast<const std::uint16_t*>(from), p.source_.stride, unit.rows,
                             count, unit.steps, p.format_.swaps_pairs, p.panel_words_, to);
  } else {
    gemm.pack_panels(static_cast<const float*>(from), p.source_.stride, false, unit.rows, count,
                     unit.steps, p.format_.rounding, p.format_.swaps_pairs, p.panel_words_, to);
  }
}

void PanelShare::begin(inner::Conversion& conversion) {
  const RightPanels& p = *panels_;
  const inner::Gemm& gemm = *p.format_.gemm;
  const GemmStage unit = next_unit();
  const std::int64_t k = unit.first * gemm.values_per_step;
  ++*begun_;
  const bool is_whole =
      unit.rows % gemm.cols == 0 && k + unit.steps * gemm.values_per_step <= p.source_.rows;
  if (!gemm.converts || !is_whole || p.source_.fp32 == nullptr) {
    return pack(unit);
  }
  is_on_way_ = true;
  on_way_ = unit;
  const std::int64_t row = p.source_.stride * p.source_.value_bytes();
  const std::int64_t next = gemm.values_per_step * row, panel = gemm.cols * 4;
  conversion = {.what = inner::Converts::kAcross,
                .from = static_cast<const char*>(p.source_.at(k, unit.row)),
                .other = panel / 2,
                .next = next,
                .jump = panel - (unit.steps - 1) * next,
                .to = p.panels_ + unit.row / gemm.cols * p.panel_words_ + unit.first * gemm.cols,
                .to_next = gemm.cols,
                .to_jump = p.panel_words_ - (unit.steps - 1) * gemm.cols,
                .run = unit.steps,
                .in_run = unit.steps,
                .left = unit.steps * (unit.rows / gemm.cols),
                .second = row};
}

void PanelShare::before_tile(std::int64_t steps, inner::Fetch& fetch,
                             inner::Conversion& conversion) {
  if (panels_ == nullptr) return;
  const bool begins = called_ == 0;
  const std::int64_t due = units_ * called_++;
  if (is_on_way_) {
    if (conversion.left > 0) return;
    is_on_way_ = false;
    if (is_done()) fetch = {};
  }
  if (is_done()) return;
  if (!begins && *begun_ * calls_ >= due) return;
  while (!is_done() && !is_on_way_ && *begun_ * calls_ < due) begin(conversion);
  fetch = {};
  if (is_done()) return;
  fetch = fetch_ahead(*panels_->format_.gemm, source_of(next_unit()),
                      steps * std::max<std::int64_t>(1, calls_ / units_));
}

Runs PanelShare::source_of(const GemmStage& unit) const {
  const ConstAnyMatrix& source = panels_->source_;
  const std::int64_t values_per_step = panels_->format_.gemm->values_per_step;
  const std::int64_t k = unit.first * values_per_step;
  return {source.at(k, unit.row), std::min(unit.steps * values_per_step, source.rows - k),
          unit.rows, source.stride, source.value_bytes()};
}

void PanelShare::finish(inner::Conversion& conversion) {
  if (panels_ == nullptr) return;
  if (is_on_way_) {
    if (conversion.left > 0) pack(on_way_);
    conversion.left = 0;
    is_on_way_ = false;
  }
  while (!is_done()) {
    const GemmStage now = next_unit();
    ++*begun_;
    if (!is_done()) fetch_now(source_of(next_unit()));
    pack(now);
  }
}

}  // namespace nb::kernels
