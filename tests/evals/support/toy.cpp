#include "tests/evals/support/toy.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "evals/core/items.hpp"
#include "evals/evaluate.hpp"
#include "model/tokenizer/byte_tokenizer.hpp"

namespace nb::test {

const Json& core_golden() {
  static const Json golden = [] {
    auto json = read_json(std::filesystem::path(NB_SOURCE_DIR) / "tests/golden/core_golden.json");
    EXPECT_TRUE(json.has_value()) << json.error().message;
    return *json;
  }();
  return golden;
}

const Tokenizer& toy_tokenizer() {
  static const Tokenizer tokenizer =
      nb::byte_tokenizer(core_golden().at("merges").get<std::vector<std::string>>());
  return tokenizer;
}

FakeLanguageModel toy_model(std::int64_t context_length) {
  const int vocab = toy_tokenizer().vocab_size();
  return FakeLanguageModel(
      toy_tokenizer(), context_length, [vocab](std::span<const int> before, int token) {
        const int last = before.back();
        const auto sum = 3 * last + 7 * token + 5 * static_cast<int>(before.size());
        return FakeScore{-static_cast<float>(sum % 17) / 8.0f,
                         (last + token) % 7 == 0 ? (token + 1) % vocab : token};
      });
}

FakeLanguageModel flat_model(std::int64_t context_length) {
  return FakeLanguageModel(toy_tokenizer(), context_length, [](std::span<const int>, int token) {
    return FakeScore{-1.0f, token};
  });
}

EvalContext small_world(std::int64_t items_per_task) {
  EvalContext context;
  context.settings.tasks = {"mw"};
  context.microworld.documents = 20;
  context.microworld.val_documents = 5;
  context.microworld.items_per_task = items_per_task;
  return context;
}

std::vector<Task> tasks_of(const std::string& name) {
  auto tasks = expand_tasks(std::vector<std::string>{name}, "");
  EXPECT_TRUE(tasks.has_value()) << tasks.error().message;
  return *tasks;
}

Result<EvalResult> evaluate_core(const CoreTask& task, CoreTaskData data,
                                 const EvalContext& context, LanguageModel& model) {
  NB_TRY(const auto evaluator, CoreEvaluator::create(task, std::move(data), context));
  Task entry;
  entry.id = task.id;
  return evaluate(entry, *evaluator, context, model);
}

CoreTaskData task_data(const std::string& jsonl, CoreTaskType type, double baseline_percent) {
  auto items = parse_core_items(jsonl, type, "toy.jsonl");
  EXPECT_TRUE(items.has_value()) << items.error().message;
  return {*items, baseline_percent};
}

}  // namespace nb::test
