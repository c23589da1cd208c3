// Prefetching by hand where the next source is known long before its use. Internal to
// model/kernels.
#pragma once

#include <algorithm>
#include <cstdint>

namespace nb::kernels {

// Asks for a source ahead of its use, some lines at a time.
class FetchAhead {
 public:
  FetchAhead() = default;
  // `runs` runs of `count` values, `stride` values apart; spread over `portions` calls.
  FetchAhead(const void* data, std::int64_t runs, std::int64_t count, std::int64_t stride,
             std::int64_t portions)
      : data_(static_cast<const float*>(data)),
        stride_(stride),
        lines_((count + kLine - 1) / kLine),
        left_(runs * lines_),
        portion_((left_ + std::max<std::int64_t>(portions, 1) - 1) /
                 std::max<std::int64_t>(portions, 1)) {}

  void next() {
    for (std::int64_t i = std::min(portion_, left_); i > 0; --i) {
      __builtin_prefetch(data_ + at_ * kLine, 0, 2);
      if (++at_ == lines_) {
        at_ = 0;
        data_ += stride_;
      }
    }
    left_ -= std::min(portion_, left_);
  }

 private:
  static constexpr std::int64_t kLine = 16;  // values of a cache line
  const float* data_ = nullptr;
  std::int64_t stride_ = 0, lines_ = 0, left_ = 0, portion_ = 0, at_ = 0;
};

}  // namespace nb::kernels
