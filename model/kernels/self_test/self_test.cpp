#include "model/kernels/self_test/self_test.hpp"

#include "model/kernels/self_test/cases.hpp"

namespace nb::kernels {

// Whole products are finished by Table::finish where they are compared with tiles, and attention
// takes its operands from its own packing: what others are made of comes first.
SelfTestResults self_test_results(const inner::Table& table) {
  self_test::Results all;
  all.append(self_test::elementwise_results(table));
  all.append(self_test::row_results(table));
  all.append(self_test::cross_entropy_results(table));
  all.append(self_test::gemm_results(table, *table.gemm_fp32, false));
  all.append(self_test::gemm_results(table, *table.gemm_bf16, true));
  all.append(self_test::attention_results(*table.fp32_attention, false));
  all.append(self_test::attention_results(*table.bf16_attention, true));
  return all.take();
}

std::string first_difference(const SelfTestResults& results, const SelfTestResults& scalar) {
  for (std::size_t i = 0; i < scalar.size(); ++i) {
    if (i == results.size() || results[i].entry != scalar[i].entry ||
        !self_test::same(results[i].values, scalar[i].values)) {
      return scalar[i].entry;
    }
  }
  return results.size() == scalar.size() ? "" : "number of results";
}

}  // namespace nb::kernels
