// Each text once, by a number: traces repeat few names millions of times. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace nb::profiler {

using TextId = std::uint32_t;  // 0: the empty text

class Texts {
 public:
  Texts() { id_of(""); }
  TextId id_of(std::string_view text) {
    const auto found = ids_.find(text);
    if (found != ids_.end()) return found->second;
    texts_.emplace_back(text);  // a deque: views into it stay valid
    const auto id = static_cast<TextId>(texts_.size() - 1);
    ids_.emplace(texts_.back(), id);
    return id;
  }
  const std::string& operator[](TextId id) const { return texts_[id]; }
  std::size_t size() const { return texts_.size(); }

  Texts(Texts&&) = default;
  Texts& operator=(Texts&&) = default;
  Texts(const Texts&) = delete;
  Texts& operator=(const Texts&) = delete;

 private:
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, TextId> ids_;
};

}  // namespace nb::profiler
