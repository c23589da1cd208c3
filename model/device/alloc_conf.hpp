// PYTORCH_NPU_ALLOC_CONF and PYTORCH_CUDA_ALLOC_CONF: "key:value,key:value", as torch_npu and torch
// read them, with their complaints. A stack file has such a text under /software/alloc_conf,
// `npubench predict` takes one by --alloc-conf. Keys: max_split_size_mb,
// garbage_collection_threshold, expandable_segments, per_process_memory_fraction; others that the
// frameworks know are refused, not passed over. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/base/result.hpp"
#include "model/device/memory.hpp"

namespace nb {

struct DeviceProfile;

struct AllocConf {
  std::optional<std::uint64_t> max_split_bytes;
  std::optional<double> garbage_collection;  // in (0, 1)
  std::optional<bool> expandable_segments;
  std::optional<double> memory_fraction;  // in [0, 1]
};

// words: of the framework. bad_input: one sentence that begins with `where` and has the
// framework's own complaint.
Result<AllocConf> parse_alloc_conf(const std::string& text, OutOfMemoryWords words,
                                   const std::string& where);

// The rules under that text. Garbage is collected where the process has a memory fraction, as the
// frameworks do it: the threshold alone does nothing. torch_npu leaves expandable segments that are
// on by default for a split limit or a threshold.
AllocatorRules with_alloc_conf(AllocatorRules rules, const AllocConf& conf);

// The frameworks know the key, whether or not it is modelled.
bool is_alloc_conf_key(const std::string& key);

// What of it has no effect, in one sentence; empty: all of it works.
std::string alloc_conf_note(const AllocConf& conf);

// The text in place of the profile's own.
Result<void> set_alloc_conf(DeviceProfile& profile, const std::string& text,
                            const std::string& where);

}  // namespace nb
