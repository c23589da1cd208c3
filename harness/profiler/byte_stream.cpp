#include "harness/profiler/byte_stream.hpp"

#include <fmt/core.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <streambuf>
#include <vector>

#include "harness/base/progress.hpp"

namespace nb::profiler {
namespace {

// gzread copies what is not packed as it is.
class PackedBuffer : public std::streambuf {
 public:
  PackedBuffer(gzFile file, const std::filesystem::path& path)
      : file_(file), buffer_(std::size_t{1} << 18) {
    constexpr std::uintmax_t kLong = std::uintmax_t{64} << 20;  // seconds
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (!error && size > kLong)
      progress_.emplace("read " + path.filename().string(), static_cast<std::int64_t>(size >> 20),
                        "MiB");
  }
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
    if (progress_) progress_->update(static_cast<std::int64_t>(read_bytes() >> 20));
    setg(buffer_.data(), buffer_.data(), buffer_.data() + count);
    return traits_type::to_int_type(buffer_[0]);
  }

 private:
  gzFile file_;
  std::vector<char> buffer_;
  bool is_broken_ = false;
  std::optional<Progress> progress_;
};

class PackedStream : public ByteStream {
 public:
  PackedStream(gzFile file, const std::filesystem::path& path)
      : ByteStream(nullptr), buffer_(file, path) {
    rdbuf(&buffer_);
  }
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
  return std::unique_ptr<ByteStream>(std::make_unique<PackedStream>(file, path));
}

}  // namespace nb::profiler
