// Which levels were compiled: the build defines NB_HAS_X86_LEVELS or NB_HAS_NEON_LEVEL.
#include "model/kernels/inner/dispatch.hpp"

namespace nb::kernels::inner {

namespace scalar {
extern const Table kTable;
}
#if defined(NB_HAS_X86_LEVELS)
namespace avx2 {
extern const Table kTable;
}
namespace avx512 {
extern const Table kTable;
}
namespace avx512bf16 {
extern const Table kTable;
}
#endif
#if defined(NB_HAS_NEON_LEVEL)
namespace neon {
extern const Table kTable;
}
#endif

const Table* compiled_table(SimdLevel level) {
  switch (level) {
    case SimdLevel::kScalar:
      return &scalar::kTable;
#if defined(NB_HAS_X86_LEVELS)
    case SimdLevel::kAvx2:
      return &avx2::kTable;
    case SimdLevel::kAvx512:
      return &avx512::kTable;
    case SimdLevel::kAvx512Bf16:
      return &avx512bf16::kTable;
#endif
#if defined(NB_HAS_NEON_LEVEL)
    case SimdLevel::kNeon:
      return &neon::kTable;
#endif
    default:
      return nullptr;
  }
}

}  // namespace nb::kernels::inner
