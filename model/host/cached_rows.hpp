// What the ops on caches are told besides their operands: which rows of k and v go where, and which
// keys each row of q sees. Both lie in caches that no op makes, so they are given as places in
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/device/tensor.hpp"
#include "model/kernels/attention.hpp"
#include "model/kernels/key_rows.hpp"

namespace nb::host {

// Of kv_cache_append: what it writes.
struct CacheWrite {
  std::vector<kernels::KeyRun> runs;
  std::vector<std::shared_ptr<HostValues>> caches;  // that the runs point into
};

// Of an attention over caches: what it reads. Not copied: the sequences point into the segments.
struct CachedKeys {
  CachedKeys() = default;
  CachedKeys(const CachedKeys&) = delete;
  CachedKeys& operator=(const CachedKeys&) = delete;

  kernels::CachedShape shape;
  std::vector<kernels::CachedSequence> sequences;  // rows of q
  std::vector<kernels::KeySegment> segments;
  // Segments that are rows of the op's own k and v, in no cache. They are filled in when it runs.
  struct OwnRows {
    std::size_t segment = 0;
    std::int64_t first_row = 0;
    std::int64_t rows = 0;
  };
  std::vector<OwnRows> own_rows;
  std::vector<std::shared_ptr<HostValues>> caches;  // that the segments point into
};

}  // namespace nb::host
