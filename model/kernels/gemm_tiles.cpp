#include "model/kernels/gemm_tiles.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "model/kernels/fetch_ahead.hpp"
#include "model/kernels/scratch.hpp"

namespace nb::kernels {
namespace {

using inner::kGemmRowWords;
using inner::kGemmSteps;

constexpr std::int64_t kPanelBytesInL2 = 512 << 10;
constexpr std::int64_t kMinFetchingRows = 3;  // fewer wait for panels, whoever asks for them

void call_after(const GemmProduct& product, const GemmBlock& block, Matrix c) {
  const AfterBlock* after = product.ends().after;
  if (after == nullptr || !*after) return;
  (*after)(
      {block.row, block.rows, block.col, block.cols, {c.data, block.rows, block.cols, c.stride}});
}

// Finished sums of a row to C.
void put(const GemmProduct& product, const float* sums, std::int64_t columns, float* c) {
  if (product.ends().finishes) {
    product.table().finish(sums, columns, c, product.rounding(), product.ends().accumulate);
  } else {
    std::copy_n(sums, columns, c);
  }
}

class StageTiles {
 public:
  StageTiles(const GemmProduct& product, const TaskStage& stage, const StageOperands& operands)
      : product_(product),
        gemm_(product.gemm()),
        ends_(product.ends()),
        stage_(stage),
        operands_(operands) {}

  // Columns by columns, as many as a tile has; of these piece by piece; of a piece tile by tile,
  // down the rows. So the panels of some columns stay in L1 while they are needed.
  void run(Interleaved& interleaved, NextStage& next) const {
    const GemmBlock& block = stage_.block;
    const std::int64_t tiles = ceil_div(block.rows, gemm_.rows);
    const std::int64_t panel = gemm_.cols / 16;
    const std::int64_t widest = gemm_.vectors[ceil_div(block.rows, tiles)];
    const bool ends_chains = stage_.end == product_.pieces().size();
    GemmBlock some = {block.row, block.rows, block.col, 0};  // the columns at work
    Matrix c = product_.place(some, operands_.memory);
    for (std::int64_t j = 0; j < block.cols;) {
      const std::int64_t left = ceil_div(block.cols - j, 16);
      const std::int64_t vectors = left >= widest ? widest : std::min(left, panel);
      if (!next.panels.makes()) interleaved.right = fetch_panel(j + 16 * vectors, tiles);
      for (std::size_t p = stage_.begin; p < stage_.end; ++p) {
        run_piece(p, j, vectors, tiles, {c.data + some.cols, c.stride}, interleaved, next);
      }
      j += 16 * vectors;
      some.cols = std::min(block.col + j - some.col, block.col + block.cols - some.col);
      if (!ends_chains || (some.cols < kTakenColumns && j < block.cols)) continue;
      call_after(product_, some, c);  // still in the cache
      some.col += some.cols;
      some.cols = 0;
      c = product_.place(some, operands_.memory);
    }
  }

 private:
  // What the tiles of one piece and some columns share. No rows of C, sums or words yet.
  struct TilesOfPiece {
    inner::GemmTile tile;
    int vectors;
    std::int64_t col, columns;  // that C has of them
    bool starts, ends;          // the chain at ends_.start, C by these
    const GemmSums TaskSums::*continued, TaskSums::*added, TaskSums::*kept;  // or null
  };

  // The right panel of the columns from j on: where the task's panels are too many for L2, and
  // where the first rows meet them, for the task after it too. Of two tasks each may have a thread
  // of its own.
  inner::Fetch fetch_panel(std::int64_t j, std::int64_t tiles) const {
    const GemmBlock& block = stage_.block;
    const bool is_first_use = (block.row == 0 || product_.shape().m <= 2 * product_.grid().rows) &&
                              tiles > 1 && !product_.is_transposed();
    const bool is_dropped = j < block.cols && block.rows >= kMinFetchingRows &&
                            block.cols * product_.steps() * 4 > kPanelBytesInL2;
    if (block.col + j >= product_.shape().n || !(is_first_use || is_dropped)) return {};
    const std::int64_t steps = product_.steps_of(stage_.begin, stage_.end);
    const std::int64_t first = product_.pieces()[stage_.begin].first;
    const std::uint32_t* const panel = operands_.panels +
                                       (block.col + j) / gemm_.cols * product_.panel_words() +
                                       first * gemm_.cols;
    return fetch_ahead(gemm_, {panel, 1, steps * gemm_.cols, 0}, tiles * steps);
  }

  // Rows are spread evenly over the tiles. c: of the first row, and of column j.
  void run_piece(std::size_t p, std::int64_t j, std::int64_t vectors, std::int64_t tiles,
                 const GemmSums& c, Interleaved& interleaved, NextStage& next) const {
    const GemmBlock& block = stage_.block;
    const GemmPiece& piece = product_.pieces()[p];
    const std::int64_t step = piece.first - product_.pieces()[stage_.begin].first;
    const std::int64_t kept = product_.keeps_sums() ? j : 0;
    const TaskSums& sums = operands_.sums;
    const std::uint32_t* const words =
        operands_.words + step / kGemmSteps * block.rows * kGemmRowWords + step % kGemmSteps;
    const TilesOfPiece of = tiles_of_piece(p, block.col + j, block.cols - j, vectors);
    std::int64_t row = 0;
    for (std::int64_t i = 0; i < tiles; ++i) {
      next.before_tile(piece.steps, interleaved);
      const std::int64_t rows = block.rows / tiles + (i < block.rows % tiles ? 1 : 0);
      run_tile(of, block.row + row, rows, words + row * kGemmRowWords, {c.at(row, 0), c.stride},
               {{sums.chain.at(row, kept), sums.chain.stride},
                {sums.parts.at(row, kept), sums.parts.stride}},
               interleaved);
      row += rows;
    }
  }

  // columns: up to the end of the task.
  TilesOfPiece tiles_of_piece(std::size_t p, std::int64_t col, std::int64_t columns,
                              std::int64_t vectors) const {
    const GemmPiece& piece = product_.pieces()[p];
    const int rounding = product_.rounding();
    const bool is_last = p + 1 == product_.pieces().size();
    TilesOfPiece of = {};
    of.vectors = static_cast<int>(vectors);
    of.col = col;
    of.columns = std::min(columns, 16 * vectors);
    of.tile.steps = piece.steps;
    of.tile.b_panel = product_.panel_words();
    of.tile.b = operands_.panels + col / gemm_.cols * product_.panel_words() +
                piece.first * gemm_.cols + col % gemm_.cols;
    of.tile.start_stride = ends_.start_stride;
    of.starts = piece.starts_part && ends_.start != nullptr;
    if (!piece.starts_part) of.continued = &TaskSums::chain;
    if (piece.ends_part && product_.has_parts() && product_.is_later_part(p)) {
      of.added = &TaskSums::parts;
    }
    if (!is_last) of.kept = piece.ends_part ? &TaskSums::parts : &TaskSums::chain;
    of.tile.finish = inner::kFinishRaw;
    const bool fused =
        !ends_.finishes || rounding == inner::kRoundNone || rounding == inner::kRoundBf16;
    of.ends = is_last && fused && of.columns == 16 * vectors;
    if (of.ends && ends_.finishes) {
      const bool bf16 = rounding == inner::kRoundBf16;
      of.tile.finish = ends_.accumulate ? (bf16 ? inner::kFinishBf16Add : inner::kFinishFp32Add)
                                        : (bf16 ? inner::kFinishBf16 : inner::kFinishFp32);
    }
    return of;
  }

  // c: of the tile's first value.
  void run_tile(const TilesOfPiece& of, std::int64_t row, std::int64_t rows,
                const std::uint32_t* words, const GemmSums& c, const TaskSums& sums,
                Interleaved& interleaved) const {
    inner::GemmTile t = of.tile;
    t.a = words;
    t.fetch[0] = &interleaved.rows;
    t.fetch[1] = &interleaved.right;
    t.conversion = interleaved.conversion.left > 0 ? &interleaved.conversion : nullptr;
    if (of.continued != nullptr) {
      t.start = (sums.*of.continued).data;
      t.start_stride = (sums.*of.continued).stride;
    }
    if (of.added != nullptr) {
      t.add = (sums.*of.added).data;
      t.add_stride = (sums.*of.added).stride;
    }
    if (of.starts) t.start = ends_.start + row * ends_.start_stride + of.col;
    if (of.ends || of.kept != nullptr) {
      const GemmSums& out = of.ends ? c : sums.*of.kept;
      t.out = out.data;
      t.out_stride = out.stride;
      if (!of.starts || of.columns == 16 * of.vectors)
        return gemm_.tile(static_cast<int>(rows), of.vectors, t);
    }
    run_odd_tile(of, rows, c, t);
  }

  // One whose start has fewer columns than it has, or that cannot end in C itself.
  void run_odd_tile(const TilesOfPiece& of, std::int64_t rows, const GemmSums& c,
                    inner::GemmTile& t) const {
    std::array<float, 12 * kMaxTileColumns> begun, raw;
    if (of.starts && of.columns < 16 * of.vectors) {
      for (std::int64_t i = 0; i < rows; ++i) {
        float* to = begun.data() + i * kMaxTileColumns;
        std::fill_n(std::copy_n(t.start + i * t.start_stride, of.columns, to),
                    16 * of.vectors - of.columns, 0.0f);
      }
      t.start = begun.data();
      t.start_stride = kMaxTileColumns;
    }
    if (of.kept != nullptr) return gemm_.tile(static_cast<int>(rows), of.vectors, t);
    t.out = raw.data();
    t.out_stride = kMaxTileColumns;
    gemm_.tile(static_cast<int>(rows), of.vectors, t);
    for (std::int64_t i = 0; i < rows; ++i) {
      put(product_, raw.data() + i * kMaxTileColumns, of.columns, c.at(i, 0));
    }
  }

  const GemmProduct& product_;
  const inner::Gemm& gemm_;
  const GemmEnds& ends_;
  const TaskStage& stage_;
  const StageOperands& operands_;
};

}  // namespace

void multiply_stage(const GemmProduct& product, const TaskStage& stage,
                    const StageOperands& operands, Interleaved& interleaved, NextStage& next) {
  StageTiles(product, stage, operands).run(interleaved, next);
}

void finish_empty(const GemmProduct& product, const GemmBlock& task) {
  const GemmEnds& ends = product.ends();
  const std::vector<float> zeros(kTakenColumns, 0.0f);
  const Scratch memory(product.memory_bytes(task.rows));
  for (std::int64_t j = 0; j < task.cols; j += kTakenColumns) {
    const GemmBlock some = {task.row, task.rows, task.col + j,
                            std::min(kTakenColumns, task.cols - j)};
    const Matrix c = product.place(some, memory.floats());
    for (std::int64_t i = 0; i < some.rows; ++i) {
      const float* sums = ends.start == nullptr
                              ? zeros.data()
                              : ends.start + (some.row + i) * ends.start_stride + some.col;
      put(product, sums, some.cols, c.row(i));
    }
    call_after(product, some, c);
  }
}

std::int64_t tile_calls(const inner::Gemm& gemm, const GemmBlock& block) {
  return ceil_div(block.rows, gemm.rows) * ceil_div(block.cols, gemm.cols);
}

}  // namespace nb::kernels
