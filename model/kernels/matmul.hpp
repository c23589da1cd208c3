// Matrix products in the canonical order of policy.hpp: bits depend on neither blocking, threads,
// vector width nor neighbouring rows. Naive definition: reference/matmul.hpp. C must not overlap A
// or B. Shapes disagree or a policy that the product cannot have: NB_CHECK. K = 0 gives +0.
// Operands may be bf16 where the policy has them (takes_bf16). Parallel inside.
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

// The same of several A of one shape, whose C do not overlap, with one B: it is read once.
struct TransposedProduct {
  ConstAnyMatrix a;
  Matrix c;
};
void matmul_tn(std::span<const TransposedProduct> products, ConstAnyMatrix b,
               const MatmulPolicy& policy, bool accumulate = false);

// C (M,M) = A (M,K) · Aᵀ. A chain's products commute, so C is symmetric to the bit: one triangle is
// computed, the other copied. Same bits as matmul_nt(a, a, c).
void matmul_gram(ConstMatrix a, Matrix c, const MatmulPolicy& policy);

// The same product as one matmul_tn, handed over in blocks of K rows (so that a (B·T, V) gradient
// need not exist at once): the chain continues from `partial` (M,N), which the first block starts.
// Only kChain; every block but the last must have an even number of rows. Afterwards matmul_finish:
// C = round(partial + 0), or C +=.
void matmul_tn_block(ConstMatrix a, ConstMatrix b, Matrix partial, const MatmulPolicy& policy,
                     bool is_first);
void matmul_finish(ConstMatrix partial, Matrix c, const MatmulPolicy& policy,
                   bool accumulate = false);

// Rows [row, row + rows) × columns [col, col + cols) of a product's C, and where they lie.
struct ProductBlock {
  std::int64_t row, rows, col, cols;
  Matrix values = {};
};
// What the thread that finished a block does with it while it is in its cache.
using AfterBlock = std::function<void(const ProductBlock&)>;

// A weight whose packing is done once for many products. Which of them: matmul_nt of a weight
// (N,K), or matmul_nn of a weight (K,N). Holds a copy: the source may change or die. Move-only.
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
  // True when a product of this kind, with this policy and at the SIMD level now in use, can take
  // it. Accumulation and output may differ from what it was packed with.
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

// Same bits as with the matrix that was packed. NB_CHECK: b suits the product. after: called once
// for each block of C, which together are C.
void matmul_nt(ConstAnyMatrix a, const PackedMatrix& b, Matrix c, const MatmulPolicy& policy,
               bool accumulate = false, const AfterBlock& after = {});
void matmul_nn(ConstAnyMatrix a, const PackedMatrix& b, Matrix c, const MatmulPolicy& policy,
               bool accumulate = false, const AfterBlock& after = {});
// C exists block by block alone: `take` finds it in ProductBlock::values.
void matmul_nt_blocks(ConstAnyMatrix a, const PackedMatrix& b, const MatmulPolicy& policy,
                      const AfterBlock& take);
void matmul_nn_blocks(ConstAnyMatrix a, const PackedMatrix& b, const MatmulPolicy& policy,
                      const AfterBlock& take);

}  // namespace nb::kernels
