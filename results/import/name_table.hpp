// Names with their numbers, in the order in which they came, in a dozen bytes each: of half a
// million a map of strings takes ten times as much. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nb {

class NameTable {
 public:
  std::size_t size() const { return ends_.size(); }

  std::string_view name(std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(text_).substr(begin, ends_[i] - begin);
  }

  // nothing: it has not come yet.
  std::optional<std::size_t> find(std::string_view name) const {
    if (slots_.empty()) return std::nullopt;
    const std::uint32_t found = slots_[slot_of(name)];
    return found == kFree ? std::nullopt : std::optional<std::size_t>(found);
  }

  // Its number, which is size() before where it is new.
  std::size_t add(std::string_view name) {
    if (const auto known = find(name)) return *known;
    text_ += name;
    ends_.push_back(text_.size());
    if (2 * ends_.size() > slots_.size()) {
      slots_.assign(slots_.empty() ? 16 : 2 * slots_.size(), kFree);
      for (std::size_t i = 0; i < ends_.size(); ++i) put(i);
    } else {
      put(ends_.size() - 1);
    }
    return ends_.size() - 1;
  }

 private:
  static constexpr std::uint32_t kFree = 0xFFFFFFFF;

  void put(std::size_t i) { slots_[slot_of(name(i))] = static_cast<std::uint32_t>(i); }
  // Of that name, or the free one where it belongs.
  std::size_t slot_of(std::string_view wanted) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = std::hash<std::string_view>()(wanted) & mask;
    while (slots_[at] != kFree && name(slots_[at]) != wanted) at = (at + 1) & mask;
    return at;
  }

  std::string text_;                  // one name after the other
  std::vector<std::size_t> ends_;     // of each
  std::vector<std::uint32_t> slots_;  // an open table of numbers, at most half full
};

}  // namespace nb
