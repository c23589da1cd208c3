// What goes back to the device: everything unused, garbage by age, blocks that are never split.
#include <algorithm>
#include <iterator>
#include <vector>

#include "model/device/block_map.hpp"

namespace nb {
namespace {

std::uint64_t round_up_to(std::uint64_t value, std::uint64_t step) {
  return (value + step - 1) / step * step;
}
std::uint64_t round_down_to(std::uint64_t value, std::uint64_t step) { return value / step * step; }

}  // namespace

bool BlockMap::is_whole_segment(Map::const_iterator it) const {
  const auto next = std::next(it);
  return it->second.segment == it->first &&
         (next == blocks_.end() || next->second.segment != it->second.segment);
}

std::uint64_t BlockMap::release_segment(Map::iterator it) {
  const std::uint64_t size = it->second.size;
  unindex_free(it);
  blocks_.erase(it);
  return size;
}

std::uint64_t BlockMap::collect_garbage(std::uint64_t target_bytes) {
  if (rules_.expandable_segments) return 0;
  const std::uint64_t now = searches_[static_cast<std::size_t>(PoolKind::kLarge)];
  std::vector<Place> whole;
  for (const FreeBlock& entry : free_of(PoolKind::kLarge))
    if (is_whole_segment(entry.place)) whole.push_back(entry.place);
  std::uint64_t released = 0, total_age = 0;
  for (const Place& place : whole) total_age += now - place->second.free_since;
  bool goes_on = true;
  while (released < target_bytes && goes_on && !whole.empty()) {
    const double mean = static_cast<double>(total_age) / static_cast<double>(whole.size());
    goes_on = false;
    std::erase_if(whole, [&](const Place& place) {
      const std::uint64_t age = now - place->second.free_since;
      if (static_cast<double>(age) < mean) return false;
      goes_on = true;
      total_age -= age;
      released += release_segment(place);
      return true;
    });
  }
  return released;
}

BlockMap::Released BlockMap::release_oversize(std::uint64_t rounded) {
  constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};
  if (rules_.max_split_bytes == kNoLimit || rules_.expandable_segments) return {};
  const Free& free = free_of(pool_of(rounded));
  const std::uint64_t wanted = std::max(rounded, rules_.max_split_bytes);
  const auto first = free.lower_bound(FreeBlock{wanted, 0, {}});
  if (first != free.end())
    return is_whole_segment(first->place) ? Released{release_segment(first->place), true}
                                          : Released{};
  Released released;
  while (!free.empty() && released.size_bytes < wanted &&
         free.rbegin()->size >= rules_.max_split_bytes && is_whole_segment(free.rbegin()->place))
    released.size_bytes += release_segment(free.rbegin()->place);
  released.is_enough = released.size_bytes >= wanted;
  return released;
}

std::uint64_t BlockMap::release_unused() {
  std::uint64_t released = 0;
  for (auto it = blocks_.begin(); it != blocks_.end();) {
    const std::uint64_t address = it->first;
    const Block block = it->second;
    if (block.state != BlockState::kFree) {
      ++it;
    } else if (!rules_.expandable_segments) {
      const auto next = std::next(it);
      if (is_whole_segment(it)) released += release_segment(it);
      it = next;
    } else {
      const std::uint64_t step = granule(block.pool);
      const std::uint64_t begin = block.segment + round_up_to(address - block.segment, step);
      const std::uint64_t end =
          block.segment + round_down_to(address + block.size - block.segment, step);
      auto next = std::next(it);
      if (begin < end) {
        unindex_free(it);
        auto middle = begin > address ? cut(it, begin - address) : it;
        if (begin > address) index_free(it);
        if (middle->first + middle->second.size > end) index_free(cut(middle, end - begin));
        middle->second.state = BlockState::kUnmapped;
        released += end - begin;
        // Unmapped neighbours become one.
        if (middle != blocks_.begin()) {
          const auto before = std::prev(middle);
          if (before->second.segment == block.segment &&
              before->second.state == BlockState::kUnmapped) {
            before->second.size += middle->second.size;
            blocks_.erase(middle);
            middle = before;
          }
        }
        if (const auto after = std::next(middle); after != blocks_.end() &&
                                                  after->second.segment == block.segment &&
                                                  after->second.state == BlockState::kUnmapped) {
          if (after == next) ++next;
          middle->second.size += after->second.size;
          blocks_.erase(after);
        }
      }
      it = next;
    }
  }
  return released;
}

}  // namespace nb
