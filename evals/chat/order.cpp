#include "evals/chat/order.hpp"

#include <utility>

#include "model/data/tasks/task_view.hpp"

namespace nb {

std::vector<std::size_t> chat_order(std::size_t rows, std::int64_t max_per_task) {
  auto order = task_view(rows).value();  // without a slice nothing can be wrong
  if (max_per_task > 0 && std::cmp_less(max_per_task, order.size()))
    order.resize(static_cast<std::size_t>(max_per_task));
  return order;
}

}  // namespace nb
