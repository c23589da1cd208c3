#include "model/train/safetensors.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/base/check.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/json_io.hpp"

namespace nb {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors bytes are little-endian");

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr std::size_t kPieceValues = 1U << 16U;         // converted at a time

// As the header's text has it. Nowhere else: in the texts of __metadata__ quotes are escaped.
constexpr std::string_view kDigest = "file_sha256";
constexpr std::string_view kDigestText = R"("file_sha256":")";
// In its place while it is taken.
constexpr std::string_view kNoDigest =
    "0000000000000000000000000000000000000000000000000000000000000000";

struct TypeRow {
  StoredType type;
  std::string_view name;
  std::size_t bytes;
};
constexpr TypeRow kTypes[] = {{StoredType::kF32, "F32", 4}, {StoredType::kBf16, "BF16", 2},
                              {StoredType::kF16, "F16", 2}, {StoredType::kF64, "F64", 8},
                              {StoredType::kI64, "I64", 8}, {StoredType::kI32, "I32", 4},
                              {StoredType::kU8, "U8", 1},   {StoredType::kBool, "BOOL", 1}};

const TypeRow& row_of(StoredType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return row;
  }
  NB_CHECK(false, "[safetensors] unknown type {}", static_cast<int>(type));
}

// Bytes of values[0, count) in the stored type; NaN canonical.
std::string encode(StoredType type, const void* values, std::size_t begin, std::size_t count) {
  std::string bytes(count * size_bytes(type), '\0');
  if (type == StoredType::kF64 || type == StoredType::kI64) {
    std::memcpy(bytes.data(), static_cast<const char*>(values) + begin * 8, bytes.size());
    return bytes;
  }
  const float* floats = static_cast<const float*>(values) + begin;
  for (std::size_t i = 0; i < count; ++i) {
    const float value = canonical(floats[i]);
    if (type == StoredType::kF32) {
      std::memcpy(bytes.data() + 4 * i, &value, 4);
    } else {
      const std::uint16_t bits = type == StoredType::kBf16 ? bf16_bits(value) : fp16_bits(value);
      std::memcpy(bytes.data() + 2 * i, &bits, 2);
    }
  }
  return bytes;
}

// An empty vector's pointer may be null, and memcpy takes none.
template <class T>
void copy_bytes(const SafetensorsEntry& entry, std::span<T> out) {
  if (!out.empty()) std::memcpy(out.data(), entry.bytes.data(), out.size_bytes());
}

// Values of a floating-point entry of up to 32 bits.
void decode(const SafetensorsEntry& entry, std::span<float> out) {
  NB_CHECK(out.size() * size_bytes(entry.type) == entry.bytes.size(),
           "[safetensors] {} values for {} bytes", out.size(), entry.bytes.size());
  if (entry.type == StoredType::kF32) return copy_bytes(entry, out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, entry.bytes.data() + 2 * i, 2);
    out[i] = entry.type == StoredType::kBf16 ? from_bf16_bits(bits) : from_fp16_bits(bits);
  }
}

// The offset of one past the tensor's end, or nothing when sizes overflow.
bool multiply_sizes(const std::vector<std::int64_t>& shape, std::uint64_t unit,
                    std::uint64_t& product) {
  product = unit;
  for (const std::int64_t extent : shape) {
    if (extent < 0) return false;
    if (__builtin_mul_overflow(product, static_cast<std::uint64_t>(extent), &product)) return false;
  }
  return true;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace

std::string_view name(StoredType type) { return row_of(type).name; }
std::size_t size_bytes(StoredType type) { return row_of(type).bytes; }

StoredType stored_type(DType dtype) {
  switch (dtype) {
    case DType::kBf16:
      return StoredType::kBf16;
    case DType::kFp16:
      return StoredType::kF16;
    case DType::kFp32:
    case DType::kTf32:
    case DType::kHf32:
      return StoredType::kF32;
  }
  NB_CHECK(false, "[safetensors] unknown dtype {}", static_cast<int>(dtype));
}

void SafetensorsWriter::add_item(std::string name, Item item) {
  std::uint64_t count = 0;
  NB_CHECK(multiply_sizes(item.shape, 1, count) && count == item.count,
           "[safetensors] {}: {} values for shape {}", name, item.count, shape_text(item.shape));
  const bool fresh = items_.emplace(std::move(name), std::move(item)).second;
  NB_CHECK(fresh, "[safetensors] a tensor was added twice");
}
void SafetensorsWriter::add(std::string name, DType dtype, std::vector<std::int64_t> shape,
                            std::span<const float> values) {
  add_item(std::move(name), {stored_type(dtype), std::move(shape), values.data(), values.size()});
}
void SafetensorsWriter::add(std::string name, std::vector<std::int64_t> shape,
                            std::span<const double> values) {
  add_item(std::move(name), {StoredType::kF64, std::move(shape), values.data(), values.size()});
}
void SafetensorsWriter::add(std::string name, std::vector<std::int64_t> shape,
                            std::span<const std::int64_t> values) {
  add_item(std::move(name), {StoredType::kI64, std::move(shape), values.data(), values.size()});
}
void SafetensorsWriter::add_text(std::string key, std::string text) {
  texts_[std::move(key)] = std::move(text);
}

Result<void> SafetensorsWriter::write(const std::filesystem::path& path) const {
  const auto each_piece = [&](const auto& sink) -> Result<void> {
    for (const auto& [name, item] : items_) {
      for (std::size_t begin = 0; begin < item.count; begin += kPieceValues) {
        const std::size_t count = std::min(kPieceValues, item.count - begin);
        NB_TRY_VOID(sink(encode(item.type, item.values, begin, count)));
      }
    }
    return {};
  };
  Json header = Json::object();
  std::uint64_t offset = 0;
  for (const auto& [name, item] : items_) {
    const std::uint64_t size = item.count * size_bytes(item.type);
    header[name] = {{"dtype", nb::name(item.type)},
                    {"shape", item.shape},
                    {"data_offsets", {offset, offset + size}}};
    offset += size;
  }
  header["__metadata__"] = texts_;
  header["__metadata__"][kDigest] = kNoDigest;
  NB_TRY(std::string text, dump_json(header, -1));
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');

  const std::uint64_t length = text.size();
  std::string prefix(kLengthBytes, '\0');
  std::memcpy(prefix.data(), &length, kLengthBytes);
  Sha256 digest;
  digest.update(prefix);
  digest.update(text);
  NB_TRY_VOID(each_piece([&](const std::string& bytes) -> Result<void> {
    digest.update(bytes);
    return {};
  }));
  text.replace(text.find(kDigestText) + kDigestText.size(), kNoDigest.size(), digest.hex());

  NB_TRY(FileWriter file, FileWriter::create(path));
  NB_TRY_VOID(file.write(prefix));
  NB_TRY_VOID(file.write(text));
  NB_TRY_VOID(each_piece([&](const std::string& bytes) { return file.write(bytes); }));
  return file.commit();
}

SafetensorsFile::SafetensorsFile(std::string path, MappedFile file)
    : path_(std::move(path)), file_(std::move(file)) {}

Result<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path,
                                              std::string_view advice) {
  NB_TRY(MappedFile mapped, MappedFile::open(path));
  SafetensorsFile file(path.string(), std::move(mapped));
  NB_TRY_VOID(file.parse(advice));
  return file;
}

namespace {

// The digest that a header's text carries; empty: none.
std::string_view recorded_digest(std::string_view header) {
  const std::size_t at = header.find(kDigestText);
  if (at == header.npos) return {};
  const std::string_view digest = header.substr(at + kDigestText.size(), kNoDigest.size());
  return digest.size() == kNoDigest.size() ? digest : std::string_view();
}

// What the digest of such a file is: of everything, with zeros in the digest's own place.
std::string digest_of_file(std::span<const std::byte> file, std::string_view header,
                           std::string_view digest) {
  const auto before = static_cast<std::size_t>(digest.data() - header.data());
  const std::size_t begin = kLengthBytes + before;
  Sha256 hash;
  hash.update(file.first(begin));
  hash.update(kNoDigest);
  hash.update(file.subspan(begin + digest.size()));
  return hash.hex();
}

}  // namespace

Result<void> SafetensorsFile::parse(std::string_view advice) {
  const auto broken = [&](const std::string& what) {
    return bad_input(fmt::format("{}: not a complete safetensors file: {}{}{}", path_, what,
                                 advice.empty() ? "" : "; ", advice));
  };
  const std::span<const std::byte> bytes = file_.bytes();
  if (bytes.size() < kLengthBytes) {
    return broken(fmt::format("{} bytes, the header length alone takes 8", bytes.size()));
  }
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kMaxHeaderBytes || length > bytes.size() - kLengthBytes) {
    return broken(fmt::format("the header claims {} bytes in a file of {}", length, bytes.size()));
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data() + kLengthBytes), length);
  // First, so that damage is called damage, wherever it is.
  if (const std::string_view digest = recorded_digest(text); !digest.empty()) {
    if (digest_of_file(bytes, text, digest) != digest)
      return broken("it does not have the SHA-256 that it records");
    is_sealed_ = true;
  }
  const auto parsed = parse_json(text, "header");
  if (!parsed) return broken(parsed.error().message);
  const Json& header = *parsed;
  if (!header.is_object()) return broken("the header is not a JSON object");
  const std::span<const std::byte> data = bytes.subspan(kLengthBytes + length);

  std::map<std::uint64_t, std::pair<std::uint64_t, std::string>> pieces;  // begin → end, name
  for (const auto& [key, value] : header.items()) {
    if (key == "__metadata__") {
      if (!value.is_object()) return broken("/__metadata__ is not an object");
      for (const auto& [name, entry] : value.items()) {
        if (!entry.is_string())
          return broken(fmt::format("/__metadata__/{} is not a string", name));
        texts_[name] = entry.get<std::string>();
      }
      continue;
    }
    const auto is_size = [](const Json& number) { return number.is_number_unsigned(); };
    if (!value.is_object() || !value.contains("dtype") || !value["dtype"].is_string() ||
        !value.contains("shape") || !value["shape"].is_array() ||
        !std::all_of(value["shape"].begin(), value["shape"].end(), is_size) ||
        !value.contains("data_offsets") || !value["data_offsets"].is_array() ||
        value["data_offsets"].size() != 2 ||
        !std::all_of(value["data_offsets"].begin(), value["data_offsets"].end(), is_size)) {
      return broken(fmt::format("/{} is not {{dtype, shape, data_offsets}}", key));
    }
    const auto dtype = value["dtype"].get<std::string>();
    const auto* row = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const TypeRow& known) { return known.name == dtype; });
    if (row == std::end(kTypes)) return broken(fmt::format("/{} has unknown dtype {}", key, dtype));
    SafetensorsEntry entry{.type = row->type, .shape = value["shape"], .bytes = {}};
    const std::uint64_t begin = value["data_offsets"][0];
    const std::uint64_t end = value["data_offsets"][1];
    std::uint64_t size = 0;
    if (!multiply_sizes(entry.shape, row->bytes, size) || end < begin || end - begin != size) {
      return broken(fmt::format("/{}: offsets {} to {} do not hold {} of shape {}", key, begin, end,
                                dtype, shape_text(entry.shape)));
    }
    if (end > data.size()) {
      return broken(fmt::format("/{} ends at byte {} of {}", key, end, data.size()));
    }
    entry.bytes = data.subspan(begin, size);
    if (size > 0 && !pieces.emplace(begin, std::make_pair(end, key)).second) {
      return broken(fmt::format("/{} overlaps /{}", key, pieces[begin].second));
    }
    entries_.emplace(key, std::move(entry));
  }
  std::uint64_t expected = 0;
  std::string previous = "the header";
  for (const auto& [begin, piece] : pieces) {
    if (begin != expected) {
      return broken(fmt::format("/{} {} /{}", piece.second,
                                begin < expected ? "overlaps" : "leaves a gap after", previous));
    }
    expected = piece.first;
    previous = piece.second;
  }
  if (expected != data.size()) {
    return broken(fmt::format("{} bytes follow the last tensor", data.size() - expected));
  }
  if (const auto digest = texts_.find("data_sha256"); digest != texts_.end()) {
    Sha256 actual;
    actual.update(data);
    if (actual.hex() != digest->second)
      return broken("the tensors do not have the recorded SHA-256");
  }
  return {};
}

Result<std::string> SafetensorsFile::text(const std::string& key) const {
  const auto found = texts_.find(key);
  if (found == texts_.end()) {
    return bad_input(
        fmt::format("{}: no /__metadata__/{}; this file was not written by npubench", path_, key));
  }
  return found->second;
}

Result<const SafetensorsEntry*> SafetensorsFile::find(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return bad_input(fmt::format("{}: no tensor {}", path_, name));
  return &found->second;
}

Result<const SafetensorsEntry*> SafetensorsFile::find(const std::string& name,
                                                      StoredType type) const {
  NB_TRY(const SafetensorsEntry* entry, find(name));
  if (entry->type != type) {
    return bad_input(fmt::format("{}: {} is {}, expected {}", path_, name, nb::name(entry->type),
                                 nb::name(type)));
  }
  return entry;
}

Result<void> SafetensorsFile::check_shape(const std::string& name, const SafetensorsEntry& entry,
                                          const std::vector<std::int64_t>& shape) const {
  if (entry.shape == shape) return {};
  return bad_input(fmt::format("{}: {} has shape {}, this model needs {}", path_, name,
                               shape_text(entry.shape), shape_text(shape)));
}

Result<void> SafetensorsFile::read(const std::string& name, DType dtype,
                                   const std::vector<std::int64_t>& shape,
                                   std::span<float> out) const {
  NB_TRY(const SafetensorsEntry* entry, find(name, stored_type(dtype)));
  NB_TRY_VOID(check_shape(name, *entry, shape));
  decode(*entry, out);
  return {};
}

Result<std::vector<float>> SafetensorsFile::read_floats(
    const std::string& name, const std::vector<std::int64_t>& shape) const {
  NB_TRY(const SafetensorsEntry* entry, find(name));
  if (entry->type != StoredType::kF32 && entry->type != StoredType::kBf16 &&
      entry->type != StoredType::kF16) {
    return bad_input(
        fmt::format("{}: {} is {}, expected F32, BF16 or F16", path_, name, nb::name(entry->type)));
  }
  NB_TRY_VOID(check_shape(name, *entry, shape));
  std::vector<float> values(entry->bytes.size() / size_bytes(entry->type));
  decode(*entry, values);
  return values;
}

Result<std::vector<double>> SafetensorsFile::read_doubles(const std::string& name) const {
  NB_TRY(const SafetensorsEntry* entry, find(name, StoredType::kF64));
  std::vector<double> values(entry->bytes.size() / 8);
  copy_bytes(*entry, std::span(values));
  return values;
}

Result<std::vector<std::int64_t>> SafetensorsFile::read_integers(const std::string& name) const {
  NB_TRY(const SafetensorsEntry* entry, find(name, StoredType::kI64));
  std::vector<std::int64_t> values(entry->bytes.size() / 8);
  copy_bytes(*entry, std::span(values));
  return values;
}

}  // namespace nb
