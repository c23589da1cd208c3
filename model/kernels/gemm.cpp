#include "model/kernels/gemm.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "harness/base/parallel.hpp"
#include "model/kernels/fetch_ahead.hpp"
#include "model/kernels/gemm_plan.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/scratch.hpp"

namespace nb::kernels {
namespace {

using inner::kGemmRowWords;
using inner::kGemmSteps;

constexpr std::int64_t kMostBlocksAtOnce = 4;  // blocks of kGemmSteps whose words are held
constexpr std::int64_t kPanelBytesInL2 = 512 << 10;
constexpr std::int64_t kMostTileColumns = 128;

// Rows [row, row + rows) × columns [col, col + cols) of C: one task.
struct Block {
  std::int64_t row, rows, col, cols;
};

// Sums in the order of a task's rows.
struct Sums {
  float* data = nullptr;
  std::int64_t stride = 0;
  float* at(std::int64_t row, std::int64_t col) const { return data + row * stride + col; }
};

class Multiplication {
 public:
  Multiplication(const GemmFormat& format, const GemmLeft& a, const std::uint32_t* panels,
                 const GemmShape& shape, Matrix c, const MatmulPolicy& policy, const GemmEnds& ends)
      : table_(inner::table()),
        format_(format),
        gemm_(*format.gemm),
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
        turned_(a.panels != nullptr),
        span_((turned_ ? 1 : kMostBlocksAtOnce) * kGemmSteps),
        keeps_sums_(steps_ > span_) {}

  void run() const {
    const GemmGrid grid = gemm_grid(shape_, keeps_sums_, turned_ ? gemm_.cols : 0);
    const std::int64_t across = ceil_div(shape_.n, grid.columns);
    const std::int64_t tasks = ceil_div(shape_.m, grid.rows) * across;
    parallel_for(static_cast<std::size_t>(tasks), 1, [&](std::size_t task) {
      check_float_mode();
      const std::int64_t row = static_cast<std::int64_t>(task) / across * grid.rows;
      const std::int64_t col = static_cast<std::int64_t>(task) % across * grid.columns;
      const std::int64_t rows = std::min(grid.rows, shape_.m - row);
      const std::int64_t end = ends_.is_lower ? std::min(shape_.n, row + rows) : shape_.n;
      if (col >= end) return;
      const Block block = {row, rows, col, std::min(grid.columns, end - col)};
      const auto share = [&](ConstMatrix m) {
        const std::int64_t first = m.rows * static_cast<std::int64_t>(task) / tasks;
        const std::int64_t last = m.rows * (static_cast<std::int64_t>(task) + 1) / tasks;
        return FetchAhead(m.data + first * m.stride, last - first, m.cols, m.stride,
                          calls(block) * std::ssize(pieces_));
      };
      run_block(block, share(ends_.next_a), share(ends_.next_b));
    });
  }

 private:
  struct TaskSums {
    Sums chain, parts;
  };

  void run_block(const Block& block, FetchAhead next_a, FetchAhead next_b) const {
    if (pieces_.empty()) return finish_empty(block);
    const std::int64_t blocks = ceil_div(std::min(span_, steps_), kGemmSteps);
    const Scratch words(
        turned_ ? 0 : static_cast<std::size_t>(blocks * block.rows * kGemmRowWords) * 4);
    const std::int64_t band = turned_ ? gemm_.cols : block.rows;
    const std::int64_t stride =
        keeps_sums_ ? round_up(block.cols, kMostTileColumns) : kMostTileColumns;
    const auto size = static_cast<std::size_t>(block.rows * stride) * 4;
    const bool has_chain = pieces_.size() > 1;
    const Scratch chain(has_chain ? size : 0), parts(parts_ > 1 ? size : 0);
    const TaskSums sums = {{chain.floats(), stride}, {parts.floats(), stride}};
    std::size_t begin = 0;
    while (begin < pieces_.size()) {
      const std::int64_t limit = pieces_[begin].first + span_;
      std::size_t end = begin;
      while (end < pieces_.size() && pieces_[end].first < limit) ++end;
      const std::int64_t step = pieces_[begin].first;
      FetchAhead right;
      for (std::int64_t row = 0; row < block.rows; row += band) {
        const Block rows = {block.row + row, std::min(band, block.rows - row), block.col,
                            block.cols};
        if (!turned_) pack_rows(rows, step, words.words());
        FetchAhead ahead = turned_ ? fetch_panel(rows, block, step)
                                   : fetch_rows(rows, step, static_cast<std::int64_t>(end - begin));
        if (row == 0 && turned_) right = fetch_right(block, step);
        multiply_rows(
            rows, begin, end, turned_ ? panel_at(rows.row, step) : words.words(),
            {{sums.chain.at(keeps_sums_ ? row : 0, 0), sums.chain.stride},
             {sums.parts.at(keeps_sums_ ? row : 0, 0), sums.parts.stride}},
            [&] {
              ahead.next();
              right.next();
              next_a.next();
              next_b.next();
            },
            right);
      }
      begin = end;
    }
  }

  // The words of span_ steps of A from `first` on.
  void pack_rows(const Block& block, std::int64_t first, std::uint32_t* words) const {
    const int per_step = gemm_.values_per_step;
    const std::int64_t limit = std::min(steps_, first + span_);
    for (std::int64_t step = first; step < limit; step += kGemmSteps) {
      const std::int64_t k = step * per_step;
      gemm_.pack_rows(a_.rows.row(block.row) + k, a_.rows.stride, block.rows,
                      std::min(kGemmSteps * per_step, shape_.k - k),
                      std::min(kGemmSteps, steps_ - step), format_.rounding, format_.swaps_pairs,
                      words + (step - first) / kGemmSteps * block.rows * kGemmRowWords);
    }
  }

  // What pack_rows will probably read next on this thread: the same rows further along k, or the
  // next task's.
  FetchAhead fetch_rows(const Block& block, std::int64_t first, std::int64_t pieces) const {
    const std::int64_t span = span_ * gemm_.values_per_step;
    std::int64_t k = first * gemm_.values_per_step + span, row = block.row;
    if (k >= shape_.k) {
      k = 0;
      if (block.col + block.cols < shape_.n) return {};
      row += block.rows;
    }
    const std::int64_t rows = std::min(block.rows, shape_.m - row);
    if (rows <= 0) return {};
    return {a_.rows.row(row) + k, rows, std::min(span, shape_.k - k), a_.rows.stride,
            calls(block) * pieces};
  }

  const std::uint32_t* panel_at(std::int64_t row, std::int64_t step) const {
    return a_.panels + row / gemm_.cols * panel_words_ + step * gemm_.cols;
  }
  // The task's next panel, or its first one further along k.
  FetchAhead fetch_panel(const Block& band, const Block& task, std::int64_t step) const {
    std::int64_t row = band.row + band.rows;
    if (row >= task.row + task.rows) {
      row = task.row;
      step += kGemmSteps;
    }
    if (step >= steps_) return {};
    return {panel_at(row, step), 1, std::min(kGemmSteps, steps_ - step) * gemm_.cols, 0,
            calls(band)};
  }
  // The right panels of the task further along k.
  FetchAhead fetch_right(const Block& task, std::int64_t step) const {
    step += kGemmSteps;
    if (step >= steps_) return {};
    return {panels_ + task.col / gemm_.cols * panel_words_ + step * gemm_.cols,
            ceil_div(task.cols, gemm_.cols), std::min(kGemmSteps, steps_ - step) * gemm_.cols,
            panel_words_, calls(task)};
  }
  // The right panel of the task's columns from j on, where they are too many for L2, or where no
  // other rows read them: then the next task's, too.
  FetchAhead fetch_next_panel(const Block& task, std::size_t begin, std::size_t end, std::int64_t j,
                              std::int64_t tiles) const {
    if (task.rows == shape_.m ? task.col + j >= shape_.n
                              : j >= task.cols || task.cols * steps_ * 4 <= kPanelBytesInL2) {
      return {};
    }
    const std::int64_t first = pieces_[begin].first;
    const std::int64_t steps = pieces_[end - 1].first + pieces_[end - 1].steps - first;
    return {panels_ + (task.col + j) / gemm_.cols * panel_words_ + first * gemm_.cols, 1,
            steps * gemm_.cols, 0, tiles * static_cast<std::int64_t>(end - begin)};
  }
  // Tiles of one piece.
  std::int64_t calls(const Block& block) const {
    return ceil_div(block.rows, gemm_.rows) * ceil_div(block.cols, gemm_.cols);
  }

  // before_tile: asks for what comes later.
  template <class Before>
  void multiply_rows(const Block& block, std::size_t begin, std::size_t end,
                     const std::uint32_t* words, const TaskSums& sums, const Before& before_tile,
                     FetchAhead& right) const {
    const std::int64_t tiles = ceil_div(block.rows, gemm_.rows);  // rows are spread evenly
    const std::int64_t origin = pieces_[begin].first, panel = gemm_.cols / 16;
    const std::int64_t widest = turned_ ? panel : gemm_.vectors[ceil_div(block.rows, tiles)];
    for (std::int64_t j = 0; j < block.cols;) {
      const std::int64_t left = ceil_div(block.cols - j, 16);
      const std::int64_t vectors = left >= widest ? widest : std::min(left, panel);
      const std::int64_t kept = keeps_sums_ ? j : 0;
      if (!turned_) right = fetch_next_panel(block, begin, end, j + 16 * vectors, tiles);
      for (std::size_t p = begin; p < end; ++p) {
        const std::int64_t step = pieces_[p].first - origin;
        const std::uint32_t* from = words + step / kGemmSteps * block.rows * kGemmRowWords +
                                    step % kGemmSteps * (turned_ ? gemm_.cols : 1);
        for (std::int64_t i = 0; i < tiles; ++i) {
          before_tile();
          const std::int64_t row = block.rows * i / tiles;
          const Block tile = {block.row + row, block.rows * (i + 1) / tiles - row, block.col + j,
                              block.cols - j};
          multiply_tile(tile, static_cast<int>(vectors), p,
                        from + row * (turned_ ? 1 : kGemmRowWords),
                        {{sums.chain.at(row, kept), sums.chain.stride},
                         {sums.parts.at(row, kept), sums.parts.stride}});
        }
      }
      j += 16 * vectors;
    }
  }

  void run_tile(const Block& tile, int vectors, const inner::GemmTile& t) const {
    (turned_ ? gemm_.tile_turned : gemm_.tile)(static_cast<int>(tile.rows), vectors, t);
  }

  // tile.cols: up to the end of the task.
  void multiply_tile(const Block& tile, int vectors, std::size_t p, const std::uint32_t* words,
                     const TaskSums& sums) const {
    const GemmPiece& piece = pieces_[p];
    const bool is_last = p + 1 == pieces_.size();
    const bool is_later_part = parts_ > 1 && p > 0 && piece.first >= first_part_end();
    inner::GemmTile t = {};
    t.steps = piece.steps;
    t.a = words;
    t.b_panel = panel_words_;
    t.b = panels_ + tile.col / gemm_.cols * t.b_panel + piece.first * gemm_.cols +
          tile.col % gemm_.cols;
    const bool adds = piece.ends_part && is_later_part;
    t.add = adds ? sums.parts.data : nullptr;
    t.add_stride = sums.parts.stride;
    const std::int64_t columns = std::min<std::int64_t>(tile.cols, 16 * vectors);
    float* c = c_.row(tile.row) + tile.col;
    const bool whole = columns == 16 * vectors;
    std::array<float, 12 * kMostTileColumns> begun, raw;
    if (!piece.starts_part) {
      t.start = sums.chain.data;
      t.start_stride = sums.chain.stride;
    } else if (ends_.start != nullptr) {
      t.start = ends_.start + tile.row * ends_.start_stride + tile.col;
      t.start_stride = ends_.start_stride;
      if (!whole) {
        for (std::int64_t i = 0; i < tile.rows; ++i) {
          float* row = begun.data() + i * kMostTileColumns;
          std::fill_n(std::copy_n(t.start + i * ends_.start_stride, columns, row),
                      16 * vectors - columns, 0.0f);
        }
        t.start = begun.data();
        t.start_stride = kMostTileColumns;
      }
    }
    if (turned_ && t.start != nullptr && tile.cols > gemm_.cols) {  // the tile beside comes soon
      for (std::int64_t i = 0; i < tile.rows; ++i) {  // no function: compilers drop it as empty
        const float* beside = t.start + i * t.start_stride + gemm_.cols;
        for (int j = 0; j < gemm_.cols; j += 16) __builtin_prefetch(beside + j);
      }
    }
    t.finish = inner::kFinishRaw;
    if (!is_last) {
      const Sums& to = piece.ends_part ? sums.parts : sums.chain;
      t.out = to.data;
      t.out_stride = to.stride;
      return run_tile(tile, vectors, t);
    }
    const bool fused =
        !ends_.finishes || rounding_ == inner::kRoundNone || rounding_ == inner::kRoundBf16;
    if (whole && fused) {
      t.out = c;
      t.out_stride = c_.stride;
      if (ends_.finishes) {
        const bool bf16 = rounding_ == inner::kRoundBf16;
        t.finish = ends_.accumulate ? (bf16 ? inner::kFinishBf16Add : inner::kFinishFp32Add)
                                    : (bf16 ? inner::kFinishBf16 : inner::kFinishFp32);
      }
      return run_tile(tile, vectors, t);
    }
    t.out = raw.data();
    t.out_stride = kMostTileColumns;
    run_tile(tile, vectors, t);
    for (std::int64_t i = 0; i < tile.rows; ++i) {
      put(raw.data() + i * kMostTileColumns, columns, c + i * c_.stride);
    }
  }

  std::int64_t first_part_end() const {
    for (const GemmPiece& piece : pieces_) {
      if (piece.ends_part) return piece.first + piece.steps;
    }
    return steps_;
  }

  void put(const float* sums, std::int64_t columns, float* c) const {
    if (ends_.finishes) {
      table_.finish(sums, columns, c, rounding_, ends_.accumulate);
    } else {
      std::copy_n(sums, columns, c);
    }
  }

  void finish_empty(const Block& block) const {
    const std::vector<float> zeros(static_cast<std::size_t>(block.cols), 0.0f);
    for (std::int64_t i = 0; i < block.rows; ++i) {
      const std::int64_t row = block.row + i;
      const float* sums = ends_.start == nullptr
                              ? zeros.data()
                              : ends_.start + row * ends_.start_stride + block.col;
      put(sums, block.cols, c_.row(row) + block.col);
    }
  }

  const inner::Table& table_;
  GemmFormat format_;
  const inner::Gemm& gemm_;
  GemmLeft a_;
  const std::uint32_t* panels_;
  GemmShape shape_;
  Matrix c_;
  GemmEnds ends_;
  int rounding_;
  std::int64_t steps_;
  std::vector<GemmPiece> pieces_;
  std::int64_t parts_;
  std::int64_t panel_words_;
  bool turned_;        // A is panels
  std::int64_t span_;  // steps whose words of A are held at a time
  bool keeps_sums_;
};

}  // namespace

void multiply(const GemmFormat& format, const GemmLeft& a, const std::uint32_t* panels,
              const GemmShape& shape, Matrix c, const MatmulPolicy& policy, const GemmEnds& ends) {
  if (shape.m == 0 || shape.n == 0) return;
  Multiplication(format, a, panels, shape, c, policy, ends).run();
}

}  // namespace nb::kernels
