#include "model/predict/kernel_validation.hpp"

#include <fmt/format.h>

#include "model/device/cost_model.hpp"
#include "model/predict/validated_row.hpp"

namespace nb {
namespace {

Result<std::int64_t> kernel_size(const CalibrationRow& row, std::string_view column) {
  NB_TRY(const auto value, row.whole(column));
  if (!value) return bad_input(fmt::format("{}: {} has no {}", row.where, row.id, column));
  return *value;
}

Result<DType> dtype_of(const CalibrationRow& row) {
  const std::string_view text = row.text("dtype");
  if (text == "fp16") return DType::kFp16;
  if (text == "bf16") return DType::kBf16;
  if (text == "fp32") return DType::kFp32;
  return bad_input(fmt::format("{}: unknown dtype \"{}\" (fp16, bf16, fp32)", row.where, text));
}

Result<void> check_unit(const CalibrationRow& row, std::string_view unit) {
  if (row.unit == unit) return {};
  return bad_input(
      fmt::format("{}: unit {}: rows of this file are in {}", row.where, row.unit, unit));
}

// A row of vector.csv: a stream through the vector cores, or operands on their way to the matrix
// unit.
Result<double> stream_ns(const CalibrationRow& row, const DeviceProfile& profile) {
  NB_TRY(const std::int64_t read, kernel_size(row, "read_bytes"));
  NB_TRY(const std::int64_t written, kernel_size(row, "write_bytes"));
  NB_TRY(const auto cached, row.number("resident"));
  NB_TRY(const std::int64_t aligned, kernel_size(row, "aligned"));
  NB_TRY(const std::int64_t uncached, kernel_size(row, "uncached_reads"));
  Kernel kernel;
  kernel.name = "stream";
  kernel.read_bytes = static_cast<std::uint64_t>(read);
  kernel.write_bytes = static_cast<std::uint64_t>(written);
  NB_TRY(kernel.burst_bytes, kernel_size(row, "burst_bytes"));
  kernel.is_unaligned = aligned == 0;
  kernel.cached_share = cached.value_or(0);
  kernel.reads_uncached = uncached != 0;
  if (row.text("operation") == "read_nd2nz")
    return static_cast<double>(operand_load_ns(kernel, profile));
  return static_cast<double>(kernel_cost(kernel, profile).time_ns);
}

Result<double> stream_us(const CalibrationRow& row, const DeviceProfile& profile) {
  NB_TRY_VOID(check_unit(row, "us"));
  NB_TRY(const double time_ns, stream_ns(row, profile));
  return time_ns / 1000;
}

Result<double> product_us(const CalibrationRow& row, const DeviceProfile& profile) {
  NB_TRY_VOID(check_unit(row, "us"));
  NB_TRY(const double time_ns, product_ns(row, profile));
  return time_ns / 1000;
}

// A whole kernel; or one block of queries a core, as if all cores had one, at the rate of some.
Result<double> attention_measure(const CalibrationRow& row, const DeviceProfile& profile) {
  NB_TRY(const std::int64_t batch, kernel_size(row, "batch"));
  NB_TRY(const std::int64_t heads, kernel_size(row, "heads"));
  Kernel kernel;
  kernel.name = "fused_attention";
  kernel.unit = KernelUnit::kAttention;
  kernel.batch = batch * heads;
  NB_TRY(kernel.m, kernel_size(row, "queries"));
  NB_TRY(kernel.n, kernel_size(row, "head_dim"));
  NB_TRY(kernel.k, kernel_size(row, "seq"));
  NB_TRY(kernel.dtype, dtype_of(row));
  kernel.backward = row.text("direction") == "backward";
  double share = 1;  // of the cores
  if (!row.text("cores").empty()) {
    NB_TRY(const std::int64_t cores, kernel_size(row, "cores"));
    kernel.batch *= profile.matrix.cores.whole();
    share = static_cast<double>(cores) / static_cast<double>(profile.matrix.cores.whole());
  }
  kernel.flops =
      4.0 * static_cast<double>(kernel.batch * kernel.m) * static_cast<double>(kernel.n * kernel.k);
  const auto time_ns = static_cast<double>(kernel_cost(kernel, profile).time_ns);
  if (row.unit == "us") return time_ns / 1000;
  NB_TRY_VOID(check_unit(row, "TFLOP/s"));
  return share * kernel.flops / time_ns / 1000;
}

}  // namespace

Result<double> product_ns(const CalibrationRow& row, const DeviceProfile& profile) {
  Kernel kernel;
  kernel.name = "mm";
  kernel.unit = KernelUnit::kMatrix;
  NB_TRY(kernel.batch, kernel_size(row, "batch"));
  NB_TRY(kernel.m, kernel_size(row, "m"));
  NB_TRY(kernel.n, kernel_size(row, "n"));
  NB_TRY(kernel.k, kernel_size(row, "k"));
  NB_TRY(kernel.dtype, dtype_of(row));
  const auto width = static_cast<double>(storage_bytes(kernel.dtype));
  const auto m = static_cast<double>(kernel.m), n = static_cast<double>(kernel.n),
             k = static_cast<double>(kernel.k), batch = static_cast<double>(kernel.batch);
  kernel.flops = 2 * batch * m * n * k;
  kernel.read_bytes = static_cast<std::uint64_t>(batch * width * (m * k + k * n));
  const double out = row.text("output_dtype") == "fp32" ? 4 : width;
  kernel.write_bytes = static_cast<std::uint64_t>(batch * out * m * n);
  kernel.is_nz = row.text("weight_format") == "nz";
  if (kernel.m > 1 || kernel.batch > 1)
    return static_cast<double>(kernel_cost(kernel, profile).time_ns);
  // A matrix times a vector is work of the vector cores, which stream it once from main memory.
  kernel.unit = KernelUnit::kVector;
  DeviceProfile streaming = profile;
  streaming.memory.cache_resident.value = 0;
  return static_cast<double>(kernel_cost(kernel, streaming).time_ns);
}

Result<ProductValidation> validate_products(std::span<const CalibrationRow> rows,
                                            const OwnConstants& own) {
  ProductValidation result;
  result.gemm = {"gemm", "large products", "nanochat_npu", {}};
  result.skinny = {"skinny", "skinny products (CATLASS)", "nanochat_npu", {}};
  PricedMachines machines(own);
  for (const CalibrationRow& row : rows) {
    NB_TRY(ValidationRow validated, validated_row(row, machines, product_us));
    (row.use == RowUse::kFit ? result.gemm : result.skinny).rows.push_back(std::move(validated));
  }
  return result;
}

Result<ValidationGroup> validate_attention(std::span<const CalibrationRow> rows,
                                           const OwnConstants& own) {
  ValidationGroup group{"attention", "fused attention", "nanochat_gpu, nanochat_npu", {}};
  PricedMachines machines(own);
  for (const CalibrationRow& row : rows) {
    NB_TRY(ValidationRow validated, validated_row(row, machines, attention_measure));
    group.rows.push_back(std::move(validated));
  }
  return group;
}

Result<ValidationGroup> validate_vector(std::span<const CalibrationRow> rows,
                                        const OwnConstants& own) {
  ValidationGroup group{"vector", "streams and elementwise kernels", "nanochat_npu", {}};
  PricedMachines machines(own);
  for (const CalibrationRow& row : rows) {
    NB_TRY(ValidationRow validated, validated_row(row, machines, stream_us));
    group.rows.push_back(std::move(validated));
  }
  return group;
}

}  // namespace nb
