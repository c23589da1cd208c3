#include "evals/data/gzip.hpp"

#include <fmt/core.h>
#include <zlib.h>

#include <array>
#include <memory>

#include "harness/base/fs.hpp"

namespace nb {

namespace {

constexpr std::size_t kLargest = std::size_t{1} << 30;  // of an unpacked file

Result<std::string> gunzip(std::string_view packed, const std::string& where) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK)
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

Result<std::string> read_text_or_gzip(const std::filesystem::path& path) {
  auto text = read_file(path);
  if (text && text->starts_with("\x1f\x8b")) return gunzip(*text, path.string());
  return text;
}

}  // namespace nb
