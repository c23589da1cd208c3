#include "harness/base/gzip.hpp"

#include <fmt/core.h>
#include <zlib.h>

#include <array>
#include <memory>

#include "harness/base/check.hpp"
#include "harness/base/fs.hpp"

namespace nb {

namespace {

constexpr int kWindow = 15 + 16;                        // zlib's: the largest, with gzip's header
constexpr std::size_t kLargest = std::size_t{1} << 30;  // of an unpacked file

Result<std::string> gunzip(std::string_view packed, const std::string& where) {
  z_stream stream{};
  if (inflateInit2(&stream, kWindow) != Z_OK)
    return run_error(fmt::format("{}: zlib does not start", where));
  const std::unique_ptr<z_stream, int (*)(z_stream*)> closing(&stream, inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  std::array<char, 65536> buffer;
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    state = inflate(&stream, Z_NO_FLUSH);
    if ((state != Z_OK && state != Z_STREAM_END) || text.size() > kLargest)
      return bad_input(fmt::format("{}: not a complete gzip file; download it again", where));
    text.append(buffer.data(), buffer.size() - stream.avail_out);
  }
  return text;
}

}  // namespace

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  constexpr int kMemory = 8;  // zlib's default
  NB_CHECK(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kWindow, kMemory,
                        Z_DEFAULT_STRATEGY) == Z_OK,
           "[gzip] zlib does not start");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> closing(&stream, deflateEnd);
  std::string packed(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  NB_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END, "[gzip] {} bytes in one piece",
           bytes.size());
  packed.resize(stream.total_out);
  return packed;
}

Result<std::string> read_text_or_gzip(const std::filesystem::path& path) {
  auto text = read_file(path);
  if (text && text->starts_with("\x1f\x8b")) return gunzip(*text, path.string());
  return text;
}

}  // namespace nb
