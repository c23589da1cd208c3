#include "model/kernels/gemm_product.hpp"

#include <algorithm>

namespace nb::kernels {

constexpr std::int64_t kMaxBlocksAtOnce = 4;  // blocks of kGemmSteps whose words are held

GemmProduct::GemmProduct(const GemmFormat& format, const GemmLeft& a, const std::uint32_t* panels,
                         const GemmShape& shape, Matrix c, const MatmulPolicy& policy,
                         const GemmEnds& ends)
    : table_(inner::table()),
      format_(format),
      a_(a),
      panels_(panels),
      shape_(shape),
      c_(c),
      ends_(ends),
      rounding_(inner::rounding_of(policy.output, policy.fp16_saturates)),
      steps_(format.steps(shape.k)),
      pieces_(gemm_pieces(policy, format, shape.k)),
      parts_(std::count_if(pieces_.begin(), pieces_.end(),
                           [](const GemmPiece& p) { return p.starts_part; })),
      panel_words_(format.panel_words(shape.k)),
      span_((a.is_transposed ? 1 : kMaxBlocksAtOnce) * inner::kGemmSteps),
      keeps_sums_(steps_ > span_),
      grid_(gemm_grid(shape, keeps_sums_, a.is_transposed, ends.is_lower)) {}

bool GemmProduct::is_later_part(std::size_t piece) const {
  const auto end = pieces_.begin() + static_cast<std::ptrdiff_t>(piece);
  return std::any_of(pieces_.begin(), end, [](const GemmPiece& p) { return p.ends_part; });
}

// Where threads make the panels, tasks of the same columns follow each other: a thread makes those
// of its columns alone.
GemmBlock GemmProduct::block(const Task& task) const {
  const auto index = static_cast<std::int64_t>(task.begin);
  const bool is_down_first = panel_source_.has_value();
  const std::int64_t down = is_down_first ? index % tasks_down() : index / tasks_across();
  const std::int64_t across = is_down_first ? index / tasks_down() : index % tasks_across();
  const std::int64_t row = down * grid_.rows, col = across * grid_.columns;
  const auto count = static_cast<std::int64_t>(task.end - task.begin);
  const std::int64_t rows = std::min(count * grid_.rows, shape_.m - row);
  const std::int64_t end = ends_.is_lower ? std::min(shape_.n, row + rows) : shape_.n;
  return {row, rows, col, std::clamp<std::int64_t>(end - col, 0, grid_.columns)};
}

TaskStage GemmProduct::stage_from(const GemmBlock& task, std::int64_t row,
                                  std::size_t begin) const {
  const std::int64_t rows = std::min(grid_.stage_rows, task.row + task.rows - row);
  const std::int64_t limit = pieces_[begin].first + span_;
  std::size_t end = begin;
  while (end < pieces_.size() && pieces_[end].first < limit) ++end;
  return {{row, rows, task.col, task.cols}, begin, end};
}

// The rest of the chains of its rows, or the rows below.
TaskStage GemmProduct::after(const GemmBlock& task, const TaskStage& stage) const {
  if (stage.end < pieces_.size()) return stage_from(task, stage.block.row, stage.end);
  return stage_from(task, stage.block.row + stage.block.rows, 0);
}

GemmLeft GemmProduct::left(const GemmBlock& block) const {
  if (products_.empty()) return a_;
  return {product_of(block).a, true};
}

Matrix GemmProduct::place(const GemmBlock& block, float* memory) const {
  if (c_.data == nullptr) return {memory, block.rows, block.cols, kTakenStride};
  const Matrix c = products_.empty() ? c_ : product_of(block).c;
  return {c.row(row_of_left(block)) + block.col, block.rows, block.cols, c.stride};
}

}  // namespace nb::kernels
