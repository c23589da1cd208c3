#include "model/kernels/gemm.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "harness/base/parallel.hpp"
#include "model/kernels/fetch_ahead.hpp"
#include "model/kernels/gemm_interleaved.hpp"
#include "model/kernels/gemm_left.hpp"
#include "model/kernels/gemm_plan.hpp"
#include "model/kernels/gemm_right.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/scratch.hpp"

namespace nb::kernels {
namespace {

using inner::kGemmRowWords;
using inner::kGemmSteps;

constexpr std::int64_t kMaxBlocksAtOnce = 4;  // blocks of kGemmSteps whose words are held
constexpr std::int64_t kPanelBytesInL2 = 512 << 10;
constexpr std::int64_t kMinFetchingRows = 3;  // fewer wait for panels, whoever asks for them
constexpr std::int64_t kMaxTileColumns = 128;
// Columns that are handed over together, soon enough to be found in L1 or L2. From one row to the
// next: those and what the last tile adds; an odd number of cache lines.
constexpr std::int64_t kTakenColumns = 128, kTakenStride = kTakenColumns + kMaxTileColumns + 16;

// Of C.
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
        span_((a.is_transposed ? 1 : kMaxBlocksAtOnce) * kGemmSteps),
        keeps_sums_(steps_ > span_),
        grid_(gemm_grid(shape, keeps_sums_, a.is_transposed, ends.is_lower)),
        stage_rows_(grid_.stage_rows) {}

  // The threads make the panels: of a source (k, n).
  void make_panels(ConstAnyMatrix source) { panel_source_ = source; }
  // C and its left operand are those of several products, one below the other.
  void stand_in_a_column(std::span<const TransposedProduct> products) { column_ = products; }

  void run() const {
    const std::int64_t count = pieces_down() * pieces_across();
    const auto most = static_cast<std::size_t>(grid_.max_at_once);
    parallel_pieces(static_cast<std::size_t>(count), [&](Pieces& left) {
      check_float_mode();
      if (pieces_.empty()) {
        while (const auto task = left.take(most)) run_empty(block(*task));
        return;
      }
      const std::size_t size = stage_words(stage_rows_, std::min(span_, steps_)) * 4;
      const Scratch words(size), other_words(size);
      const Scratch own(panel_source_ ? panels_bytes(format_, shape_.n, shape_.k) : 0);
      std::optional<RightPanels> right;
      if (panel_source_) right.emplace(format_, *panel_source_, grid_.columns, own.words());
      Words hold = {words.words(), other_words.words(), {}, panels_, nullptr};
      if (right) hold.panels = own.words(), hold.right = &*right;
      while (const auto task = left.take(most)) {
        if (block(*task).cols > 0) run_task(*task, left.expected(most), hold);
      }
    });
  }

 private:
  using Task = Pieces::Range;  // more than one only where they lie one below the other
  struct TaskSums {
    Sums chain, parts;
  };
  // A thread's. Of the left operand: of the stage at work and of the one after it, which may be the
  // first of the task that is expected next. Of the right one: panels, and who makes them.
  struct Words {
    std::uint32_t *now, *then;
    std::optional<Task> expected;  // its words, and its panels, are there
    const std::uint32_t* panels;
    RightPanels* right;  // or null: the panels are there
  };
  // Rows of a task and pieces [begin, end) of their chains.
  struct Stage {
    Block block;
    std::size_t begin = 0, end = 0;
  };

  std::int64_t pieces_down() const { return ceil_div(shape_.m, grid_.rows); }
  std::int64_t pieces_across() const { return ceil_div(shape_.n, grid_.columns); }
  // A task's, of no columns where it lies above the diagonal. Where threads make the panels, tasks
  // of the same columns follow each other: a thread makes those of its columns alone.
  Block block(const Task& task) const {
    const auto index = static_cast<std::int64_t>(task.begin);
    const bool is_down_first = panel_source_.has_value();
    const std::int64_t down = is_down_first ? index % pieces_down() : index / pieces_across();
    const std::int64_t across = is_down_first ? index / pieces_down() : index % pieces_across();
    const std::int64_t row = down * grid_.rows, col = across * grid_.columns;
    const auto pieces = static_cast<std::int64_t>(task.end - task.begin);
    const std::int64_t rows = std::min(pieces * grid_.rows, shape_.m - row);
    const std::int64_t end = ends_.is_lower ? std::min(shape_.n, row + rows) : shape_.n;
    return {row, rows, col, std::clamp<std::int64_t>(end - col, 0, grid_.columns)};
  }

  Stage stage_from(const Block& task, std::int64_t row, std::size_t begin) const {
    const std::int64_t rows = std::min(stage_rows_, task.row + task.rows - row);
    const std::int64_t limit = pieces_[begin].first + span_;
    std::size_t end = begin;
    while (end < pieces_.size() && pieces_[end].first < limit) ++end;
    return {{row, rows, task.col, task.cols}, begin, end};
  }
  bool is_last(const Block& task, const Stage& stage) const {
    return stage.end == pieces_.size() &&
           stage.block.row + stage.block.rows == task.row + task.rows;
  }
  Stage after(const Block& task, const Stage& stage) const {
    if (stage.end < pieces_.size()) return stage_from(task, stage.block.row, stage.end);
    return stage_from(task, stage.block.row + stage.block.rows, 0);
  }
  LeftWords left_words(const Stage& stage, std::int64_t calls, std::uint32_t* words) const {
    return {format_,
            product_of(stage.block).a,
            shape_.k,
            {row_in_product(stage.block), stage.block.rows, pieces_[stage.begin].first,
             steps_of(stage.begin, stage.end)},
            calls,
            words};
  }

  struct Product {
    GemmLeft a;
    Matrix c;
  };
  Product product_of(const Block& block) const {
    if (column_.empty()) return {a_, c_};
    const TransposedProduct& p = column_[static_cast<std::size_t>(block.row / shape_.m_each)];
    return {{p.a, true}, p.c};
  }
  std::int64_t row_in_product(const Block& block) const {
    return column_.empty() ? block.row : block.row % shape_.m_each;
  }

  Pending pending(const Stage& stage, std::int64_t calls, std::uint32_t* words,
                  RightPanels* right) const {
    Pending made = {left_words(stage, calls, words), {}};
    if (right != nullptr)
      made.panels = {*right, stage.block.col, pieces_[stage.begin].first, calls};
    return made;
  }

  // Where a block of C lies: in C, or at `memory`.
  Matrix place(const Block& block, float* memory) const {
    if (c_.data == nullptr) return {memory, block.rows, block.cols, kTakenStride};
    const Matrix c = product_of(block).c;
    return {c.row(row_in_product(block)) + block.col, block.rows, block.cols, c.stride};
  }
  std::size_t memory_bytes(std::int64_t rows) const {
    return c_.data != nullptr ? 0 : static_cast<std::size_t>(rows * kTakenStride) * sizeof(float);
  }

  void run_task(const Task& at, std::optional<Task> expected, Words& words) const {
    const Block task = block(at);
    Stage stage = stage_from(task, task.row, 0);
    const std::int64_t stride =
        keeps_sums_ ? round_up(task.cols, kMaxTileColumns) : kMaxTileColumns;
    const auto sums_size = static_cast<std::size_t>(stage.block.rows * stride) * 4;
    const Scratch chain(pieces_.size() > 1 ? sums_size : 0), parts(parts_ > 1 ? sums_size : 0);
    const Scratch memory(memory_bytes(stage.block.rows));
    const TaskSums sums = {{chain.floats(), stride}, {parts.floats(), stride}};
    Interleaved interleaved;
    if (words.expected != at) pending(stage, 1, words.now, words.right).finish(interleaved);
    while (true) {
      const bool ends = is_last(task, stage);
      const auto pieces = static_cast<std::int64_t>(stage.end - stage.begin);
      if (ends) words.expected = expected;
      const std::optional<Stage> then = ends ? first_stage(expected) : after(task, stage);
      Pending next;
      if (then.has_value())
        next = pending(*then, calls(stage.block) * pieces, words.then, words.right);
      interleaved.right = {};
      multiply_rows(stage, words, memory.floats(), sums, interleaved, next);
      next.finish(interleaved);
      std::swap(words.now, words.then);
      if (ends) return;
      stage = *then;
    }
  }

  std::optional<Stage> first_stage(std::optional<Task> task) const {
    if (!task.has_value() || block(*task).cols == 0) return std::nullopt;
    const Block next = block(*task);
    return stage_from(next, next.row, 0);
  }

  void call_after(const Block& block, Matrix c) const {
    if (ends_.after == nullptr || !*ends_.after) return;
    (*ends_.after)(
        {block.row, block.rows, block.col, block.cols, {c.data, block.rows, block.cols, c.stride}});
  }

  std::int64_t steps_of(std::size_t begin, std::size_t end) const {
    return pieces_[end - 1].first + pieces_[end - 1].steps - pieces_[begin].first;
  }

  // The right panel of the columns from j on: where the task's panels are too many for L2, and
  // where the first rows meet them, for the task after it too. Of two tasks each may have a thread
  // of its own.
  inner::Fetch fetch_panel(const std::uint32_t* panels, const Block& task, std::size_t begin,
                           std::size_t end, std::int64_t j, std::int64_t tiles) const {
    const bool is_first_use =
        (task.row == 0 || shape_.m <= 2 * grid_.rows) && tiles > 1 && !a_.is_transposed;
    const bool is_dropped =
        j < task.cols && task.rows >= kMinFetchingRows && task.cols * steps_ * 4 > kPanelBytesInL2;
    if (task.col + j >= shape_.n || !(is_first_use || is_dropped)) return {};
    const std::int64_t steps = steps_of(begin, end);
    return fetch_ahead(
        gemm_,
        {panels + (task.col + j) / gemm_.cols * panel_words_ + pieces_[begin].first * gemm_.cols, 1,
         steps * gemm_.cols, 0},
        tiles * steps);
  }
  // Tiles of one piece.
  std::int64_t calls(const Block& block) const {
    return ceil_div(block.rows, gemm_.rows) * ceil_div(block.cols, gemm_.cols);
  }

  void multiply_rows(const Stage& stage, const Words& words, float* memory, const TaskSums& sums,
                     Interleaved& interleaved, Pending& next) const {
    const auto& [block, begin, end] = stage;
    const std::int64_t tiles = ceil_div(block.rows, gemm_.rows);  // rows are spread evenly
    const std::int64_t origin = pieces_[begin].first, panel = gemm_.cols / 16;
    const std::int64_t widest = gemm_.vectors[ceil_div(block.rows, tiles)];
    Block some = {block.row, block.rows, block.col, 0};  // the columns at work
    Matrix c = place(some, memory);
    for (std::int64_t j = 0; j < block.cols;) {
      const std::int64_t left = ceil_div(block.cols - j, 16);
      const std::int64_t vectors = left >= widest ? widest : std::min(left, panel);
      const std::int64_t kept = keeps_sums_ ? j : 0;
      if (!next.panels.makes())
        interleaved.right = fetch_panel(words.panels, block, begin, end, j + 16 * vectors, tiles);
      for (std::size_t p = begin; p < end; ++p) {
        const std::int64_t step = pieces_[p].first - origin;
        const std::uint32_t* from =
            words.now + step / kGemmSteps * block.rows * kGemmRowWords + step % kGemmSteps;
        const TilesOfPiece tiles_of =
            tiles_of_piece(words.panels, block.col + j, block.cols - j, vectors, p);
        std::int64_t row = 0;
        for (std::int64_t i = 0; i < tiles; ++i) {
          next.before_tile(pieces_[p].steps, interleaved);
          const std::int64_t rows = block.rows / tiles + (i < block.rows % tiles ? 1 : 0);
          multiply_tile(tiles_of, block.row + row, rows, from + row * kGemmRowWords,
                        {c.row(row) + some.cols, c.stride},
                        {{sums.chain.at(row, kept), sums.chain.stride},
                         {sums.parts.at(row, kept), sums.parts.stride}},
                        interleaved);
          row += rows;
        }
      }
      j += 16 * vectors;
      some.cols = std::min(block.col + j - some.col, block.col + block.cols - some.col);
      if (end < pieces_.size() || (some.cols < kTakenColumns && j < block.cols)) continue;
      call_after(some, c);  // still in the cache
      some.col += some.cols;
      some.cols = 0;
      c = place(some, memory);
    }
  }

  // What the tiles of one piece and some columns share. No rows of C, sums or words yet.
  struct TilesOfPiece {
    inner::GemmTile tile;
    int vectors;
    std::int64_t col, columns;  // that C has of them
    bool starts, ends;          // the chain at ends_.start, C by these
    const Sums TaskSums::*continued, TaskSums::*added, TaskSums::*kept;  // or null
  };

  // columns: up to the end of the task.
  TilesOfPiece tiles_of_piece(const std::uint32_t* panels, std::int64_t col, std::int64_t columns,
                              std::int64_t vectors, std::size_t p) const {
    const GemmPiece& piece = pieces_[p];
    const bool is_last = p + 1 == pieces_.size();
    const bool is_later_part = parts_ > 1 && p > 0 && piece.first >= first_part_end();
    TilesOfPiece of = {};
    of.vectors = static_cast<int>(vectors);
    of.col = col;
    of.columns = std::min(columns, 16 * vectors);
    of.tile.steps = piece.steps;
    of.tile.b_panel = panel_words_;
    of.tile.b =
        panels + col / gemm_.cols * panel_words_ + piece.first * gemm_.cols + col % gemm_.cols;
    of.tile.start_stride = ends_.start_stride;
    of.starts = piece.starts_part && ends_.start != nullptr;
    if (!piece.starts_part) of.continued = &TaskSums::chain;
    if (piece.ends_part && is_later_part) of.added = &TaskSums::parts;
    if (!is_last) of.kept = piece.ends_part ? &TaskSums::parts : &TaskSums::chain;
    of.tile.finish = inner::kFinishRaw;
    const bool fused =
        !ends_.finishes || rounding_ == inner::kRoundNone || rounding_ == inner::kRoundBf16;
    of.ends = is_last && fused && of.columns == 16 * vectors;
    if (of.ends && ends_.finishes) {
      const bool bf16 = rounding_ == inner::kRoundBf16;
      of.tile.finish = ends_.accumulate ? (bf16 ? inner::kFinishBf16Add : inner::kFinishFp32Add)
                                        : (bf16 ? inner::kFinishBf16 : inner::kFinishFp32);
    }
    return of;
  }

  // c: of the tile's first value.
  void multiply_tile(const TilesOfPiece& of, std::int64_t row, std::int64_t rows,
                     const std::uint32_t* words, const Sums& c, const TaskSums& sums,
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
      const Sums& out = of.ends ? c : sums.*of.kept;
      t.out = out.data;
      t.out_stride = out.stride;
      if (!of.starts || of.columns == 16 * of.vectors)
        return gemm_.tile(static_cast<int>(rows), of.vectors, t);
    }
    multiply_odd_tile(of, rows, c, t);
  }

  // One whose start has fewer columns than it has, or that cannot end in C itself.
  void multiply_odd_tile(const TilesOfPiece& of, std::int64_t rows, const Sums& c,
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
      put(raw.data() + i * kMaxTileColumns, of.columns, c.at(i, 0));
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

  // Chains of nothing.
  void run_empty(const Block& task) const {
    const std::vector<float> zeros(kTakenColumns, 0.0f);
    const Scratch memory(memory_bytes(task.rows));
    for (std::int64_t j = 0; j < task.cols; j += kTakenColumns) {
      const Block some = {task.row, task.rows, task.col + j,
                          std::min(kTakenColumns, task.cols - j)};
      const Matrix c = place(some, memory.floats());
      for (std::int64_t i = 0; i < some.rows; ++i) {
        const float* sums = ends_.start == nullptr
                                ? zeros.data()
                                : ends_.start + (some.row + i) * ends_.start_stride + some.col;
        put(sums, some.cols, c.row(i));
      }
      call_after(some, c);
    }
  }

  const inner::Table& table_;
  GemmFormat format_;
  const inner::Gemm& gemm_;
  GemmLeft a_;
  std::span<const TransposedProduct> column_;
  const std::uint32_t* panels_;  // or null: made here, of
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
  bool keeps_sums_;
  GemmGrid grid_;
  std::int64_t stage_rows_;
};

}  // namespace

void multiply(const GemmFormat& format, const GemmLeft& a, const std::uint32_t* panels,
              const GemmShape& shape, Matrix c, const MatmulPolicy& policy, const GemmEnds& ends) {
  if (shape.m == 0 || shape.n == 0) return;
  Multiplication(format, a, panels, shape, c, policy, ends).run();
}

void multiply_transposed(const GemmFormat& format, std::span<const TransposedProduct> products,
                         ConstAnyMatrix b, const MatmulPolicy& policy, const GemmEnds& ends) {
  const auto& [a, c] = products.front();
  if (c.size() == 0) return;
  const GemmShape shape = {std::ssize(products) * c.rows, c.cols, a.rows, c.rows};
  Multiplication product(format, {a, true}, nullptr, shape, c, policy, ends);
  product.stand_in_a_column(products);
  product.make_panels(b);
  product.run();
}

}  // namespace nb::kernels
