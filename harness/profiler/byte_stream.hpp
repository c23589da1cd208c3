// A file, packed by gzip or not, as a stream of its bytes: traces are larger than memory.
#pragma once

#include <filesystem>
#include <istream>
#include <memory>

#include "harness/base/result.hpp"

namespace nb::profiler {

class ByteStream : public std::istream {
 public:
  using std::istream::istream;
  virtual bool is_broken() const = 0;  // the archive is cut or damaged: what was read is the rest
  virtual std::uint64_t read_bytes() const = 0;  // of the file, packed
};

// run_error: it cannot be read.
Result<std::unique_ptr<ByteStream>> open_bytes(const std::filesystem::path& path);

}  // namespace nb::profiler
