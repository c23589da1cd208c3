// nanochat's pretraining loader (dataloader.py) over token shards: for ever over the shards in
// order, in each shard the row groups rank, rank + world, …, every document BOS and tokens, in one
// stream. A batch takes B·T + 1 tokens off it: inputs the first B·T, targets the last; rows are not
// aligned to documents, nothing is shuffled, batches do not overlap. Not thread-safe: one owner.
// The shards outlive it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "model/data/token_shards.hpp"

namespace nb {

struct Batch {
  std::int64_t rows = 0;     // B
  std::int64_t length = 0;   // T
  std::vector<int> inputs;   // (B,T), row-major
  std::vector<int> targets;  // (B,T): inputs shifted by one position of the stream
};

struct LoaderSettings {
  int rank = 0;
  int world = 1;
  std::int64_t row_group_documents =
      1024;  // nanochat's parquet row groups; the unit of rank striding
};

class TokenLoader {
 public:
  // An error if a rank would get no token at all (fewer row groups than ranks).
  static Result<TokenLoader> create(std::span<const TokenShard> shards,
                                    const LoaderSettings& settings = {});

  Batch next(std::int64_t rows, std::int64_t length);
  std::int64_t epoch() const { return epoch_; }  // times the end of this rank's share was passed
  std::uint64_t tokens_per_epoch() const { return total_; }  // of this rank

  // Where the stream stands, and of which shards, rank and world. restore() refuses another
  // stream's state.
  Json state() const;
  Result<void> restore(const Json& state);

 private:
  struct Range {  // ids [begin, end) of one shard
    std::size_t shard;
    std::uint64_t begin, end;
  };
  TokenLoader() = default;
  void take(std::span<int> out);

  std::span<const TokenShard> shards_;
  LoaderSettings settings_;
  std::vector<Range> ranges_;  // one epoch of this rank
  std::uint64_t total_ = 0;
  std::int64_t epoch_ = 0;
  std::size_t range_ = 0;
  std::uint64_t offset_ = 0;  // within ranges_[range_]
};

}  // namespace nb
