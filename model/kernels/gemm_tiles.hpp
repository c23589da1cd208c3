// The tiles of one stage of a product. Internal to model/kernels; one thread.
#pragma once

#include <cstdint>

#include "model/kernels/gemm_interleaved.hpp"
#include "model/kernels/gemm_product.hpp"

namespace nb::kernels {

// Sums of a task's rows, in their order.
struct GemmSums {
  float* data = nullptr;
  std::int64_t stride = 0;
  float* at(std::int64_t row, std::int64_t col) const { return data + row * stride + col; }
};
// What pieces leave to later ones: the chain at work, and the sum of the parts that have ended.
struct TaskSums {
  GemmSums chain, parts;
};

// What a stage multiplies and where its results go.
struct StageOperands {
  const std::uint32_t* words;   // of A, of the stage's rows and steps
  const std::uint32_t* panels;  // of the whole product
  TaskSums sums;
  float* memory;  // for C where it exists block by block alone
};

// Multiplies the stage. Before each tile, `next` is asked what of the next stage is due; the tile
// does it on its way. Where the stage ends its chains, blocks of C are handed over
// (GemmEnds::after) as soon as they are complete.
void multiply_stage(const GemmProduct& product, const TaskStage& stage,
                    const StageOperands& operands, Interleaved& interleaved, NextStage& next);

// C of a product without steps: chains of nothing.
void finish_empty(const GemmProduct& product, const GemmBlock& task);

// Tiles of one piece.
std::int64_t tile_calls(const inner::Gemm& gemm, const GemmBlock& block);

}  // namespace nb::kernels
