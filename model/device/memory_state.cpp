// Allocator layout to and from JSON, for checkpoints, tests and pictures.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "model/device/memory_impl.hpp"

namespace nb {
namespace {

// Statistics that a restore brings back; capacity and reserve belong to the device that restores.
template <class Stats, class Visit>
void each_saved_stat(Stats& stats, const Visit& visit) {
  visit("allocated_bytes", stats.allocated_bytes);
  visit("reserved_bytes", stats.reserved_bytes);
  visit("peak_allocated_bytes", stats.peak_allocated_bytes);
  visit("peak_reserved_bytes", stats.peak_reserved_bytes);
  visit("allocations", stats.allocations);
  visit("segments_made", stats.segments_made);
  visit("retries", stats.retries);
}

struct SavedLive {
  std::string name;
  std::uint64_t address = 0;
  std::uint64_t requested = 0;
};

}  // namespace

Json CachingAllocator::snapshot() const {
  constexpr const char* kStates[] = {"free", "live", "unmapped"};
  Json segments = Json::array();
  for (const auto& [address, block] : impl_->map.blocks()) {
    if (block.segment == address) {
      segments.push_back({{"address", address},
                          {"size", 0},
                          {"pool", block.pool == PoolKind::kSmall ? "small" : "large"},
                          {"blocks", Json::array()}});
    }
    Json& segment = segments.back();
    segment["size"] = segment["size"].get<std::uint64_t>() + block.size;
    segment["blocks"].push_back(
        {{"size", block.size}, {"state", kStates[static_cast<std::size_t>(block.state)]}});
  }
  return segments;
}

Json CachingAllocator::state() const {
  const Impl& a = *impl_;
  Json blocks = Json::array();
  const bool has_ages = a.rules.garbage_collection > 0;
  for (const auto& [address, block] : a.map.blocks()) {
    blocks.push_back({address, block.size, block.segment, static_cast<int>(block.pool),
                      static_cast<int>(block.state)});
    if (has_ages) blocks.back().push_back(block.free_since);
  }
  Json live = Json::array();
  for (const LiveBlock& block : a.live) {
    live.push_back({block.name, block.address(), block.requested});
  }
  Json stats = Json::object();
  each_saved_stat(a.stats, [&](const char* key, std::uint64_t value) { stats[key] = value; });
  Json state = {{"blocks", std::move(blocks)},
                {"live", std::move(live)},
                {"next_address", a.map.next_address()},
                {"stats", std::move(stats)}};
  if (has_ages) state["searches"] = a.map.searches();
  return state;
}

Result<void> CachingAllocator::restore(const Json& state) {
  Impl& a = *impl_;
  std::map<std::uint64_t, Block> blocks;
  std::vector<SavedLive> saved;
  MemoryStats stats = a.stats;
  std::uint64_t next_address = 0;
  const bool has_ages = a.rules.garbage_collection > 0;
  std::array<std::uint64_t, 2> searches{};
  try {
    for (const Json& b : state.at("blocks")) {
      const int pool = b.at(3).get<int>(), kind = b.at(4).get<int>();
      if (pool < 0 || pool > 1 || kind < 0 || kind > 2) {
        return bad_input("device memory: a saved block has an unknown pool or state");
      }
      blocks[b.at(0).get<std::uint64_t>()] = {
          b.at(1).get<std::uint64_t>(), b.at(2).get<std::uint64_t>(), static_cast<PoolKind>(pool),
          static_cast<BlockState>(kind), has_ages ? b.at(5).get<std::uint64_t>() : 0};
    }
    if (has_ages) state.at("searches").get_to(searches);
    for (const Json& l : state.at("live")) {
      saved.push_back(
          {l.at(0).get<std::string>(), l.at(1).get<std::uint64_t>(), l.at(2).get<std::uint64_t>()});
    }
    next_address = state.at("next_address").get<std::uint64_t>();
    each_saved_stat(stats, [&](const char* key, std::uint64_t& value) {
      value = state.at("stats").at(key).get<std::uint64_t>();
    });
  } catch (const Json::exception& e) {
    return bad_input(fmt::format("device memory: the saved state is damaged ({})", e.what()));
  }
  if (saved.size() != a.live.size()) {
    return bad_input(fmt::format("device memory: the checkpoint has {} live blocks, this run {}",
                                 saved.size(), a.live.size()));
  }
  std::size_t i = 0, live_in_map = 0;
  for (const LiveBlock& block : a.live) {
    const SavedLive& s = saved[i++];
    const auto at = blocks.find(s.address);
    if (s.name != block.name || s.requested != block.requested || at == blocks.end() ||
        at->second.state != BlockState::kLive || at->second.size < s.requested) {
      return bad_input(
          fmt::format("device memory: block {} is \"{}\" of {} bytes in the checkpoint, \"{}\" of "
                      "{} in this run",
                      i - 1, s.name, s.requested, block.name, block.requested));
    }
  }
  for (const auto& [address, block] : blocks) {
    live_in_map += block.state == BlockState::kLive ? 1 : 0;
  }
  if (live_in_map != saved.size() || !a.map.assign(std::move(blocks), next_address)) {
    return bad_input("device memory: the saved blocks do not fit together");
  }
  a.map.set_searches(searches);
  i = 0;
  a.by_use = {};
  for (LiveBlock& block : a.live) {
    block.place = a.map.place_of(saved[i++].address);
    a.bytes_of(block.use) += block.size();
  }
  a.stats = stats;
  a.peak_by_use = a.by_use;
  return {};
}

}  // namespace nb
