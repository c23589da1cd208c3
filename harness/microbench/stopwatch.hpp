// What every program here times with. Medians: one disturbed turn does not move them.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

namespace nb {

inline double seconds_of(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Not empty; of an even number of values the upper one in the middle.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace nb
