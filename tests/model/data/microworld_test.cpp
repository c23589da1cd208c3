#include "model/data/microworld.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "harness/base/hash.hpp"
#include "harness/base/json_io.hpp"
#include "model/data/corpus.hpp"
#include "model/data/microworld_world.hpp"

namespace nb {
namespace {

std::string line_of(const Json& row) { return dump_json(row, -1).value() + "\n"; }

Json row_of(const MultipleChoiceItem& item) {
  return {{"query", item.query}, {"choices", item.choices}, {"gold", item.gold}};
}
Json row_of(const SchemaItem& item) {
  return {{"context_options", item.context_options},
          {"continuation", item.continuation},
          {"gold", item.gold}};
}
Json row_of(const LanguageModelingItem& item) {
  return {{"context", item.context}, {"continuation", item.continuation}};
}

// Rows in CORE's form, one line each.
std::string core_jsonl(const MicroworldTask& task) {
  std::string text;
  std::visit(
      [&](const auto& items) {
        for (const auto& item : items) text += line_of(row_of(item));
      },
      task.items);
  return text;
}

std::set<std::string> sentences(const Microworld& world) {
  std::set<std::string> lines;
  for (const auto* documents : {&world.documents, &world.val_documents})
    for (const std::string& document : *documents) {
      std::istringstream text(document);
      for (std::string line; std::getline(text, line);) lines.insert(line);
    }
  return lines;
}

template <class Item>
const std::vector<Item>& items(const Microworld& world, const std::string& id) {
  for (const MicroworldTask& task : world.tasks)
    if (task.id == id) return std::get<std::vector<Item>>(task.items);
  static const std::vector<Item> none;
  ADD_FAILURE() << "no task " << id;
  return none;
}

// Every full sentence that an item can be read as, right or wrong.
std::vector<std::string> item_sentences(const Microworld& world) {
  std::vector<std::string> all;
  for (const char* id : {"mw/facts", "mw/choice"})
    for (const auto& item : items<MultipleChoiceItem>(world, id))
      for (const std::string& choice : item.choices) all.push_back(item.query + " " + choice + ".");
  for (const auto& item : items<SchemaItem>(world, "mw/agreement"))
    for (const std::string& option : item.context_options)
      all.push_back(option + " " + item.continuation + ".");
  for (const auto& item : items<LanguageModelingItem>(world, "mw/cloze"))
    all.push_back(item.context + " " + item.continuation + ".");
  return all;
}

TEST(Microworld, HasTheSameBytesOnEveryHost) {
  // A digest of our own output: it says that hosts agree, not that the output is right. An intended
  // change of the world changes it.
  MicroworldSettings settings;
  settings.documents = 300;
  const Microworld world = generate_microworld(settings);
  Sha256 all;
  for (const char* id : {"mw/facts", "mw/cloze", "mw/agreement", "mw/choice"})
    all.update(core_jsonl(*std::ranges::find(world.tasks, id, &MicroworldTask::id)));
  for (const auto* documents : {&world.documents, &world.val_documents})
    for (const std::string& document : *documents)
      all.update(*dump_json(Json{{"text", document}}, -1) + "\n");
  EXPECT_EQ(all.hex(), "2bcc41916793b764e2ea8a3ad529080c7360e97073c181cae291f5b3a613b610");
}

TEST(Microworld, IsAFunctionOfItsSeed) {
  MicroworldSettings settings;
  settings.documents = 50;
  const Microworld one = generate_microworld(settings), again = generate_microworld(settings);
  EXPECT_EQ(one.documents, again.documents);
  settings.seed = 2;
  EXPECT_NE(generate_microworld(settings).documents, one.documents);
  settings.seed = 1;
  settings.documents = 60;  // more documents continue the same ones
  const Microworld more = generate_microworld(settings);
  EXPECT_TRUE(std::equal(one.documents.begin(), one.documents.end(), more.documents.begin()));
}

TEST(Microworld, NoItemStandsInADocument) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    MicroworldSettings settings;
    settings.seed = seed;
    const Microworld world = generate_microworld(settings);
    const std::set<std::string> lines = sentences(world);
    for (const std::string& sentence : item_sentences(world))
      ASSERT_FALSE(lines.contains(sentence)) << "seed " << seed << ": " << sentence;
  }
}

TEST(Microworld, DocumentsTeachEveryFactInOtherWords) {
  // From the lines alone: which values does each subject have, by attribute?
  const MicroworldSettings settings;
  const Microworld world = generate_microworld(settings);
  const std::set<std::string> lines = sentences(world);
  const auto check = [&](const auto& attributes, const std::vector<MultipleChoiceItem>& list) {
    for (const MultipleChoiceItem& item : list) {
      int told = 0;
      for (const auto& attribute : attributes)
        for (std::size_t held = 0; held < attribute.wordings.size(); ++held) {
          // Is the query this wording of some name?
          const std::string wording(attribute.wordings[held]);
          const std::string head = wording.substr(0, wording.find("{}"));
          const std::string tail = wording.substr(wording.find("{}") + 2);
          if (!item.query.starts_with(head) || !item.query.ends_with(tail)) continue;
          const std::string name =
              item.query.substr(head.size(), item.query.size() - head.size() - tail.size());
          if (name.find(' ') != std::string::npos) continue;
          for (std::size_t w = 0; w < attribute.wordings.size(); ++w)
            for (std::size_t c = 0; c < item.choices.size(); ++c) {
              std::string sentence(attribute.wordings[w]);
              sentence.replace(sentence.find("{}"), 2, name).append(" " + item.choices[c] + ".");
              if (!lines.contains(sentence)) continue;
              EXPECT_EQ(static_cast<int>(c), item.gold) << sentence << " against " << item.query;
              ++told;
            }
        }
      EXPECT_GE(told, 3) << item.query;
    }
  };
  check(microworld::kOfPeople, items<MultipleChoiceItem>(world, "mw/facts"));
  check(microworld::kOfThings, items<MultipleChoiceItem>(world, "mw/choice"));
}

TEST(Microworld, RoutinesAreToldAtOtherTimes) {
  const Microworld world = generate_microworld({});
  const std::set<std::string> lines = sentences(world);
  for (const auto& item : items<LanguageModelingItem>(world, "mw/cloze")) {
    const std::string after_time =
        item.context.substr(item.context.find(' ', item.context.find(' ') + 1));
    int told = 0;
    for (const auto& time : microworld::kTimes)
      told += lines.contains(std::string(time.text) + after_time + " " + item.continuation + ".");
    EXPECT_GE(told, 1) << item.context;
  }
}

TEST(Microworld, AgreementOptionsDifferInNumberOnly) {
  const Microworld world = generate_microworld({});
  int with_place = 0;
  for (const auto& item : items<SchemaItem>(world, "mw/agreement")) {
    ASSERT_EQ(item.context_options.size(), 2U);
    const std::string& right = item.context_options[static_cast<std::size_t>(item.gold)];
    const std::string& wrong = item.context_options[static_cast<std::size_t>(1 - item.gold)];
    const auto subject = [](const std::string& text) {
      return text.substr(
          4, text.find(' ', 4) == std::string::npos ? std::string::npos : text.find(' ', 4) - 4);
    };
    const bool plural =
        item.continuation.starts_with("are ") || item.continuation.starts_with("were ");
    EXPECT_EQ(subject(right).back() == 's', plural) << right << " | " << item.continuation;
    EXPECT_EQ(subject(wrong).back() == 's', !plural) << wrong << " | " << item.continuation;
    if (right.find(' ', 4) == std::string::npos) continue;
    ++with_place;
    EXPECT_EQ(right.back() == 's', !plural)
        << right;  // the nearer noun speaks for the wrong number
  }
  EXPECT_EQ(with_place, 90);
}

TEST(Microworld, TasksHaveTheirSizeAndChance) {
  const Microworld world = generate_microworld({});
  std::map<std::string, double> chance;
  for (const MicroworldTask& task : world.tasks) {
    EXPECT_EQ(task.size(), 180U) << task.id;
    chance[task.id] = task.chance;
  }
  ASSERT_EQ(chance.size(), 4U);
  EXPECT_EQ(chance["mw/facts"], 0.25);
  EXPECT_EQ(chance["mw/agreement"], 0.5);
  EXPECT_EQ(chance["mw/cloze"], 0);
  EXPECT_NEAR(chance["mw/choice"], (1.0 / 2 + 1.0 / 3 + 1.0 / 4) / 3, 0.05);
  std::map<std::size_t, int> sizes;
  std::map<int, int> golds;
  std::set<std::string> queries;
  for (const auto& item : items<MultipleChoiceItem>(world, "mw/choice"))
    ++sizes[item.choices.size()];
  for (const auto& item : items<MultipleChoiceItem>(world, "mw/facts")) {
    ++golds[item.gold];
    queries.insert(item.query);
    EXPECT_EQ(std::set<std::string>(item.choices.begin(), item.choices.end()).size(), 4U)
        << item.query;
  }
  EXPECT_EQ(sizes.size(), 3U);  // 2, 3 and 4 choices
  EXPECT_EQ(queries.size(), 180U);
  for (int gold = 0; gold < 4; ++gold)
    EXPECT_NEAR(golds[gold], 45, 4 * 5.8) << gold;  // 4 standard deviations
}

TEST(Microworld, WritesRowsInCoresForm) {
  MicroworldSettings settings;
  settings.documents = 20;
  const Microworld world = generate_microworld(settings);
  const std::map<std::string, std::set<std::string>> keys = {
      {"multiple_choice", {"query", "choices", "gold"}},
      {"schema", {"context_options", "continuation", "gold"}},
      {"language_modeling", {"context", "continuation"}}};
  for (const MicroworldTask& task : world.tasks) {
    std::istringstream file(core_jsonl(task));
    std::size_t rows = 0;
    for (std::string line; std::getline(file, line); ++rows) {
      const Json row = Json::parse(line);
      std::set<std::string> names;
      for (const auto& [name, value] : row.items()) names.insert(name);
      EXPECT_EQ(names, keys.at(task.type)) << line;
    }
    EXPECT_EQ(rows, task.size());
  }
}

TEST(Microworld, SmallAndLargeSettingsWork) {
  for (const std::int64_t people : {8, 64})
    for (const std::int64_t count : {2, 190}) {
      MicroworldSettings settings;
      settings.people = people;
      settings.items_per_task = count;
      settings.documents = 200;
      const Microworld world = generate_microworld(settings);
      EXPECT_EQ(world.documents.size(), 200U);
      const std::set<std::string> lines = sentences(world);
      for (const MicroworldTask& task : world.tasks) {
        EXPECT_GT(task.size(), 0U) << task.id;
        EXPECT_LE(task.size(), static_cast<std::size_t>(count)) << task.id;
      }
      for (const std::string& sentence : item_sentences(world))
        ASSERT_FALSE(lines.contains(sentence)) << sentence;
    }
}

}  // namespace
}  // namespace nb
