// Which rows of a chat task come first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nb {

// Part of comparability of tasks whose rows come as task_view() says.
inline constexpr const char* kChatOrder = "shuffled as Hugging Face does, seed 42";

// Rows of a data set in nanochat's order, the first max_per_task of them (all when not positive).
std::vector<std::size_t> chat_order(std::size_t rows, std::int64_t max_per_task);

}  // namespace nb
