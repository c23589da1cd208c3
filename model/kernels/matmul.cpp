#include "model/kernels/matmul.hpp"

#include <algorithm>
#include <vector>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/openblas.hpp"
#include "model/kernels/panels.hpp"
#include "model/kernels/scratch.hpp"

namespace nb::kernels {
namespace {

constexpr std::int64_t kChainBlockBytes =
    1024;  // of one packed row or column: a 32-wide panel fills 32 KiB of L1
constexpr std::int64_t kRowBlock = 96;      // a multiple of every level's tile rows
constexpr std::int64_t kColumnBlock = 512;  // rows × columns of sums stay in L2
constexpr std::int64_t kFewestTasks = 8;    // cut by shape, never by thread count

struct Shape {
  std::int64_t m, n, k;
};

// How the chain is cut: blocks of `length` values of k, and what a later block does with the sums
// so far.
struct ChainBlocks {
  std::int64_t length;
  int mode;
};
ChainBlocks chain_blocks(const MatmulPolicy& policy, const InputFormat& format, std::int64_t k) {
  switch (policy.accumulation) {
    case Accumulation::kBlock16:
      return {16, inner::kTileAdd};
    case Accumulation::kSplitK:
      NB_CHECK(policy.split_k >= 1, "[matmul] split_k is {}, not >= 1", policy.split_k);
      return {std::max<std::int64_t>(16, round_up((k + policy.split_k - 1) / policy.split_k, 16)),
              inner::kTileAdd};
    case Accumulation::kChain:
    case Accumulation::kHostBlas:
      break;
  }
  return {kChainBlockBytes / 4 * format.product->values_per_step, inner::kTileContinue};
}

struct Ends {
  const float* start = nullptr;  // sums to continue from (stride of C), or null: +0
  bool finishes = true;          // false: C takes the raw sums
  int rounding = inner::kRoundNone;
  bool accumulate = false;
};

// The sums of rows [row, row + rows) × columns [col, col + cols) over all of k, then into C.
struct Block {
  std::int64_t row, rows, col, cols;
};

class Multiplication {
 public:
  Multiplication(const Operand& a, const Operand& b, const Shape& shape, Matrix c,
                 const MatmulPolicy& policy, const Ends& ends)
      : table_(inner::table()),
        format_(input_format(table_, policy.inputs)),
        a_(a),
        b_(b),
        shape_(shape),
        c_(c),
        ends_(ends),
        blocks_(chain_blocks(policy, format_, shape.k)),
        k_blocks_((shape.k + blocks_.length - 1) / blocks_.length),
        columns_padded_(round_up(shape.n, format_.product->cols)) {}

  void run() const {
    const std::int64_t row_blocks = (shape_.m + kRowBlock - 1) / kRowBlock;
    std::int64_t columns =
        k_blocks_ > 1 ? std::min(kColumnBlock, columns_padded_) : columns_padded_;
    while (row_blocks * ((shape_.n + columns - 1) / columns) < kFewestTasks && columns > 64) {
      columns = round_up(columns / 2, format_.product->cols);
    }
    const std::int64_t column_blocks = (shape_.n + columns - 1) / columns;
    const Scratch b_panels(panel_bytes(columns_padded_));
    pack_b(b_panels.words());
    // Rows that several tasks share are packed once, the others by their task.
    const bool shares_a = column_blocks > 1;
    const Scratch a_panels(shares_a ? panel_bytes(row_blocks * kRowBlock) : 0);
    if (shares_a) pack_a(row_blocks, a_panels.words());
    parallel_for(static_cast<std::size_t>(row_blocks * column_blocks), 1, [&](std::size_t task) {
      check_float_mode();
      const std::int64_t row = static_cast<std::int64_t>(task) / column_blocks * kRowBlock;
      const std::int64_t col = static_cast<std::int64_t>(task) % column_blocks * columns;
      run_block({row, std::min(kRowBlock, shape_.m - row), col, std::min(columns, shape_.n - col)},
                shares_a ? a_panels.words() : nullptr, b_panels.words());
    });
  }

 private:
  std::int64_t k_count(std::int64_t k_block) const {
    return std::min(blocks_.length, shape_.k - k_block * blocks_.length);
  }
  // Of all k blocks of an operand with `padded` rows or columns.
  std::size_t panel_bytes(std::int64_t padded) const {
    const std::int64_t steps = panel_steps(format_, std::min(blocks_.length, shape_.k));
    return static_cast<std::size_t>(k_blocks_ * steps * padded) * 4;
  }
  // Where a k block begins: all blocks but the last have the same length.
  std::int64_t offset_of(std::int64_t k_block, std::int64_t padded) const {
    return k_block * panel_steps(format_, blocks_.length) * padded;
  }

  void pack_b(std::uint32_t* packed) const {
    const int width = format_.product->cols;
    const std::int64_t panels = columns_padded_ / width;
    // Where rows of k lie apart, wide strips of them use what the memory brings.
    const std::int64_t panels_at_once = b_.stride_k == 1 ? 4 : 32;
    const std::int64_t groups = (panels + panels_at_once - 1) / panels_at_once;
    parallel_for(static_cast<std::size_t>(k_blocks_ * groups), 1, [&](std::size_t task) {
      check_float_mode();
      const std::int64_t k_block = static_cast<std::int64_t>(task) / groups;
      const std::int64_t panel = static_cast<std::int64_t>(task) % groups * panels_at_once;
      const std::int64_t steps = panel_steps(format_, k_count(k_block));
      const std::int64_t col = panel * width;
      pack_panels(format_, b_.from(col, k_block * blocks_.length),
                  std::min(shape_.n - col, panels_at_once * width), k_count(k_block), width,
                  packed + offset_of(k_block, columns_padded_) + panel * steps * width);
    });
  }

  void pack_a(std::int64_t row_blocks, std::uint32_t* packed) const {
    parallel_for(static_cast<std::size_t>(k_blocks_ * row_blocks), 1, [&](std::size_t task) {
      check_float_mode();
      const std::int64_t k_block = static_cast<std::int64_t>(task) / row_blocks;
      const std::int64_t row = static_cast<std::int64_t>(task) % row_blocks * kRowBlock;
      const std::int64_t rows = std::min(kRowBlock, shape_.m - row);
      pack_rows({row, rows, 0, 0}, k_block, shared_a(packed, row_blocks * kRowBlock, row, k_block));
    });
  }
  void pack_rows(const Block& block, std::int64_t k_block, std::uint32_t* packed) const {
    pack_panels(format_, a_.from(block.row, k_block * blocks_.length), block.rows, k_count(k_block),
                format_.product->rows, packed);
  }
  template <class Word>
  Word* shared_a(Word* packed, std::int64_t padded, std::int64_t row, std::int64_t k_block) const {
    return packed + offset_of(k_block, padded) + row * panel_steps(format_, k_count(k_block));
  }

  // a_panels: null when the task packs its own rows.
  void run_block(const Block& block, const std::uint32_t* a_panels,
                 const std::uint32_t* b_panels) const {
    const std::int64_t own_rows =
        a_panels == nullptr ? round_up(block.rows, format_.product->rows) : 0;
    const std::int64_t steps = panel_steps(format_, std::min(blocks_.length, shape_.k));
    const Scratch own(static_cast<std::size_t>(own_rows * steps) * 4);
    const std::int64_t stride = round_up(std::min(block.cols, kColumnBlock), 16);
    const Scratch sums(static_cast<std::size_t>(block.rows * stride) * 4);
    const std::int64_t padded = round_up(shape_.m, kRowBlock);
    const auto rows_of = [&](std::int64_t k_block) -> const std::uint32_t* {
      if (a_panels != nullptr) return shared_a(a_panels, padded, block.row, k_block);
      pack_rows(block, k_block, own.words());
      return own.words();
    };
    // With one k block, the sums are finished strip by strip and the rows packed once for all
    // strips.
    const std::uint32_t* only = k_blocks_ == 1 ? rows_of(0) : nullptr;
    for (std::int64_t done = 0; done < block.cols; done += kColumnBlock) {
      const Block strip = {block.row, block.rows, block.col + done,
                           std::min(kColumnBlock, block.cols - done)};
      begin(strip, sums.floats(), stride);
      for (std::int64_t k_block = 0; k_block < k_blocks_; ++k_block) {
        multiply(strip, k_block, only != nullptr ? only : rows_of(k_block), b_panels, sums.floats(),
                 stride);
      }
      end(strip, sums.floats(), stride);
    }
  }

  void multiply(const Block& block, std::int64_t k_block, const std::uint32_t* packed_a,
                const std::uint32_t* packed_b, float* sums, std::int64_t stride) const {
    const std::int64_t steps = panel_steps(format_, k_count(k_block));
    const bool starts = k_block == 0 && ends_.start == nullptr;
    multiply_panels(format_, block.rows, block.cols, steps, packed_a, steps * format_.product->rows,
                    packed_b + offset_of(k_block, columns_padded_) + block.col * steps,
                    steps * format_.product->cols, sums, stride,
                    starts ? inner::kTileStart : blocks_.mode);
  }

  void begin(const Block& block, float* sums, std::int64_t stride) const {
    if (ends_.start == nullptr && k_blocks_ > 0) return;
    for (std::int64_t i = 0; i < block.rows; ++i) {
      float* row = sums + i * stride;
      std::fill(row, row + stride, 0.0f);
      if (ends_.start == nullptr) continue;
      const float* from = ends_.start + (block.row + i) * c_.stride + block.col;
      std::copy(from, from + block.cols, row);
    }
  }

  void end(const Block& block, const float* sums, std::int64_t stride) const {
    for (std::int64_t i = 0; i < block.rows; ++i) {
      float* to = c_.row(block.row + i) + block.col;
      if (ends_.finishes) {
        table_.finish(sums + i * stride, block.cols, to, ends_.rounding, ends_.accumulate);
      } else {
        std::copy(sums + i * stride, sums + i * stride + block.cols, to);
      }
    }
  }

  const inner::Table& table_;
  InputFormat format_;
  Operand a_, b_;
  Shape shape_;
  Matrix c_;
  Ends ends_;
  ChainBlocks blocks_;
  std::int64_t k_blocks_;
  std::int64_t columns_padded_;
};

void check_shapes(const char* op, const Shape& a_side, const Shape& b_side, Matrix c) {
  NB_CHECK(a_side.k == b_side.k, "[{}] k differs: a has {}, b has {}", op, a_side.k, b_side.k);
  NB_CHECK(c.rows == a_side.m && c.cols == b_side.n, "[{}] c is ({},{}), the product ({},{})", op,
           c.rows, c.cols, a_side.m, b_side.n);
}

bool uses_blas(const MatmulPolicy& policy) {
  if (policy.accumulation != Accumulation::kHostBlas) return false;
  NB_CHECK(policy.inputs == DType::kFp32 && policy.output == DType::kFp32,
           "[matmul] host BLAS is fp32 only, the policy says {} -> {}", name(policy.inputs),
           name(policy.output));
  return true;
}

void product(const Operand& a, const Operand& b, const Shape& shape, Matrix c,
             const MatmulPolicy& policy, bool accumulate) {
  if (shape.m == 0 || shape.n == 0) return;
  const Ends ends{.rounding = inner::rounding_of(policy.output, policy.fp16_saturates),
                  .accumulate = accumulate};
  Multiplication(a, b, shape, c, policy, ends).run();
}

}  // namespace

void matmul_nt(ConstMatrix a, ConstMatrix b, Matrix c, const MatmulPolicy& policy,
               bool accumulate) {
  check_shapes("matmul_nt", {a.rows, 0, a.cols}, {0, b.rows, b.cols}, c);
  if (uses_blas(policy)) return openblas_nt(a, b, c, accumulate);
  product({a.data, a.stride, 1}, {b.data, b.stride, 1}, {c.rows, c.cols, a.cols}, c, policy,
          accumulate);
}

void matmul_nn(ConstMatrix a, ConstMatrix b, Matrix c, const MatmulPolicy& policy,
               bool accumulate) {
  check_shapes("matmul_nn", {a.rows, 0, a.cols}, {0, b.cols, b.rows}, c);
  if (uses_blas(policy)) return openblas_nn(a, b, c, accumulate);
  product({a.data, a.stride, 1}, {b.data, 1, b.stride}, {c.rows, c.cols, a.cols}, c, policy,
          accumulate);
}

void matmul_tn(ConstMatrix a, ConstMatrix b, Matrix c, const MatmulPolicy& policy,
               bool accumulate) {
  check_shapes("matmul_tn", {a.cols, 0, a.rows}, {0, b.cols, b.rows}, c);
  if (uses_blas(policy)) return openblas_tn(a, b, c, accumulate);
  product({a.data, 1, a.stride}, {b.data, 1, b.stride}, {c.rows, c.cols, a.rows}, c, policy,
          accumulate);
}

void matmul_tn_block(ConstMatrix a, ConstMatrix b, Matrix partial, const MatmulPolicy& policy,
                     bool is_first) {
  check_shapes("matmul_tn_block", {a.cols, 0, a.rows}, {0, b.cols, b.rows}, partial);
  if (policy.accumulation == Accumulation::kHostBlas) {
    static_cast<void>(uses_blas(policy));
    return openblas_tn(a, b, partial, !is_first);
  }
  NB_CHECK(policy.accumulation == Accumulation::kChain,
           "[matmul_tn_block] only a chain can be continued, not block16 or splitk");
  if (partial.size() == 0) return;
  const Ends ends{.start = is_first ? nullptr : partial.data, .finishes = false};
  Multiplication({a.data, 1, a.stride}, {b.data, 1, b.stride}, {partial.rows, partial.cols, a.rows},
                 partial, policy, ends)
      .run();
}

void matmul_finish(ConstMatrix partial, Matrix c, const MatmulPolicy& policy, bool accumulate) {
  NB_CHECK(partial.rows == c.rows && partial.cols == c.cols,
           "[matmul_finish] partial is ({},{}), c ({},{})", partial.rows, partial.cols, c.rows,
           c.cols);
  const int rounding = inner::rounding_of(policy.output, policy.fp16_saturates);
  const inner::Table& table = inner::table();
  parallel_chunks(static_cast<std::size_t>(c.rows), 64, [&](std::size_t begin, std::size_t end) {
    check_float_mode();
    for (auto i = static_cast<std::int64_t>(begin); i < static_cast<std::int64_t>(end); ++i) {
      table.finish(partial.row(i), c.cols, c.row(i), rounding, accumulate);
    }
  });
}

struct PackedMatrix::Form {
  PackFor use;
  DType inputs;
  SimdLevel level;
  std::int64_t rows, cols;
  std::vector<float> values;

  ConstMatrix matrix() const { return nb::matrix(values.data(), rows, cols); }
};

PackedMatrix::PackedMatrix() = default;
PackedMatrix::PackedMatrix(PackedMatrix&& other) noexcept = default;
PackedMatrix& PackedMatrix::operator=(PackedMatrix&& other) noexcept = default;
PackedMatrix::~PackedMatrix() = default;

std::int64_t PackedMatrix::rows() const { return empty() ? 0 : form_->rows; }
std::int64_t PackedMatrix::cols() const { return empty() ? 0 : form_->cols; }

bool PackedMatrix::suits(PackFor use, const MatmulPolicy& policy) const {
  return !empty() && form_->use == use && form_->inputs == policy.inputs &&
         form_->level == simd_level() && policy.accumulation != Accumulation::kHostBlas;
}

PackedMatrix pack_weight(ConstMatrix weight, const MatmulPolicy& policy, PackFor use) {
  NB_CHECK(policy.accumulation != Accumulation::kHostBlas, "[pack_weight] host BLAS packs nothing");
  PackedMatrix packed;
  packed.form_ = std::make_unique<PackedMatrix::Form>();
  PackedMatrix::Form& form = *packed.form_;
  form = {use, policy.inputs, simd_level(), weight.rows, weight.cols, {}};
  for (std::int64_t i = 0; i < weight.rows; ++i) {
    form.values.insert(form.values.end(), weight.row(i), weight.row(i) + weight.cols);
  }
  return packed;
}

void matmul_nt(ConstMatrix a, const PackedMatrix& b, Matrix c, const MatmulPolicy& policy,
               bool accumulate) {
  NB_CHECK(b.suits(PackFor::kNt, policy), "[matmul_nt] b is not packed for this product");
  matmul_nt(a, b.form()->matrix(), c, policy, accumulate);
}

void matmul_nn(ConstMatrix a, const PackedMatrix& b, Matrix c, const MatmulPolicy& policy,
               bool accumulate) {
  NB_CHECK(b.suits(PackFor::kNn, policy), "[matmul_nn] b is not packed for this product");
  matmul_nn(a, b.form()->matrix(), c, policy, accumulate);
}

}  // namespace nb::kernels
