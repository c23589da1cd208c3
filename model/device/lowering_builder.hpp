// Writes a Lowering down in the order of execution: blocks are opened before the kernel that comes
// next and closed after the one that came last. For lowering_*.cpp; not for other folders.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/device/lowering.hpp"

namespace nb {

class LoweringBuilder {
 public:
  using Handle = std::size_t;

  LoweringBuilder(const OpDesc& desc, const SoftwareProfile& software,
                  const NumericsPolicy& numerics);

  const OpDesc& desc() const { return desc_; }
  const SoftwareProfile& software() const { return software_; }
  const NumericsPolicy& numerics() const { return numerics_; }

  std::uint64_t bytes(std::int64_t count, DType dtype) const;
  std::uint64_t act(std::int64_t count) const { return bytes(count, numerics_.storage); }
  static std::uint64_t fp32(std::int64_t count) { return static_cast<std::uint64_t>(count) * 4; }

  // Pointwise or reduction kernel over `count` elements with `flops_each`.
  void vector(std::string_view name, std::int64_t count, double flops_each, std::uint64_t read,
              std::uint64_t write);
  // batch × (m,k)·(k,n), inputs and output of `dtype`.
  void product(std::string_view name, std::int64_t batch, std::int64_t m, std::int64_t n,
               std::int64_t k, DType dtype);
  // Fused causal attention of the desc; read and write bytes as given.
  void attention(std::string_view name, double flops, std::uint64_t read, std::uint64_t write,
                 bool backward);
  // A copy of `count` activations into their place, read or written in bursts of so many.
  void copy_strided(std::string_view name, std::int64_t count, std::int64_t together);
  void copy_over_host_link(std::string_view name, std::uint64_t size_bytes);
  void collective(std::string_view name, std::uint64_t size_bytes);

  Handle open(std::string_view name, std::uint64_t size_bytes);
  void close(Handle block);
  // Open until the op ends; kept for backward when the op saves for backward.
  void save(std::string_view name, std::uint64_t size_bytes);
  void save_input(std::size_t index);
  void save_output() { lowering_.saves_output = true; }
  void recompute_output() { lowering_.recomputes_output = true; }
  void wait() { lowering_.waits = true; }

  Lowering finish();

 private:
  static constexpr std::size_t kOpenEnd = static_cast<std::size_t>(-1);
  const OpDesc& desc_;
  const SoftwareProfile& software_;
  const NumericsPolicy& numerics_;
  Lowering lowering_;
};

}  // namespace nb
