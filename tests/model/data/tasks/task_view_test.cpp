#include "model/data/tasks/task_view.hpp"

#include <gtest/gtest.h>

#include "model/data/tasks/gsm8k.hpp"

namespace nb {
namespace {

std::string view_error(const TaskSlice& slice) {
  const auto view = task_view(10, slice);
  return view ? "no error" : view.error().message;
}

// Printed by numpy 1.24.
TEST(TaskView, ShufflesAsHuggingFaceDoes) {
  EXPECT_EQ(task_view(10).value(), (std::vector<std::size_t>{5, 6, 0, 7, 3, 2, 4, 9, 1, 8}));
  const auto mmlu = task_view(14042).value();
  EXPECT_EQ(std::vector<std::size_t>(mmlu.begin(), mmlu.begin() + 4),
            (std::vector<std::size_t>{1469, 122, 5555, 7550}));
}

TEST(TaskView, SlicesTheShuffledRows) {
  EXPECT_EQ(task_view(10, {.start = 2, .stop = 7, .step = 2}).value(),
            (std::vector<std::size_t>{0, 3, 4}));
  EXPECT_TRUE(task_view(10, {.start = 4, .stop = 4}).value().empty());
  EXPECT_EQ(task_view(10, {.start = 9, .step = static_cast<std::size_t>(-1)}).value().size(), 1u);
  EXPECT_EQ(slice_view(5, {.start = 1, .step = 3}).value(), (std::vector<std::size_t>{1, 4}));
}

TEST(TaskView, RefusesSlicesThatLeaveTheRows) {
  EXPECT_EQ(view_error({.stop = 11}), "the slice stops at 11, but there are 10 rows");
  EXPECT_EQ(view_error({.start = 5, .stop = 4}), "the slice starts at 5 and stops at 4");
  EXPECT_EQ(view_error({.step = 0}), "the step of a slice must be at least 1");
}

// Printed by CPython 3.11: the training mixtures of mid-training and SFT.
TEST(TaskMixture, IsShuffledAsCPythonDoes) {
  const auto head = [](const std::vector<std::size_t>& sizes) {
    auto mixture = task_mixture(sizes);
    mixture.resize(4);
    return mixture;
  };
  using Entries = std::vector<MixtureEntry>;
  EXPECT_EQ(head({460341, 99842, 7473}), (Entries{{1, 94287}, {1, 38680}, {1, 84459}, {0, 39822}}));
  EXPECT_EQ(head({2251, 1119, 7473, 10000}), (Entries{{3, 1911}, {2, 6890}, {3, 9027}, {2, 5335}}));
}

TEST(TaskSequence, GoesTaskByTask) {
  EXPECT_EQ(task_sequence(std::vector<std::size_t>{2, 0, 1}),
            (std::vector<MixtureEntry>{{0, 0}, {0, 1}, {2, 0}}));
}

TEST(ConversationTask, GivesTheConversationAtAPlaceOfTheView) {
  std::vector<Gsm8kItem> items;
  for (int i = 0; i < 10; ++i) items.push_back({"", "q" + std::to_string(i), "#### 1"});
  const auto task = conversation_task("gsm8k", items, {.start = 1, .stop = 3});
  ASSERT_TRUE(task.has_value()) << task.error().message;
  EXPECT_EQ(task->size, 2u);
  EXPECT_EQ(all_text(task->at(0).messages[0]), "q6");
  EXPECT_EQ(all_text(task->at(1).messages[0]), "q0");
  const auto plain = conversation_task(
      "custom", std::vector<Conversation>{{{user_says("a"), assistant_says("b")}}});
  EXPECT_EQ(all_text(plain->at(0).messages[1]), "b");
}

}  // namespace
}  // namespace nb
