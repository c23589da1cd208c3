// The right operand of a product whose k lies across the rows of both sources: its panels are made
// by the tasks that multiply them, a block of steps ahead, each unit by the task that comes to it
// first. Internal to model/kernels.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "model/kernels/fetch_ahead.hpp"
#include "model/kernels/gemm.hpp"
#include "model/kernels/gemm_plan.hpp"

namespace nb::kernels {

// Of a whole product, shared by its tasks.
class RightPanels {
 public:
  // source (k, n); group: columns of a task, a multiple of a panel's.
  RightPanels(const GemmFormat& format, ConstNumbers source, std::int64_t group,
              std::uint32_t* panels);

 private:
  friend class PanelShare;
  // Columns of a group over a block of inner::kGemmSteps.
  struct Part {
    std::atomic<int> taken{0}, made{0};
  };

  GemmFormat format_;
  ConstNumbers source_;
  std::int64_t group_ = 0, steps_ = 0, unit_steps_ = 0, panel_words_ = 0;
  std::uint32_t* panels_ = nullptr;
  std::int64_t blocks_ = 0;
  std::vector<Part> parts_;
};

// What one task makes of a part, unit after unit: on the way of its tiles, which have fetched the
// unit's source before, or at once where a tile cannot.
class PanelShare {
 public:
  PanelShare() = default;  // nothing to make
  // col: the task's first. step: the block's first. calls: of tiles among which the units are to
  // be spread.
  PanelShare(RightPanels& panels, std::int64_t col, std::int64_t step, std::int64_t calls);

  // Whether a unit is on its way or not begun.
  bool makes() const { return part_ != nullptr && (is_on_way_ || !is_done()); }
  // Before each tile: gives it what is due, and the source of the unit after it.
  void before_tile(std::int64_t steps, inner::Fetch& fetch, inner::Conversion& conversion);
  // Makes what nobody has begun and waits until the part is whole.
  void finish(inner::Conversion& conversion);

 private:
  GemmStage columns_and_steps() const;  // of the unit that is taken
  bool is_done() const { return unit_ >= units_; }
  void take();
  void begin(inner::Conversion& conversion);
  Runs source_of(const GemmStage& unit) const;
  void pack(const GemmStage& unit) const;
  void end_unit();

  RightPanels* panels_ = nullptr;
  RightPanels::Part* part_ = nullptr;
  std::int64_t col_ = 0, step_ = 0;
  int units_ = 0, unit_ = 0;  // the one that is taken but not begun
  bool is_on_way_ = false;    // one is in the hands of tiles:
  GemmStage on_way_;
  std::int64_t begun_ = 0, calls_ = 1, called_ = 0;
};

}  // namespace nb::kernels
