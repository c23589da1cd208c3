#include "model/engine/stop_strings.hpp"

#include <algorithm>
#include <utility>

#include "harness/base/check.hpp"
#include "model/engine/text_stream.hpp"

namespace nb {
namespace {

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

std::size_t characters(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, continues));
}

// Where the last `count` characters begin; 0 when there are no more of them.
std::size_t begin_of_last(std::string_view text, std::size_t count) {
  std::size_t at = text.size();
  for (; count > 0 && at > 0; --count) {
    --at;
    while (at > 0 && continues(text[at])) --at;
  }
  return at;
}

}  // namespace

StopStrings::StopStrings(std::vector<std::string> stops, bool includes)
    : stops_(std::move(stops)), includes_(includes) {
  for (const std::string& stop : stops_) {
    NB_CHECK(!stop.empty(), "[stop_strings] an empty string");
    most_held_ = std::max(most_held_, characters(stop) - 1);
  }
}

std::string StopStrings::push(std::string_view piece) {
  if (hit_) return {};
  held_ += piece;
  std::size_t begin = 0, end = std::string::npos;
  for (std::size_t i = 0; i < stops_.size(); ++i) {
    const std::size_t at = held_.find(stops_[i]);
    if (at == std::string::npos) continue;
    const std::size_t its_end = at + stops_[i].size();
    if (its_end > end || (its_end == end && at >= begin)) continue;
    begin = at;
    end = its_end;
    hit_ = i;
  }
  if (hit_) {
    held_.resize(includes_ ? end : begin);
    return std::exchange(held_, {});
  }
  const std::string_view whole(held_.data(), held_.size() - unfinished_utf8(held_));
  const std::size_t shown = begin_of_last(whole, most_held_);
  std::string text = held_.substr(0, shown);
  held_.erase(0, shown);
  return text;
}

std::string StopStrings::finish() { return std::exchange(held_, {}); }

}  // namespace nb
