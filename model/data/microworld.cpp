#include "model/data/microworld.hpp"

#include <nlohmann/json.hpp>

#include "harness/base/check.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/json_io.hpp"
#include "model/data/microworld_world.hpp"

namespace nb {
namespace {

constexpr std::int64_t kMaxItems = 190;  // 48 things have 192 properties

}  // namespace

FieldList MicroworldSettings::fields() {
  return {
      {"seed", "of the world, its documents and items", &seed},
      {"people",
       "people in the world",
       &people,
       {.min = 8, .max = static_cast<double>(microworld::kNames.size())}},
      {"documents", "training documents, about 55 words each", &documents, {.min = 1, .max = 1e7}},
      {"val_documents", "documents for bits per byte", &val_documents, {.min = 0, .max = 1e6}},
      {"items_per_task",
       "evaluation items of each task; fewer people have fewer facts and routines",
       &items_per_task,
       {.min = 2, .max = static_cast<double>(kMaxItems)}},
      {"lessons",
       "more training documents: sums, spelling, programs, rules, questions",
       &lessons,
       {.min = 0, .max = 1e7, .omits_absent = true}}};
}

Result<void> check_ranges(const MicroworldSettings& settings) {
  MicroworldSettings checked;
  return parse_fields(checked.fields(), print_struct(settings), "microworld");
}

std::size_t MicroworldTask::size() const {
  return std::visit([](const auto& list) { return list.size(); }, items);
}

Microworld generate_microworld(const MicroworldSettings& settings) {
  const Result<void> ranges = check_ranges(settings);
  NB_CHECK(ranges.has_value(), "[microworld] {}", ranges.error().message);
  const microworld::World world = microworld::make_world(settings);
  const std::int64_t lessons = settings.lessons.value_or(0);
  const auto documents = [&](const char* purpose, std::int64_t count) {
    // As many lessons to a document as in training, rounded down.
    return microworld::with_lessons(world, purpose, lessons * count / settings.documents,
                                    microworld::make_documents(world, purpose, count));
  };
  return {documents("microworld/train", settings.documents),
          documents("microworld/val", settings.val_documents),
          microworld::make_tasks(world, settings.items_per_task)};
}

}  // namespace nb
