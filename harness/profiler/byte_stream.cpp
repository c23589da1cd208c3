#include "harness/profiler/byte_stream.hpp"

#include <fmt/core.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <streambuf>
#include <string>
#include <vector>

namespace nb::profiler {
namespace {

// gzread copies what is not packed as it is.
class PackedBuffer : public std::streambuf {
 public:
  explicit PackedBuffer(gzFile file) : file_(file), buffer_(std::size_t{1} << 18) {}
  ~PackedBuffer() override { gzclose(file_); }
  PackedBuffer(const PackedBuffer&) = delete;
  PackedBuffer& operator=(const PackedBuffer&) = delete;
  bool is_broken() const { return is_broken_; }
  std::uint64_t read_bytes() const { return static_cast<std::uint64_t>(gzoffset(file_)); }

 protected:
  int_type underflow() override {
    const int count = gzread(file_, buffer_.data(), static_cast<unsigned>(buffer_.size()));
    if (count <= 0) {
      int error = Z_OK;
      gzerror(file_, &error);
      is_broken_ = is_broken_ || count < 0 || error != Z_OK;
      return traits_type::eof();
    }
    setg(buffer_.data(), buffer_.data(), buffer_.data() + count);
    return traits_type::to_int_type(buffer_[0]);
  }

 private:
  gzFile file_;
  std::vector<char> buffer_;
  bool is_broken_ = false;
};

class PackedStream : public ByteStream {
 public:
  explicit PackedStream(gzFile file) : ByteStream(nullptr), buffer_(file) { rdbuf(&buffer_); }
  bool is_broken() const override { return buffer_.is_broken(); }
  std::uint64_t read_bytes() const override { return buffer_.read_bytes(); }

 private:
  PackedBuffer buffer_;
};

}  // namespace

Result<std::unique_ptr<ByteStream>> open_bytes(const std::filesystem::path& path) {
  errno = 0;
  const gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr)
    return run_error(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  gzbuffer(file, 1U << 18);
  return std::unique_ptr<ByteStream>(std::make_unique<PackedStream>(file));
}

}  // namespace nb::profiler
