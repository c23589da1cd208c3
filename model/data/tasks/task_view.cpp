#include "model/data/tasks/task_view.hpp"

#include <fmt/core.h>

#include "harness/base/cpython_random.hpp"
#include "harness/base/numpy_random.hpp"

namespace nb {

Result<std::vector<std::size_t>> slice_view(std::size_t rows, const TaskSlice& slice) {
  const std::size_t stop = slice.stop.value_or(rows);
  if (slice.step == 0) return bad_input("the step of a slice must be at least 1");
  if (stop > rows)
    return bad_input(fmt::format("the slice stops at {}, but there are {} rows", stop, rows));
  if (slice.start > stop)
    return bad_input(fmt::format("the slice starts at {} and stops at {}", slice.start, stop));
  std::vector<std::size_t> view;
  for (std::size_t place = slice.start; place < stop; place += slice.step) {
    view.push_back(place);
    if (slice.step > stop - place) break;  // no step around the end of size_t
  }
  return view;
}

Result<std::vector<std::size_t>> task_view(std::size_t rows, const TaskSlice& slice,
                                           std::uint64_t seed) {
  NB_TRY(std::vector<std::size_t> view, slice_view(rows, slice));
  const std::vector<std::size_t> order = NumpyRandom(seed).permutation(rows);
  for (std::size_t& place : view) place = order[place];
  return view;
}

std::vector<MixtureEntry> task_sequence(std::span<const std::size_t> sizes) {
  std::vector<MixtureEntry> entries;
  for (std::size_t task = 0; task < sizes.size(); ++task)
    for (std::size_t index = 0; index < sizes[task]; ++index) entries.push_back({task, index});
  return entries;
}

std::vector<MixtureEntry> task_mixture(std::span<const std::size_t> sizes, std::uint64_t seed) {
  const std::vector<MixtureEntry> sequence = task_sequence(sizes);
  std::vector<MixtureEntry> mixed;
  mixed.reserve(sequence.size());
  for (const std::size_t place : CPythonRandom(seed).shuffled(sequence.size()))
    mixed.push_back(sequence[place]);
  return mixed;
}

}  // namespace nb
