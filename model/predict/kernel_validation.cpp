#include "model/predict/kernel_validation.hpp"

#include <fmt/format.h>

#include "model/device/cost_model.hpp"
#include "model/predict/validated_row.hpp"

namespace nb {
namespace {

Result<std::int64_t> needed(const CalibrationRow& row, std::string_view column) {
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
  NB_TRY(const std::int64_t read, needed(row, "read_bytes"));
  NB_TRY(const std::int64_t written, needed(row, "write_bytes"));
  NB_TRY(const auto cached, row.number("resident"));
  NB_TRY(const std::int64_t aligned, needed(row, "aligned"));
  NB_TRY(const std::int64_t uncached, needed(row, "uncached_reads"));
  Kernel kernel;
  kernel.name = "stream";
  kernel.read_bytes = static_cast<std::uint64_t>(read);
  kernel.write_bytes = static_cast<std::uint64_t>(written);
  NB_TRY(kernel.burst_bytes, needed(row, "burst_bytes"));
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

// One head of `seq` queries a core, as the row was measured: its rate on all cores.
Result<double> attention_tflop_s(const CalibrationRow& row, const DeviceProfile& profile) {
  NB_TRY_VOID(check_unit(row, "TFLOP/s"));
  NB_TRY(const std::int64_t cores, needed(row, "cores"));
  NB_TRY(const std::int64_t seq, needed(row, "seq"));
  NB_TRY(const std::int64_t head_dim, needed(row, "head_dim"));
  Kernel kernel;
  kernel.name = "fused_attention";
  kernel.unit = KernelUnit::kAttention;
  kernel.batch = profile.matrix.cores.whole();
  kernel.m = 128;
  kernel.n = head_dim;
  kernel.k = seq;
  NB_TRY(kernel.dtype, dtype_of(row));
  kernel.backward = row.text("direction") == "backward";
  kernel.flops = 4.0 * static_cast<double>(kernel.batch * 128 * head_dim * seq);
  const double all =
      kernel.flops / static_cast<double>(kernel_cost(kernel, profile).time_ns) / 1000;
  return all * static_cast<double>(cores) / static_cast<double>(kernel.batch);
}

}  // namespace

Result<double> product_ns(const CalibrationRow& row, const DeviceProfile& profile) {
  Kernel kernel;
  kernel.name = "mm";
  kernel.unit = KernelUnit::kMatrix;
  NB_TRY(kernel.batch, needed(row, "batch"));
  NB_TRY(kernel.m, needed(row, "m"));
  NB_TRY(kernel.n, needed(row, "n"));
  NB_TRY(kernel.k, needed(row, "k"));
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

Result<ProductValidation> validate_products(std::span<const CalibrationRow> rows) {
  ProductValidation result;
  result.gemm = {"gemm", "large products", "nanochat_npu", {}};
  result.skinny = {"skinny", "skinny products (CATLASS)", "nanochat_npu", {}};
  PricedMachines machines;
  for (const CalibrationRow& row : rows) {
    NB_TRY(ValidationRow validated, validated_row(row, machines, product_us));
    (row.use == RowUse::kFit ? result.gemm : result.skinny).rows.push_back(std::move(validated));
  }
  return result;
}

Result<ValidationGroup> validate_attention(std::span<const CalibrationRow> rows) {
  ValidationGroup group{"attention", "fused attention, one block a core", "nanochat_npu", {}};
  PricedMachines machines;
  for (const CalibrationRow& row : rows) {
    NB_TRY(ValidationRow validated, validated_row(row, machines, attention_tflop_s));
    group.rows.push_back(std::move(validated));
  }
  return group;
}

Result<ValidationGroup> validate_vector(std::span<const CalibrationRow> rows) {
  ValidationGroup group{"vector", "streams and elementwise kernels", "nanochat_npu", {}};
  PricedMachines machines;
  for (const CalibrationRow& row : rows) {
    NB_TRY(ValidationRow validated, validated_row(row, machines, stream_us));
    group.rows.push_back(std::move(validated));
  }
  return group;
}

}  // namespace nb
