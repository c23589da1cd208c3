#include "harness/doctor/literal_scan.hpp"

#include <algorithm>
#include <queue>

#include "harness/base/check.hpp"

namespace nb::doctor {

LiteralScan::LiteralScan(const std::vector<std::string>& literals) {
  for (const std::string& literal : literals)
    for (const char byte : literal) {
      std::uint8_t& own = class_[static_cast<unsigned char>(byte)];
      if (own == 0) own = static_cast<std::uint8_t>(classes_++);
    }
  NB_CHECK(classes_ < 256, "{} bytes in literals", classes_);
  const auto add_state = [&] {
    next_.resize(next_.size() + classes_, 0);
    ends_.emplace_back();
    NB_CHECK(ends_.size() < 65536, "{} states", ends_.size());
    return static_cast<State>(ends_.size() - 1);
  };
  add_state();
  for (std::size_t i = 0; i < literals.size(); ++i) {
    NB_CHECK(!literals[i].empty(), "an empty literal");
    State state = 0;
    for (const char byte : literals[i]) {
      const std::size_t at =
          static_cast<std::size_t>(state) * classes_ + class_[static_cast<unsigned char>(byte)];
      if (next_[at] == 0) {
        const State added = add_state();  // moves next_
        next_[at] = added;
      }
      state = next_[at];
    }
    ends_[state].push_back(static_cast<int>(i));
  }
  // Where no literal goes on, the longest end of what was read that begins one does.
  std::vector<State> fallback(ends_.size(), 0);
  std::queue<State> open;
  for (std::size_t c = 0; c < classes_; ++c)
    if (next_[c] != 0) open.push(next_[c]);
  while (!open.empty()) {
    const State state = open.front();
    open.pop();
    const State back = fallback[state];
    ends_[state].insert(ends_[state].end(), ends_[back].begin(), ends_[back].end());
    for (std::size_t c = 0; c < classes_; ++c) {
      State& to = next_[static_cast<std::size_t>(state) * classes_ + c];
      const State of_back = next_[static_cast<std::size_t>(back) * classes_ + c];
      if (to == 0) {
        to = of_back;
      } else {
        fallback[to] = of_back;
        open.push(to);
      }
    }
  }
  // As what the loops below take: where a state's row begins, and whether a literal ends in it.
  for (const State to : next_)
    rows_.push_back(static_cast<Row>(to * classes_ * 2 + (ends_[to].empty() ? 0 : 1)));
}

std::size_t LiteralScan::first_end(std::string_view text, std::size_t from) const {
  Row row = 0;
  for (std::size_t at = from; at < text.size(); ++at) {
    row = next(row, text[at]);
    if ((row & 1) != 0) return at + 1;
  }
  return std::string_view::npos;
}

std::vector<int> LiteralScan::in(std::string_view text) const {
  std::vector<int> found;
  Row row = 0;
  for (const char byte : text) {
    row = next(row, byte);
    if ((row & 1) == 0) continue;
    const auto& ends = ends_[row / 2 / classes_];
    found.insert(found.end(), ends.begin(), ends.end());
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace nb::doctor
