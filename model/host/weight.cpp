#include "model/host/weight.hpp"

#include "harness/base/parallel.hpp"
#include "model/kernels/matmul.hpp"

namespace nb::host {
namespace {

struct PackedForms final : HostValues::Derived {
  struct Form {
    kernels::PackedMatrix matrix;
    std::uint64_t changes = 0;
  };
  Form nt, nn;
};

// For products that know no blocks.
void after_all(Matrix c, const kernels::AfterBlock& after) {
  if (!after) return;
  parallel_chunks(static_cast<std::size_t>(c.rows), 16, [&](std::size_t begin, std::size_t end) {
    const auto row = static_cast<std::int64_t>(begin), count = static_cast<std::int64_t>(end) - row;
    after({row, count, 0, c.cols, row_block(c, row, count)});
  });
}

}  // namespace

const kernels::PackedMatrix* packed_weight(HostValues& w, const MatmulPolicy& policy,
                                           kernels::PackFor use) {
  if (policy.accumulation == Accumulation::kHostBlas) return nullptr;
  if (w.derived == nullptr) w.derived = std::make_unique<PackedForms>();
  auto& forms = static_cast<PackedForms&>(*w.derived);
  PackedForms::Form& form = use == kernels::PackFor::kNt ? forms.nt : forms.nn;
  if (form.changes != w.changes || !form.matrix.suits(use, policy)) {
    form.matrix.pack(w.matrix(), policy, use);
    form.changes = w.changes;
  }
  return &form.matrix;
}

void multiply_weight_nt(ConstAnyMatrix x, HostValues& w, Matrix y, const MatmulPolicy& policy,
                        const kernels::AfterBlock& after) {
  const kernels::PackedMatrix* form = packed_weight(w, policy, kernels::PackFor::kNt);
  if (form != nullptr) return kernels::matmul_nt(x, *form, y, policy, false, after);
  kernels::matmul_nt(x.matrix(), w.matrix(), y, policy);
  after_all(y, after);
}

void multiply_weight_nn(ConstAnyMatrix dy, HostValues& w, Matrix dx, const MatmulPolicy& policy,
                        const kernels::AfterBlock& after) {
  const kernels::PackedMatrix* form = packed_weight(w, policy, kernels::PackFor::kNn);
  if (form != nullptr) return kernels::matmul_nn(dy, *form, dx, policy, false, after);
  kernels::matmul_nn(dy.matrix(), w.matrix(), dx, policy);
  after_all(dx, after);
}

}  // namespace nb::host
