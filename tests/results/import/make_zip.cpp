#include "tests/results/import/make_zip.hpp"

#include <zlib.h>
#include <zstd.h>

namespace nb::test {
namespace {

std::string little(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

std::string deflated(const std::string& text) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// Two frames, as inspect_ai writes what is long.
std::string in_zstd(const std::string& text) {
  std::string packed;
  const std::size_t half = text.size() / 2;
  for (const std::string& part : {text.substr(0, half), text.substr(half)}) {
    std::string frame(ZSTD_compressBound(part.size()), '\0');
    frame.resize(ZSTD_compress(frame.data(), frame.size(), part.data(), part.size(), 3));
    packed += frame;
  }
  return packed;
}

}  // namespace

// APPNOTE.TXT 6.3.10: 4.3.7 local header, 4.3.12 directory, 4.3.16 its end.
std::string zip_of(const std::vector<ZipFile>& files) {
  std::string zip, directory;
  for (const ZipFile& file : files) {
    const std::string packed = file.method == 8    ? deflated(file.text)
                               : file.method == 93 ? in_zstd(file.text)
                                                   : file.text;
    const auto* bytes = reinterpret_cast<const Bytef*>(file.text.data());
    const std::string facts =
        little(static_cast<std::uint64_t>(file.method), 2) + little(0, 2) + little(0x5000, 2) +
        little(crc32_z(0, bytes, file.text.size()), 4) + little(packed.size(), 4) +
        little(file.stated_bytes.value_or(static_cast<std::uint32_t>(file.text.size())), 4) +
        little(file.name.size(), 2) + little(0, 2);
    directory += "PK\x01\x02" + little(63, 2) + little(63, 2) + little(0, 2) + facts +
                 little(0, 2) + little(0, 2) + little(0, 2) + little(0, 4) + little(zip.size(), 4) +
                 file.name;
    zip += "PK\x03\x04" + little(63, 2) + little(0, 2) + facts + file.name + packed;
  }
  return zip + directory + "PK\x05\x06" + little(0, 4) + little(files.size(), 2) +
         little(files.size(), 2) + little(directory.size(), 4) + little(zip.size(), 4) +
         little(0, 2);
}

}  // namespace nb::test
