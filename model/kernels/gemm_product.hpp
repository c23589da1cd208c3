// One product and how it is cut: what all its threads read. Internal to model/kernels. No bit
// depends on the cuts:
//
// 1. C is cut into tasks (GemmGrid). A thread has a task's rows and columns to itself.
// 2. A task's rows are cut into stages. The words of A of one stage are multiplied while those of
//    the next are converted.
// 3. Chains are cut into pieces (GemmPiece): within a part of the sum (block16, split_k) and
//    within a block of kGemmSteps steps. A stage has the pieces of at most `span` steps.
// 4. Pieces of an element run in ascending order. Each continues from the sum that the one before
//    has left; the last one rounds and stores.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "harness/base/team.hpp"
#include "model/kernels/gemm.hpp"
#include "model/kernels/gemm_plan.hpp"
#include "model/kernels/inner/dispatch.hpp"

namespace nb::kernels {

inline constexpr std::int64_t kMaxTileColumns = 128;
// Where C exists block by block alone: columns that are handed over together, soon enough to be
// found in L1 or L2. From one row to the next: those and what the last tile adds; an odd number of
// cache lines.
inline constexpr std::int64_t kTakenColumns = 128,
                              kTakenStride = kTakenColumns + kMaxTileColumns + 16;

// Of C.
struct GemmBlock {
  std::int64_t row, rows, col, cols;
};

// Rows of a task, and pieces [begin, end) of their chains.
struct TaskStage {
  GemmBlock block;
  std::size_t begin = 0, end = 0;
};

class GemmProduct {
 public:
  using Task = Pieces::Range;  // of the grid; more than one only where they lie below each other

  GemmProduct(const GemmFormat& format, const GemmLeft& a, const std::uint32_t* panels,
              const GemmShape& shape, Matrix c, const MatmulPolicy& policy, const GemmEnds& ends);

  // The threads make the panels: of a source (k, n).
  void make_panels(ConstAnyMatrix source) { panel_source_ = source; }
  // C and its left operand are those of several products, one below the other.
  void set_products(std::span<const TransposedProduct> products) { products_ = products; }

  const inner::Table& table() const { return table_; }
  const inner::Gemm& gemm() const { return *format_.gemm; }
  const GemmFormat& format() const { return format_; }
  const GemmShape& shape() const { return shape_; }
  const GemmEnds& ends() const { return ends_; }
  const GemmGrid& grid() const { return grid_; }
  int rounding() const { return rounding_; }
  bool is_transposed() const { return a_.is_transposed; }
  bool keeps_sums() const { return keeps_sums_; }
  const std::uint32_t* panels() const { return panels_; }  // null: the threads make them
  std::int64_t panel_words() const { return panel_words_; }
  const std::optional<ConstAnyMatrix>& panel_source() const { return panel_source_; }

  const std::vector<GemmPiece>& pieces() const { return pieces_; }
  bool has_parts() const { return parts_ > 1; }
  std::int64_t steps() const { return steps_; }
  std::int64_t max_stage_steps() const { return std::min(span_, steps_); }
  std::int64_t steps_of(std::size_t begin, std::size_t end) const {
    return pieces_[end - 1].first + pieces_[end - 1].steps - pieces_[begin].first;
  }
  bool is_later_part(std::size_t piece) const;

  std::int64_t tasks() const { return tasks_down() * tasks_across(); }
  GemmBlock block(const Task& task) const;  // of no columns where it lies above the diagonal
  TaskStage first_stage(const GemmBlock& task) const { return stage_from(task, task.row, 0); }
  TaskStage after(const GemmBlock& task, const TaskStage& stage) const;
  bool is_last(const GemmBlock& task, const TaskStage& stage) const {
    return stage.end == pieces_.size() &&
           stage.block.row + stage.block.rows == task.row + task.rows;
  }

  GemmLeft left(const GemmBlock& block) const;
  std::int64_t row_of_left(const GemmBlock& block) const {
    return products_.empty() ? block.row : block.row % shape_.m_each;
  }
  // Where a block of C lies: in C, or at `memory`, of so many bytes.
  Matrix place(const GemmBlock& block, float* memory) const;
  std::size_t memory_bytes(std::int64_t rows) const {
    return c_.data != nullptr ? 0 : static_cast<std::size_t>(rows * kTakenStride) * sizeof(float);
  }

 private:
  std::int64_t tasks_down() const { return ceil_div(shape_.m, grid_.rows); }
  std::int64_t tasks_across() const { return ceil_div(shape_.n, grid_.columns); }
  const TransposedProduct& product_of(const GemmBlock& block) const {
    return products_[static_cast<std::size_t>(block.row / shape_.m_each)];
  }
  TaskStage stage_from(const GemmBlock& task, std::int64_t row, std::size_t begin) const;

  const inner::Table& table_;
  GemmFormat format_;
  GemmLeft a_;
  std::span<const TransposedProduct> products_;
  const std::uint32_t* panels_;
  std::optional<ConstAnyMatrix> panel_source_;
  GemmShape shape_;
  Matrix c_;
  GemmEnds ends_;
  int rounding_;
  std::int64_t steps_;
  std::vector<GemmPiece> pieces_;
  std::int64_t parts_;
  std::int64_t panel_words_;
  std::int64_t span_;  // steps whose words of A are held at a time
  bool keeps_sums_;    // between the stages of a task: chains are longer than that
  GemmGrid grid_;
};

}  // namespace nb::kernels
