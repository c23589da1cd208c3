// A folder for one program where no namespace gives it one; removed whatever the program made of
// it.
#pragma once

#include <cstdint>
#include <filesystem>

#include "harness/base/result.hpp"

namespace nb::sandbox {

class Scratch {
 public:
  // In the system's folder for temporary files. `for_nobody`: owned by user 65534 (root only).
  static Result<Scratch> create(bool for_nobody);
  ~Scratch();
  Scratch(Scratch&& other) noexcept;
  Scratch& operator=(Scratch&&) = delete;
  const std::filesystem::path& path() const { return path_; }
  // Whether its files are larger than that in sum, or too many or too deeply nested to count.
  bool is_over(std::uint64_t size_bytes) const;
  // Removes it with all that is in it; links are not followed.
  Result<void> remove();

 private:
  explicit Scratch(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace nb::sandbox
