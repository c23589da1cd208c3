#include "harness/run/environment.hpp"

#include <nlohmann/json.hpp>

#include "harness/base/host_info.hpp"
#include "harness/base/parallel.hpp"
#include "harness/plan/node_kinds.hpp"
#include "model/kernels/openblas.hpp"
#include "model/kernels/simd_level.hpp"

namespace nb {
namespace {

Json simd() {
  Json available = Json::array(), unavailable = Json::object();
  for (const SimdLevel level : all_simd_levels()) {
    const std::string reason = unavailable_reason(level);
    if (reason.empty())
      available.push_back(name(level));
    else
      unavailable[std::string(name(level))] = reason;
  }
  return {{"used", name(simd_level())}, {"available", available}, {"unavailable", unavailable}};
}

}  // namespace

Json environment_of(NodeKind kind) {
  const HostInfo host = host_info();
  const kernels::OpenBlasInfo blas = kernels::openblas_info();
  return {
      {"program", program_version()},
      {"code", {{"digest", code_digest(kind)}, {"components", code_digests(kind)}}},
      {"host",
       {{"cpu", host.cpu},
        {"cores", host.cores},
        {"memory_bytes", host.memory_bytes},
        {"kernel", host.kernel},
        {"compiler", host.compiler},
        {"architecture", host.architecture}}},
      {"simd", simd()},
      {"openblas", {{"core", blas.core}, {"config", blas.config}}},
      {"threads", threads()},
  };
}

std::string program_version() { return "npubench " NB_VERSION; }

}  // namespace nb
