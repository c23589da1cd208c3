// Files in the safetensors format: 8 bytes header length, JSON header, tensor bytes without gaps.
// Bytes are a function of the content: names sorted, header padded with spaces to 8, NaN canonical.
// A file of ours carries the SHA-256 of all its bytes, header and length included, as
// /__metadata__/file_sha256: computed with 64 zeros in that place, so that any reader of the format
// reads the file all the same. Captured files of before it had that of the tensors alone
// (data_sha256), others have none. Not here: what the tensors mean (checkpoint.hpp).
// Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/fs.hpp"
#include "harness/base/result.hpp"
#include "model/tensor/dtype.hpp"

namespace nb {

enum class StoredType { kF32, kBf16, kF16, kF64, kI64, kI32, kU8, kBool };
std::string_view name(StoredType type);  // "F32", "BF16", …
std::size_t size_bytes(StoredType type);
// fp32, tf32 and hf32 values are stored as F32, so that nothing is lost.
StoredType stored_type(DType dtype);

// Collects views and writes the file whole or not at all. The views must live until write()
// returns.
class SafetensorsWriter {
 public:
  // Values must be representable in `dtype`.
  void add(std::string name, DType dtype, std::vector<std::int64_t> shape,
           std::span<const float> values);
  void add(std::string name, std::vector<std::int64_t> shape, std::span<const double> values);
  void add(std::string name, std::vector<std::int64_t> shape, std::span<const std::int64_t> values);
  void add_text(std::string key, std::string text);  // entry of __metadata__
  // Adds "file_sha256" to __metadata__.
  Result<void> write(const std::filesystem::path& path) const;

 private:
  struct Item {
    StoredType type;
    std::vector<std::int64_t> shape;
    const void* values;
    std::size_t count;
  };
  void add_item(std::string name, Item item);
  std::map<std::string, Item> items_;
  std::map<std::string, std::string> texts_;
};

struct SafetensorsEntry {
  StoredType type = StoredType::kF32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

// A mapped file. open() checks everything that a reader relies on: header length within the file,
// JSON, known types, sizes that fit shapes, offsets in order without overlap or gap, the digest
// when the file carries one. Each fault is one bad_input sentence that names the file.
class SafetensorsFile {
 public:
  // advice: what to try with a file that is not whole, the end of that sentence; empty: the caller
  // says it.
  static Result<SafetensorsFile> open(
      const std::filesystem::path& path,
      std::string_view advice = "use an older checkpoint or train again");

  const std::string& path() const { return path_; }
  // Every byte was held against a digest. false: the file has none, or one of its tensors alone.
  bool is_sealed() const { return is_sealed_; }
  const std::map<std::string, SafetensorsEntry>& entries() const { return entries_; }
  const std::map<std::string, std::string>& texts() const { return texts_; }
  Result<std::string> text(const std::string& key) const;
  // Copies tensor `name` into `out`; its shape and type must be as asked, else bad_input names
  // both.
  Result<void> read(const std::string& name, DType dtype, const std::vector<std::int64_t>& shape,
                    std::span<float> out) const;
  // The values of any floating-point tensor of up to 32 bits, as they are.
  Result<std::vector<float>> read_floats(const std::string& name,
                                         const std::vector<std::int64_t>& shape) const;
  Result<std::vector<double>> read_doubles(const std::string& name) const;
  Result<std::vector<std::int64_t>> read_integers(const std::string& name) const;

 private:
  SafetensorsFile(std::string path, MappedFile file);
  Result<void> parse(std::string_view advice);
  Result<const SafetensorsEntry*> find(const std::string& name) const;
  Result<const SafetensorsEntry*> find(const std::string& name, StoredType type) const;
  Result<void> check_shape(const std::string& name, const SafetensorsEntry& entry,
                           const std::vector<std::int64_t>& shape) const;

  std::string path_;
  MappedFile file_;
  bool is_sealed_ = false;
  std::map<std::string, SafetensorsEntry> entries_;
  std::map<std::string, std::string> texts_;
};

}  // namespace nb
