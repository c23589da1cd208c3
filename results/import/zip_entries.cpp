#include "results/import/zip_entries.hpp"

#include <fmt/format.h>
#include <zip.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <system_error>
#include <unordered_map>

namespace nb {
namespace {

constexpr int kStored = 0, kDeflated = 8, kZstd = 93;  // APPNOTE.TXT 6.3.10, 4.4.5

std::string text_of(zip_error_t error) {
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

struct CloseZip {
  void operator()(zip_t* zip) const { zip_discard(zip); }
};
struct CloseEntry {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
struct FreeStream {
  void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
};

// Frames one after the other, into exactly the stated size.
Result<std::string> from_zstd(const std::string& packed, std::uint64_t bytes) {
  const std::unique_ptr<ZSTD_DStream, FreeStream> stream(ZSTD_createDStream());
  std::string text(static_cast<std::size_t>(bytes), '\0');
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  ZSTD_outBuffer out{text.data(), text.size(), 0};
  std::size_t left = 1;
  while (in.pos < in.size) {
    const std::size_t in_before = in.pos, out_before = out.pos;
    left = ZSTD_decompressStream(stream.get(), &out, &in);
    if (ZSTD_isError(left) != 0) return bad_input(ZSTD_getErrorName(left));
    if (in.pos == in_before && out.pos == out_before)
      return bad_input(fmt::format("unpacks to more than the {} bytes it states", bytes));
  }
  if (left != 0 || out.pos != out.size)
    return bad_input(fmt::format("unpacks to {} bytes, not to the {} it states", out.pos, bytes));
  return text;
}

std::string size_text(std::uint64_t bytes) {
  if (bytes >= std::uint64_t{1} << 30)
    return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

}  // namespace

struct ZipReader::State {
  std::string path;
  std::unique_ptr<zip_t, CloseZip> zip;
  std::vector<ZipEntry> entries;
  std::unordered_map<std::string_view, std::uint32_t> by_name;  // looked up only
  std::uint64_t crc_of(const ZipEntry& entry) const {
    zip_stat_t stat;
    return zip_stat_index(zip.get(), entry.index, 0, &stat) == 0 ? stat.crc : 0;
  }
};

ZipReader::ZipReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
ZipReader::ZipReader(ZipReader&&) noexcept = default;
ZipReader& ZipReader::operator=(ZipReader&&) noexcept = default;
ZipReader::~ZipReader() = default;
const std::vector<ZipEntry>& ZipReader::entries() const { return state_->entries; }

const ZipEntry* ZipReader::find(std::string_view name) const {
  const auto at = state_->by_name.find(name);
  return at == state_->by_name.end() ? nullptr : &state_->entries[at->second];
}

Result<ZipReader> ZipReader::open(const std::filesystem::path& path, const ZipLimits& limits) {
  auto state = std::make_unique<State>();
  state->path = path.string();
  int code = 0;
  state->zip.reset(zip_open(state->path.c_str(), ZIP_RDONLY, &code));
  if (!state->zip) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string reason = text_of(error);
    return bad_input(
        fmt::format("{}: this ZIP cannot be opened ({}); is it cut off?", state->path, reason));
  }
  std::error_code no_size;
  const std::uint64_t file_bytes = std::filesystem::file_size(path, no_size);
  const auto count = static_cast<std::uint64_t>(zip_get_num_entries(state->zip.get(), 0));
  if (count > limits.entries)
    return bad_input(fmt::format("{}: the ZIP lists {} files; up to {} are read", state->path,
                                 count, limits.entries));
  state->entries.reserve(count);  // logs have some hundred thousand
  state->by_name.reserve(count);
  std::uint64_t total = 0, packed = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    zip_stat_t stat;
    constexpr std::uint64_t kNeeded =
        ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if (zip_stat_index(state->zip.get(), i, 0, &stat) != 0 || (stat.valid & kNeeded) != kNeeded)
      return bad_input(fmt::format("{}: file {} of the ZIP's list is damaged", state->path, i));
    ZipEntry entry{stat.name, i, stat.size, stat.comp_size, stat.comp_method};
    const auto where = [&] { return fmt::format("{}: {}", state->path, entry.name); };
    if (entry.bytes > limits.entry_bytes)
      return bad_input(fmt::format("{}: unpacks to {}; up to {} are read", where(),
                                   size_text(entry.bytes), size_text(limits.entry_bytes)));
    if (entry.bytes > limits.ratio_from_bytes && entry.bytes / limits.ratio > entry.packed_bytes)
      return bad_input(fmt::format(
          "{}: unpacks to {} from {} bytes, more than {} times as much: this is no log but a file "
          "made to fill memory",
          where(), size_text(entry.bytes), entry.packed_bytes, limits.ratio));
    total += entry.bytes;
    packed += entry.packed_bytes;
    if (total > limits.total_bytes)
      return bad_input(fmt::format("{}: the ZIP unpacks to more than {}", state->path,
                                   size_text(limits.total_bytes)));
    // Files in it share their bytes: each may pass the limits, all of them fill a disk.
    if (packed > file_bytes)
      return bad_input(fmt::format(
          "{}: the ZIP's files overlap ({} packed bytes in a file of {}): this is no log",
          state->path, packed, file_bytes));
    const auto [at, is_new] =
        state->by_name.try_emplace(entry.name, static_cast<std::uint32_t>(state->entries.size()));
    if (is_new)
      state->entries.push_back(entry);
    else
      state->entries[at->second] = entry;
  }
  return ZipReader(std::move(state));
}

Result<std::string> ZipReader::read(const ZipEntry& entry) const {
  const std::string where = fmt::format("{}: {}", state_->path, entry.name);
  if (entry.method != kStored && entry.method != kDeflated && entry.method != kZstd)
    return bad_input(fmt::format(
        "{}: its compression (method {}) is not read, only deflate and zstd; 'inspect log convert' "
        "writes such a log anew",
        where, entry.method));
  const bool is_zstd = entry.method == kZstd;
  const std::unique_ptr<zip_file_t, CloseEntry> file(
      zip_fopen_index(state_->zip.get(), entry.index, is_zstd ? ZIP_FL_COMPRESSED : 0));
  if (!file)
    return bad_input(
        fmt::format("{}: cannot be read ({})", where, zip_strerror(state_->zip.get())));
  std::string bytes(static_cast<std::size_t>(is_zstd ? entry.packed_bytes : entry.bytes), '\0');
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const auto got = zip_fread(file.get(), bytes.data() + filled, bytes.size() - filled);
    if (got <= 0) {
      const char* reason = got < 0 ? zip_file_strerror(file.get()) : "it ends early";
      return bad_input(
          fmt::format("{}: is damaged at byte {} of {} ({})", where, filled, bytes.size(), reason));
    }
    filled += static_cast<std::size_t>(got);
  }
  if (!is_zstd) {
    // One byte more: libzip compares the checksum at the end, and whether there is more.
    char more = 0;
    if (const auto got = zip_fread(file.get(), &more, 1); got != 0)
      return bad_input(
          fmt::format("{}: is damaged ({})", where,
                      got < 0 ? zip_file_strerror(file.get()) : "unpacks to more than it states"));
    return bytes;
  }
  auto text = from_zstd(bytes, entry.bytes);
  if (!text) return bad_input(fmt::format("{}: is damaged ({})", where, text.error().message));
  const auto* begin = reinterpret_cast<const Bytef*>(text->data());
  if (crc32_z(0, begin, text->size()) != state_->crc_of(entry))
    return bad_input(fmt::format("{}: is damaged (CRC error)", where));
  return std::move(*text);
}

}  // namespace nb
