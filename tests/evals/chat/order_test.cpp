#include "evals/chat/order.hpp"

#include <gtest/gtest.h>

namespace nb {
namespace {

TEST(ChatOrder, TheFirstRowsOfOneAndTheSameOrder) {
  const auto all = chat_order(10, -1);
  ASSERT_EQ(all.size(), 10u);
  EXPECT_EQ(chat_order(10, 0), all);
  for (const std::size_t count : {1u, 2u, 9u, 10u}) {
    const std::vector<std::size_t> first(all.begin(),
                                         all.begin() + static_cast<std::ptrdiff_t>(count));
    EXPECT_EQ(chat_order(10, static_cast<std::int64_t>(count)), first) << count;
  }
  EXPECT_EQ(chat_order(10, 11), all);
}

}  // namespace
}  // namespace nb
