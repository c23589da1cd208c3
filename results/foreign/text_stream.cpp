#include "results/foreign/text_stream.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <vector>

namespace nb {
namespace {

constexpr std::size_t kPackedBytes = std::size_t{1} << 16;  // read at once of what is converted
constexpr std::uint64_t kMostTimes = 300;                   // as of archives: zip_entries.cpp
constexpr std::uint64_t kAlwaysFine = std::uint64_t{1} << 20;
constexpr int kGzipWindow = 15 + 16;  // zlib.h: the largest window, with a gzip header

// RFC 3629.
void append_utf8(std::uint32_t c, std::string& text) {
  const auto put = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | c >> 6);
  } else {
    if (c < 0x10000) {
      put(0xE0 | c >> 12);
    } else {
      put(0xF0 | c >> 18);
      put(0x80 | (c >> 12 & 0x3F));
    }
    put(0x80 | (c >> 6 & 0x3F));
  }
  put(0x80 | (c & 0x3F));
}

constexpr std::uint32_t kReplacement = 0xFFFD;

}  // namespace

TextCoding coding_of(std::string_view begin) {
  if (begin.starts_with("\x1F\x8B")) return TextCoding::kGzip;
  if (begin.starts_with("\xFF\xFE") || begin.starts_with("\xFE\xFF")) return TextCoding::kUtf16;
  return TextCoding::kPlain;
}

struct TextStream::State {
  std::string path;
  std::ifstream file;
  TextCoding coding = TextCoding::kPlain;
  bool is_big_endian = false;

  std::vector<char> packed = std::vector<char>(kPackedBytes);  // of the file
  z_stream inflater = {};
  bool is_started = false, is_at_end = false;
  std::uint64_t bytes_in = 0, bytes_out = 0;

  std::string ready;  // converted, to be handed out from `taken` on
  std::size_t taken = 0;
  std::string odd;         // half a UTF-16 unit
  std::uint32_t high = 0;  // first unit of a pair

  ~State() {
    if (is_started) inflateEnd(&inflater);
  }

  std::size_t fill() {
    file.read(packed.data(), static_cast<std::streamsize>(packed.size()));
    return static_cast<std::size_t>(file.gcount());
  }

  Result<std::size_t> unpack(char* to, std::size_t size) {
    inflater.next_out = reinterpret_cast<Bytef*>(to);
    inflater.avail_out = static_cast<uInt>(std::min<std::size_t>(size, 1u << 30));
    const uInt room = inflater.avail_out;
    while (inflater.avail_out == room && !is_at_end) {
      if (inflater.avail_in == 0) {
        const std::size_t count = fill();
        if (count == 0) return bad_input(path + ": the gzip data end early; is the file whole?");
        bytes_in += count;
        inflater.next_in = reinterpret_cast<Bytef*>(packed.data());
        inflater.avail_in = static_cast<uInt>(count);
      }
      const int code = inflate(&inflater, Z_NO_FLUSH);
      if (code == Z_STREAM_END) {
        // Several members after each other are one file (RFC 1952, 2.2).
        if (inflater.avail_in == 0) {
          const std::size_t count = fill();
          bytes_in += count;
          inflater.next_in = reinterpret_cast<Bytef*>(packed.data());
          inflater.avail_in = static_cast<uInt>(count);
        }
        if (inflater.avail_in == 0)
          is_at_end = true;
        else if (inflateReset(&inflater) != Z_OK)
          return bad_input(path + ": the gzip data are damaged");
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        return bad_input(path + ": the gzip data are damaged");
      }
    }
    const std::size_t count = room - inflater.avail_out;
    bytes_out += count;
    if (bytes_out > kAlwaysFine && bytes_out > kMostTimes * bytes_in)
      return bad_input(fmt::format("{}: unpacks to more than {} times its size", path, kMostTimes));
    return count;
  }

  void take_unit(std::uint32_t unit) {
    const bool is_low = unit >= 0xDC00 && unit < 0xE000;
    if (high != 0 && is_low) {
      append_utf8(0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00), ready);
      high = 0;
      return;
    }
    if (high != 0) append_utf8(kReplacement, ready);
    high = unit >= 0xD800 && unit < 0xDC00 ? unit : 0;
    if (high == 0) append_utf8(is_low ? kReplacement : unit, ready);
  }

  std::size_t convert(char* to, std::size_t size) {
    while (taken == ready.size()) {
      ready.clear();
      taken = 0;
      const std::size_t count = fill();
      if (count == 0) return 0;
      odd.append(packed.data(), count);
      std::size_t at = 0;
      for (; at + 1 < odd.size(); at += 2) {
        const auto first = static_cast<unsigned char>(odd[at]),
                   second = static_cast<unsigned char>(odd[at + 1]);
        const std::uint32_t unit = is_big_endian ? (std::uint32_t{first} << 8) + second
                                                 : (std::uint32_t{second} << 8) + first;
        take_unit(unit);
      }
      odd.erase(0, at);
    }
    const std::size_t count = std::min(size, ready.size() - taken);
    std::memcpy(to, ready.data() + taken, count);
    taken += count;
    return count;
  }
};

TextStream::TextStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
TextStream::~TextStream() = default;
TextStream::TextStream(TextStream&&) noexcept = default;
TextStream& TextStream::operator=(TextStream&&) noexcept = default;

Result<TextStream> TextStream::open(const std::filesystem::path& path) {
  auto state = std::make_unique<State>();
  state->path = path.string();
  state->file.open(path, std::ios::binary);
  if (!state->file) return bad_input(path.string() + ": cannot be opened");
  char begin[2] = {};
  state->file.read(begin, 2);
  state->coding = coding_of({begin, static_cast<std::size_t>(state->file.gcount())});
  state->file.clear();
  state->file.seekg(state->coding == TextCoding::kUtf16 ? 2 : 0);
  state->is_big_endian = begin[0] == '\xFE';
  if (state->coding == TextCoding::kGzip) {
    if (inflateInit2(&state->inflater, kGzipWindow) != Z_OK)
      return run_error(path.string() + ": zlib cannot start");
    state->is_started = true;
  }
  return TextStream(std::move(state));
}

TextCoding TextStream::coding() const { return state_->coding; }

Result<std::size_t> TextStream::read(char* to, std::size_t size) {
  if (state_->coding == TextCoding::kGzip) return state_->unpack(to, size);
  if (state_->coding == TextCoding::kUtf16) return state_->convert(to, size);
  state_->file.read(to, static_cast<std::streamsize>(size));
  if (state_->file.bad()) return bad_input(state_->path + ": cannot be read");
  return static_cast<std::size_t>(state_->file.gcount());
}

Result<std::string> read_decoded(const std::filesystem::path& path, std::size_t most) {
  NB_TRY(TextStream stream, TextStream::open(path));
  std::error_code error;
  const std::uintmax_t known = std::filesystem::file_size(path, error);
  std::string text;
  std::size_t filled = 0;
  const std::size_t first = error ? kPackedBytes : static_cast<std::size_t>(known) + 1;
  text.resize(std::min(most, std::max(first, kPackedBytes)));
  while (filled < most) {
    if (filled == text.size()) text.resize(std::min(most, 2 * text.size()));
    NB_TRY(const std::size_t count, stream.read(text.data() + filled, text.size() - filled));
    if (count == 0) break;
    filled += count;
  }
  text.resize(filled);
  return text;
}

}  // namespace nb
