// Token shards: documents as ids in one checksummed binary file, written whole or not at all, read
// through a memory map. Also held in memory alone (tests, generated corpora). Immutable after
// construction; thread-safe to read.
//
// Layout, little-endian: "NBTOKENS", u32 version = 1, u32 bytes per id (2 or 4), u64 vocab size,
// u64 number of documents D, u64 number of ids N, 32 bytes SHA-256 of the tokenizer, (D + 1) × u64
// first id of each document, N ids, 32 bytes SHA-256 of everything before.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {

class TokenShard {
 public:
  // Verifies length, header and checksum; a short or altered file is an error that names both
  // checksums.
  static Result<TokenShard> open(const std::filesystem::path& path);
  // Each document is BOS and its tokens (nanochat's dataloader.py). NB_CHECK: the tokenizer has a
  // BOS.
  static TokenShard encode(std::span<const std::string> documents, const Tokenizer& tokenizer);
  // document_starts: D + 1 values, first 0, last ids.size(), not decreasing.
  static TokenShard from_ids(const std::vector<int>& ids,
                             const std::vector<std::uint64_t>& document_starts,
                             std::int64_t vocab_size, const std::string& tokenizer_hash);
  TokenShard(TokenShard&&) noexcept;
  TokenShard& operator=(TokenShard&&) noexcept;
  ~TokenShard();

  Result<void> write(const std::filesystem::path& path) const;

  std::uint64_t documents() const;
  std::uint64_t tokens() const;
  std::int64_t vocab_size() const;
  const std::string& tokenizer_hash() const;
  const std::string& sha256() const;  // the file's own checksum: identity of the content
  std::uint64_t document_start(std::uint64_t document) const;  // 0 … documents(), inclusive
  // Ids [begin, begin + out.size()), which must exist.
  void copy(std::uint64_t begin, std::span<int> out) const;

 private:
  struct State;
  explicit TokenShard(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace nb
