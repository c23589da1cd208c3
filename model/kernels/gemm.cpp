// Drives the threads of a product (gemm_product.hpp) through its tasks and their stages. Of every
// stage the operands come first (gemm_left.hpp, gemm_right.hpp), then the tiles (gemm_tiles.hpp):
//
// 1. The words of a stage are complete before its first tile runs.
// 2. The words of the stage after it, which may be the first of the task that the thread expects
//    next, are made while its tiles run, in other memory; what is left is made after its last
//    tile.
// 3. A thread that gets another task than it expected makes that task's words before it begins.
#include "model/kernels/gemm.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "harness/base/parallel.hpp"
#include "model/kernels/gemm_product.hpp"
#include "model/kernels/gemm_tiles.hpp"
#include "model/kernels/scratch.hpp"

namespace nb::kernels {
namespace {

// One thread of a product.
class Worker {
 public:
  explicit Worker(const GemmProduct& product)
      : product_(product),
        words_(words_bytes(product)),
        other_words_(words_bytes(product)),
        own_panels_(product.panel_source()
                        ? panels_bytes(product.format(), product.shape().n, product.shape().k)
                        : 0),
        now_(words_.words()),
        then_(other_words_.words()) {
    if (product.panel_source()) {
      right_.emplace(product.format(), *product.panel_source(), product.grid().columns,
                     own_panels_.words());
    }
  }

  void run(Pieces& left) {
    const auto max_at_once = static_cast<std::size_t>(product_.grid().max_at_once);
    while (const auto task = left.take(max_at_once)) {
      if (product_.block(*task).cols > 0) run_task(*task, left.expected(max_at_once));
    }
  }

 private:
  using Task = GemmProduct::Task;

  static std::size_t words_bytes(const GemmProduct& product) {
    return stage_words(product.grid().stage_rows, product.max_stage_steps()) * 4;
  }

  void run_task(const Task& at, std::optional<Task> expected) {
    const GemmBlock task = product_.block(at);
    TaskStage stage = product_.first_stage(task);
    const std::int64_t stride =
        product_.keeps_sums() ? round_up(task.cols, kMaxTileColumns) : kMaxTileColumns;
    const auto sums_bytes = static_cast<std::size_t>(stage.block.rows * stride) * 4;
    const Scratch chain(product_.pieces().size() > 1 ? sums_bytes : 0),
        parts(product_.has_parts() ? sums_bytes : 0);
    const Scratch memory(product_.memory_bytes(stage.block.rows));
    const TaskSums sums = {{chain.floats(), stride}, {parts.floats(), stride}};
    Interleaved interleaved;
    if (ready_ != at) operands(stage, 1, now_).finish(interleaved);
    while (true) {
      const bool ends = product_.is_last(task, stage);
      if (ends) ready_ = expected;
      const std::optional<TaskStage> then =
          ends ? first_stage(expected) : product_.after(task, stage);
      NextStage next;
      if (then.has_value()) {
        const auto pieces = static_cast<std::int64_t>(stage.end - stage.begin);
        next = operands(*then, tile_calls(product_.gemm(), stage.block) * pieces, then_);
      }
      interleaved.right = {};
      multiply_stage(product_, stage, {now_, panels(), sums, memory.floats()}, interleaved, next);
      next.finish(interleaved);
      std::swap(now_, then_);
      if (ends) return;
      stage = *then;
    }
  }

  std::optional<TaskStage> first_stage(std::optional<Task> task) const {
    if (!task.has_value() || product_.block(*task).cols == 0) return std::nullopt;
    return product_.first_stage(product_.block(*task));
  }

  // What makes a stage's operands, spread over so many calls of tiles.
  NextStage operands(const TaskStage& stage, std::int64_t calls, std::uint32_t* words) {
    const GemmBlock& block = stage.block;
    const std::int64_t first = product_.pieces()[stage.begin].first;
    NextStage made = {{product_.format(),
                       product_.left(block),
                       product_.shape().k,
                       {product_.row_of_left(block), block.rows, first,
                        product_.steps_of(stage.begin, stage.end)},
                       calls,
                       words},
                      {}};
    if (right_) made.panels = {*right_, block.col, first, calls};
    return made;
  }

  const std::uint32_t* panels() const { return right_ ? own_panels_.words() : product_.panels(); }

  const GemmProduct& product_;
  const Scratch words_, other_words_, own_panels_;
  std::uint32_t *now_, *then_;        // words of the stage at work, and of the one after it
  std::optional<RightPanels> right_;  // where threads make the panels
  std::optional<Task> ready_;         // whose first words, and panels, are there
};

void run(const GemmProduct& product) {
  parallel_pieces(static_cast<std::size_t>(product.tasks()), [&](Pieces& left) {
    check_float_mode();
    if (!product.pieces().empty()) return Worker(product).run(left);
    const auto max_at_once = static_cast<std::size_t>(product.grid().max_at_once);
    while (const auto task = left.take(max_at_once)) finish_empty(product, product.block(*task));
  });
}

}  // namespace

void multiply(const GemmFormat& format, const GemmLeft& a, const std::uint32_t* panels,
              const GemmShape& shape, Matrix c, const MatmulPolicy& policy, const GemmEnds& ends) {
  if (shape.m == 0 || shape.n == 0) return;
  run(GemmProduct(format, a, panels, shape, c, policy, ends));
}

void multiply_transposed(const GemmFormat& format, std::span<const TransposedProduct> products,
                         ConstAnyMatrix b, const MatmulPolicy& policy, const GemmEnds& ends) {
  const auto& [a, c] = products.front();
  if (c.size() == 0) return;
  const GemmShape shape = {std::ssize(products) * c.rows, c.cols, a.rows, c.rows};
  GemmProduct product(format, {a, true}, nullptr, shape, c, policy, ends);
  product.set_products(products);
  product.make_panels(b);
  run(product);
}

}  // namespace nb::kernels
