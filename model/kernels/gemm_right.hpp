// The right operand of a product whose k lies across the rows of both sources. Internal to
// model/kernels.
//
// 1. Each thread makes the panels that its tasks multiply, and keeps them for its later tasks.
//    Panels of another core are as far away as memory where cores share no cache, and a thread
//    that waited for them would wait for a core that may not be running.
// 2. Panels are made a block of kGemmSteps steps ahead of the tiles that multiply them, unit by
//    unit, as LeftWords makes its words.
#pragma once

#include <cstdint>
#include <vector>

#include "model/kernels/fetch_ahead.hpp"
#include "model/kernels/gemm.hpp"
#include "model/kernels/gemm_plan.hpp"

namespace nb::kernels {

// One thread's panels of a whole product, and how far it has come with them.
class RightPanels {
 public:
  // source (k, n); group: columns of a task, a multiple of a panel's.
  RightPanels(const GemmFormat& format, ConstAnyMatrix source, std::int64_t group,
              std::uint32_t* panels);

 private:
  friend class PanelShare;
  GemmFormat format_;
  ConstAnyMatrix source_;
  std::int64_t group_ = 0, steps_ = 0, unit_steps_ = 0, panel_words_ = 0;
  std::uint32_t* panels_ = nullptr;
  std::int64_t blocks_ = 0;
  std::vector<int> begun_;  // units, by group of columns and block of inner::kGemmSteps
};

// A task's share: the units of one block of steps, of the columns of one group, that its thread has
// not made yet.
class PanelShare {
 public:
  PanelShare() = default;  // nothing to make
  // col: the task's first. step: the block's first. calls: of tiles among which the units are to
  // be spread.
  PanelShare(RightPanels& panels, std::int64_t col, std::int64_t step, std::int64_t calls);

  // Whether a unit is on its way or not begun.
  bool makes() const { return panels_ != nullptr && (is_on_way_ || !is_done()); }
  // Before each tile: starts the unit that is due. fetch: becomes the source of the one after it.
  void before_tile(std::int64_t steps, inner::Fetch& fetch, inner::Conversion& conversion);
  // Makes what is left.
  void finish(inner::Conversion& conversion);

 private:
  GemmStage next_unit() const;
  bool is_done() const { return *begun_ >= units_; }
  void begin(inner::Conversion& conversion);
  Runs source_of(const GemmStage& unit) const;
  void pack(const GemmStage& unit) const;

  RightPanels* panels_ = nullptr;
  int* begun_ = nullptr;
  std::int64_t col_ = 0, step_ = 0;
  int units_ = 0;
  bool is_on_way_ = false;  // one is in the hands of tiles:
  GemmStage on_way_;
  std::int64_t calls_ = 1, called_ = 0;
};

}  // namespace nb::kernels
