// A generated world in simple English: people with towns, jobs, pets, colours and things; documents
// that tell of them, and held-out evaluation items that a d2 model trained on the documents answers
// well above chance. A function of (seed, settings) with the same bytes on every host. No tokens,
// no model here.
//
// Held out: the very sentence of an item (a subject with that wording) never stands in a document;
// the fact or rule behind it does, in other wordings or with other subjects. Items match CORE's
// three row schemas.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"

namespace nb {

struct MultipleChoiceItem {  // prompt of choice c: query + " " + choices[c]
  std::string query;
  std::vector<std::string> choices;
  int gold = 0;
};
struct SchemaItem {  // prompt of option o: context_options[o] + " " + continuation
  std::vector<std::string> context_options;
  std::string continuation;
  int gold = 0;
};
struct LanguageModelingItem {  // correct: every token of the continuation is the argmax
  std::string context;
  std::string continuation;
};
using TaskItems = std::variant<std::vector<MultipleChoiceItem>, std::vector<SchemaItem>,
                               std::vector<LanguageModelingItem>>;

struct MicroworldTask {
  std::string id;    // mw/facts, mw/choice (multiple choice), mw/agreement (schema), mw/cloze
                     // (language modelling)
  std::string type;  // CORE's names: multiple_choice, schema, language_modeling
  TaskItems items;
  double chance = 0;  // expected accuracy of uniform guessing: mean of 1/choices; 0 for cloze
  std::size_t size() const;
};

struct MicroworldSettings {
  std::uint64_t seed = 1;
  std::int64_t people = 40;
  std::int64_t documents = 4'000;    // for training, about 55 words each
  std::int64_t val_documents = 200;  // for bits per byte; same world, other documents
  std::int64_t items_per_task = 180;
  std::optional<std::int64_t> lessons = {};  // absent: none; validation has its share of them
  FieldList fields();
};

struct Microworld {
  std::vector<std::string> documents;
  std::vector<std::string> val_documents;
  std::vector<MicroworldTask> tasks;  // mw/facts, mw/cloze, mw/agreement, mw/choice
};

// The error names the setting and its range.
Result<void> check_ranges(const MicroworldSettings& settings);
// NB_CHECK: check_ranges() finds nothing.
Microworld generate_microworld(const MicroworldSettings& settings);

}  // namespace nb
