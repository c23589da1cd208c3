#include "model/device/alloc_conf.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "harness/base/fields.hpp"
#include "model/device/profile.hpp"

namespace nb {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kLeastSplitMb = 20;  // kLargeBuffer: the limit must be above it

// Keys of torch_npu and torch that change nothing here, or what is not modelled.
const std::vector<std::string>& unmodelled_keys() {
  static const std::vector<std::string> kKeys = {"backend",
                                                 "base_addr_aligned_kb",
                                                 "large_segment_size_mb",
                                                 "max_non_split_rounding_mb",
                                                 "multi_stream_lazy_reclaim",
                                                 "page_size",
                                                 "pin_memory_expandable_segments",
                                                 "pinned_mem_register",
                                                 "pinned_num_register_threads",
                                                 "pinned_reserve_segment_size_mb",
                                                 "pinned_use_background_threads",
                                                 "pinned_use_cuda_host_register",
                                                 "release_lock_on_cudamalloc",
                                                 "release_lock_on_npumalloc",
                                                 "roundup_power2_divisions",
                                                 "segment_size_mb",
                                                 "throw_on_npumalloc_oom"};
  return kKeys;
}

const std::vector<std::string>& modelled_keys() {
  static const std::vector<std::string> kKeys = {
      "max_split_size_mb", "garbage_collection_threshold", "expandable_segments",
      "per_process_memory_fraction"};
  return kKeys;
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

struct Entry {
  std::string key, value;
};

// "key:value,key:value"; blanks count for nothing. A last comma may stand.
Result<std::vector<Entry>> entries_of(std::string text, const std::string& where) {
  std::erase(text, ' ');
  std::vector<Entry> entries;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string entry = text.substr(at, end - at);
    const std::size_t colon = entry.find(':');
    if (colon == std::string::npos || colon == 0)
      return bad_input(fmt::format(
          "{}: \"{}\" is not key:value (Error, expecting ':' character in config); separate "
          "entries by commas: max_split_size_mb:128,garbage_collection_threshold:0.8",
          where, entry));
    if (colon + 1 == entry.size())
      return bad_input(fmt::format("{}: {} has no value (Error, expecting {} value)", where,
                                   entry.substr(0, colon), entry.substr(0, colon)));
    entries.push_back({entry.substr(0, colon), entry.substr(colon + 1)});
    at = end + 1;
  }
  return entries;
}

Result<void> put_entry(AllocConf& conf, const Entry& entry, const std::string& where) {
  const std::string& key = entry.key;
  const std::string& value = entry.value;
  const auto refuse = [&](const std::string& complaint) {
    return bad_input(fmt::format("{}: {}:{}: {}", where, key, value, complaint));
  };
  if (key == "max_split_size_mb") {
    const auto mb = number_of<std::uint64_t>(value);
    if (!mb || *mb > ~std::uint64_t{0} / kMiB)
      return refuse("is not a whole number of MB; give one above 20");
    if (*mb <= kLeastSplitMb)
      return refuse("CachingAllocator option max_split_size_mb too small, must be > 20");
    conf.max_split_bytes = *mb * kMiB;
  } else if (key == "garbage_collection_threshold") {
    const auto share = number_of<double>(value);
    if (!share) return refuse("is not a number; give one between 0.0 and 1.0");
    if (!(*share > 0)) return refuse("garbage_collect_threshold too small, set it 0.0~1.0");
    if (!(*share < 1)) return refuse("garbage_collect_threshold too big, set it 0.0~1.0");
    conf.garbage_collection = *share;
  } else if (key == "expandable_segments") {
    if (value != "True" && value != "False")
      return refuse("Expected a single True/False argument for expandable_segments");
    conf.expandable_segments = value == "True";
  } else if (key == "per_process_memory_fraction") {
    const auto share = number_of<double>(value);
    if (!share || !(*share >= 0 && *share <= 1))
      return refuse("per_process_memory_fraction is invalid, set it in [0.0, 1.0]");
    conf.memory_fraction = *share;
  } else if (std::ranges::count(unmodelled_keys(), key) > 0) {
    return refuse(
        fmt::format("the frameworks know it, this device does not model it; take it out "
                    "(modelled: {})",
                    fmt::join(modelled_keys(), ", ")));
  } else {
    return bad_input(fmt::format("{}: Unrecognized CachingAllocator option: {}{} (known: {})",
                                 where, key, did_you_mean(key, modelled_keys()),
                                 fmt::join(modelled_keys(), ", ")));
  }
  return {};
}

}  // namespace

Result<AllocConf> parse_alloc_conf(const std::string& text, OutOfMemoryWords words,
                                   const std::string& where) {
  AllocConf conf;
  NB_TRY(const std::vector<Entry> entries, entries_of(text, where));
  if (words == OutOfMemoryWords::kCpu && !entries.empty())
    return bad_input(where + ": the allocator of a CPU has no such options; leave it out");
  for (const Entry& entry : entries) NB_TRY_VOID(put_entry(conf, entry, where));
  const bool is_limited = conf.max_split_bytes || conf.garbage_collection;
  if (words == OutOfMemoryWords::kNpu && conf.expandable_segments.value_or(false) && is_limited)
    return bad_input(where +
                     ": `max_split_size_mb` or `garbage_collection_threshold`, cannot be enabled "
                     "with `expandable_segments`, please set `expandable_segments` to `False`.");
  return conf;
}

bool is_alloc_conf_key(const std::string& key) {
  const auto has = [&](const std::vector<std::string>& keys) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  return has(modelled_keys()) || has(unmodelled_keys());
}

AllocatorRules with_alloc_conf(AllocatorRules rules, const AllocConf& conf) {
  if (conf.expandable_segments)
    rules.expandable_segments = *conf.expandable_segments;
  else if (rules.words == OutOfMemoryWords::kNpu &&
           (conf.max_split_bytes || conf.garbage_collection))
    rules.expandable_segments = false;
  if (conf.max_split_bytes) rules.max_split_bytes = *conf.max_split_bytes;
  if (conf.memory_fraction) {
    rules.memory_fraction = *conf.memory_fraction;
    rules.garbage_collection = conf.garbage_collection.value_or(0);
  }
  return rules;
}

std::string alloc_conf_note(const AllocConf& conf) {
  if (conf.garbage_collection && !conf.memory_fraction)
    return "garbage_collection_threshold does nothing without a memory fraction; add "
           "per_process_memory_fraction:1.0";
  return "";
}

Result<void> set_alloc_conf(DeviceProfile& profile, const std::string& text,
                            const std::string& where) {
  NB_TRY_VOID(parse_alloc_conf(text, profile.software.out_of_memory.value, where));
  profile.software.alloc_conf.emplace();
  profile.software.alloc_conf->value = text;
  profile.software.alloc_conf->source = where;
  return {};
}

}  // namespace nb
