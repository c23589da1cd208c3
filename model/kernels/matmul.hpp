// Matrix products in the canonical order of policy.hpp. The bits of an element do not depend on
// blocking, threads, vector width or neighbouring rows. The naive definition is
// reference/matmul.hpp.
//
// C must not overlap A or B. K = 0 gives +0. Shapes that disagree and policies that a product
// cannot have fail NB_CHECK. Operands may be stored as bf16 where the policy takes_bf16(). Parallel
// inside.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "model/kernels/policy.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

// C (M,N) = A (M,K) · B (N,K)ᵀ : y = x Wᵀ.  accumulate: C += the rounded product (one fp32
// addition).
void matmul_nt(ConstMatrix a, ConstMatrix b, Matrix c, const MatmulPolicy& policy,
               bool accumulate = false);
// C (M,N) = A (M,K) · B (K,N) : dx = dy W.
void matmul_nn(ConstMatrix a, ConstMatrix b, Matrix c, const MatmulPolicy& policy,
               bool accumulate = false);
// C (M,N) = A (K,M)ᵀ · B (K,N) : dW = dyᵀ x.
void matmul_tn(ConstAnyMatrix a, ConstAnyMatrix b, Matrix c, const MatmulPolicy& policy,
               bool accumulate = false);

// Several products with one B, which is read once. All A have one shape; no C overlaps another.
struct TransposedProduct {
  ConstAnyMatrix a;
  Matrix c;
};
void matmul_tn(std::span<const TransposedProduct> products, ConstAnyMatrix b,
               const MatmulPolicy& policy, bool accumulate = false);

// C (M,M) = A (M,K) · Aᵀ, with the bits of matmul_nt(a, a, c). Products commute, so C is symmetric
// to the bit: one triangle is computed, the other copied.
void matmul_gram(ConstMatrix a, Matrix c, const MatmulPolicy& policy);

// One matmul_tn whose A and B come in blocks of K rows, so that a (B·T, V) gradient need not exist
// at once. Only kChain.
// 1. The first block starts the chains in `partial` (M,N), later blocks continue them.
// 2. Every block but the last has an even number of rows.
// 3. matmul_finish comes after the last block: C = round(partial + 0), or C += that.
void matmul_tn_block(ConstMatrix a, ConstMatrix b, Matrix partial, const MatmulPolicy& policy,
                     bool is_first);
void matmul_finish(ConstMatrix partial, Matrix c, const MatmulPolicy& policy,
                   bool accumulate = false);

// Rows [row, row + rows) × columns [col, col + cols) of a product's C, and where they lie.
struct ProductBlock {
  std::int64_t row, rows, col, cols;
  Matrix values = {};
};
// Called by the thread that has finished a block, while the block is in its cache.
using AfterBlock = std::function<void(const ProductBlock&)>;

// A weight that is packed once for many products: for matmul_nt a weight (N,K), for matmul_nn a
// weight (K,N). It holds a copy, so the source may change or die. Move-only.
enum class PackFor { kNt, kNn };

class PackedMatrix {
 public:
  PackedMatrix();  // empty
  PackedMatrix(PackedMatrix&& other) noexcept;
  PackedMatrix& operator=(PackedMatrix&& other) noexcept;
  ~PackedMatrix();

  bool empty() const { return form_ == nullptr; }
  // Of the matrix that was packed; 0 when empty.
  std::int64_t rows() const;
  std::int64_t cols() const;
  // Whether a product of this kind can take it, with this policy and at the SIMD level in use. The
  // policy's accumulation and output may differ from those that it was packed with.
  bool suits(PackFor use, const MatmulPolicy& policy) const;

  // Packs anew, in the memory it has where that suffices.
  void pack(ConstMatrix weight, const MatmulPolicy& policy, PackFor use);

 private:
  friend class PackedProduct;
  friend const std::uint32_t* packed_panels(const PackedMatrix&);
  struct Form;
  std::unique_ptr<Form> form_;
};

// policy.accumulation kHostBlas has no packed form: NB_CHECK. Parallel inside.
PackedMatrix pack_weight(ConstMatrix weight, const MatmulPolicy& policy, PackFor use);

// The bits of the product with the matrix that was packed. b must suit the product (NB_CHECK).
// after: called once for each block of C; together the blocks are C.
void matmul_nt(ConstAnyMatrix a, const PackedMatrix& b, Matrix c, const MatmulPolicy& policy,
               bool accumulate = false, const AfterBlock& after = {});
void matmul_nn(ConstAnyMatrix a, const PackedMatrix& b, Matrix c, const MatmulPolicy& policy,
               bool accumulate = false, const AfterBlock& after = {});
// C exists only block by block: `take` finds a block in ProductBlock::values.
void matmul_nt_blocks(ConstAnyMatrix a, const PackedMatrix& b, const MatmulPolicy& policy,
                      const AfterBlock& take);
void matmul_nn_blocks(ConstAnyMatrix a, const PackedMatrix& b, const MatmulPolicy& policy,
                      const AfterBlock& take);

}  // namespace nb::kernels
