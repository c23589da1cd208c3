// The tasks' messages, token ids, masks and draws against tests/golden/chat_tasks.py.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/base/hash.hpp"
#include "harness/base/json_io.hpp"
#include "model/data/tasks/conversation_json.hpp"
#include "model/data/tasks/gsm8k.hpp"
#include "model/data/tasks/multiple_choice.hpp"
#include "model/data/tasks/spelling.hpp"
#include "model/data/tasks/task_view.hpp"
#include "model/data/tasks/word_list.hpp"
#include "tests/support/chat_tokenizer.hpp"
#include "tests/support/data_dir.hpp"

namespace nb {
namespace {

const Json& golden() {
  static const Json json = [] {
    auto read = read_json(NB_SOURCE_DIR "/tests/golden/chat_tasks.json");
    EXPECT_TRUE(read.has_value()) << read.error().message;
    return *read;
  }();
  return json;
}

template <class Number>
Json digest(const std::vector<Number>& values, std::size_t first) {
  std::string text;
  for (const Number value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
  return {first, sha256_hex(text).substr(0, 16)};
}

void expect_rendered(const Conversation& conversation, const Json& want, const std::string& what) {
  SCOPED_TRACE(what);
  const Tokenizer& tokenizer = test::gpt2_chat_tokenizer();
  const auto prompt = render_for_completion(tokenizer, conversation);
  const auto whole = render_conversation(tokenizer, conversation);
  ASSERT_TRUE(prompt.has_value()) << prompt.error().message;
  ASSERT_TRUE(whole.has_value()) << whole.error().message;
  const Message& user = conversation.messages[conversation.messages.size() - 2];
  EXPECT_EQ(sha256_hex(all_text(user)).substr(0, 16), want.at("user").get<std::string>());
  EXPECT_EQ(digest(*prompt, prompt->size()), want.at("prompt_ids"));
  EXPECT_EQ(digest(whole->ids, whole->ids.size()), want.at("ids"));
  const auto supervised =
      static_cast<std::size_t>(std::count(whole->mask.begin(), whole->mask.end(), 1));
  EXPECT_EQ(digest(whole->mask, supervised), want.at("mask"));
  if (!want.contains("all_ids")) return;
  EXPECT_EQ(whole->ids, want.at("all_ids").get<std::vector<int>>());
  std::string mask;
  for (const std::uint8_t bit : whole->mask) mask += static_cast<char>('0' + bit);
  EXPECT_EQ(mask, want.at("all_mask").get<std::string>());
}

// items in file order
template <class Item>
void expect_task(const char* name, const Result<std::vector<Item>>& items,
                 RowOrder order = RowOrder::kShuffled) {
  ASSERT_TRUE(items.has_value()) << items.error().message;
  const Json& want = golden().at(name);
  ASSERT_EQ(items->size(), want.at("rows").get<std::size_t>());
  const auto view = order == RowOrder::kShuffled ? task_view(items->size()).value()
                                                 : slice_view(items->size(), {}).value();
  ASSERT_EQ(want.at("items").size(), 20u);
  for (std::size_t place = 0; place < 20; ++place) {
    const Json& row = want.at("items")[place];
    EXPECT_EQ(view[place], row.at("row").get<std::size_t>()) << name << " " << place;
    expect_rendered(conversation_of((*items)[view[place]]), row,
                    std::string(name) + " " + std::to_string(place));
  }
}

TEST(ChatGolden, RendersConversationsOfEveryShape) {
  NB_NEEDS_DATA();
  std::size_t number = 0;
  for (const Json& toy : golden().at("toys")) {
    const auto conversations =
        parse_conversations(Json{{"messages", toy.at("messages")}}.dump(), "toy");
    ASSERT_TRUE(conversations.has_value()) << conversations.error().message;
    expect_rendered(conversations->front(), toy, "toy " + std::to_string(number++));
  }
  EXPECT_GE(number, 9u);
}

TEST(ChatGolden, RendersArc) {
  NB_NEEDS_DATA();
  const auto folder = test::data_dir() / "arc/jsonl";
  expect_task("chat_arc_easy", read_arc(folder / "arc_easy_test.jsonl"));
  expect_task("chat_arc_challenge", read_arc(folder / "arc_challenge_test.jsonl"));
}

TEST(ChatGolden, RendersMmlu) {
  NB_NEEDS_DATA();
  expect_task("mmlu", read_mmlu(test::data_dir() / "mmlu/jsonl/test.jsonl"));
}

TEST(ChatGolden, RendersAndMarksGsm8k) {
  NB_NEEDS_DATA();
  const auto items = read_gsm8k(test::data_dir() / "gsm8k/test.jsonl");
  expect_task("gsm8k", items);
  for (const Json& row : golden().at("gsm8k").at("items")) {
    const Gsm8kItem& item = (*items)[row.at("row").get<std::size_t>()];
    EXPECT_EQ(extract_answer(item.answer), row.at("gold").get<std::string>());
    Json kinds = Json::array();
    for (const MessagePart& part : answer_parts(item.answer))
      kinds.push_back(part.kind == PartKind::kText     ? "text"
                      : part.kind == PartKind::kPython ? "python"
                                                       : "python_output");
    EXPECT_EQ(kinds, row.at("parts"));
    for (const Json& mark : row.at("marks")) {
      const auto text = mark[0].get<std::string>();
      const auto want =
          mark[1].is_null() ? std::nullopt : std::optional(mark[1].get<std::string>());
      EXPECT_EQ(extract_answer(text), want) << text;
      EXPECT_EQ(is_right_answer(text, item.answer), mark[2].get<bool>()) << text;
    }
  }
}

TEST(ChatGolden, RendersIdentityConversations) {
  NB_NEEDS_DATA();
  expect_task("identity",
              read_conversations(test::data_dir() / "chat/identity_conversations.jsonl"),
              RowOrder::kOfTheFile);
}

TEST(ChatGolden, DrawsSpellingExamplesAsPythonDoes) {
  NB_NEEDS_DATA();
  const auto words = read_word_list(test::data_dir() / "words/words_alpha.txt");
  ASSERT_TRUE(words.has_value()) << words.error().message;
  const Json& want = golden().at("spelling");
  ASSERT_EQ(words->size(), want.at("words").get<std::size_t>());
  const std::vector<std::pair<const char*, SpellingSplit>> splits = {
      {"train", SpellingSplit::kTrain},
      {"test", SpellingSplit::kTest},
      {"test_until_2025_12", SpellingSplit::kTestUntil2025Dec}};
  for (const auto& [name, split] : splits)
    for (std::size_t index = 0; index < 20; ++index) {
      const SpellingBeeItem item = spelling_bee_item(*words, split, index);
      const Json& row = want.at("bee").at(name)[index];
      EXPECT_EQ(item.question, row.at("question").get<std::string>()) << name << " " << index;
      expect_rendered(conversation_of(item), row, std::string(name) + " " + std::to_string(index));
    }
  const auto shuffled = simple_spelling_words(*words);
  EXPECT_EQ(std::vector<std::string>(shuffled.begin(), shuffled.begin() + 4),
            want.at("shuffle_head").get<std::vector<std::string>>());
  for (std::size_t index = 0; index < 20; ++index) {
    const auto conversation = simple_spelling(shuffled, SpellingSplit::kTrain, index);
    EXPECT_EQ(all_text(conversation.messages[0]), want.at("simple")[index][0].get<std::string>());
    EXPECT_EQ(all_text(conversation.messages[1]), want.at("simple")[index][1].get<std::string>());
  }
}

TEST(ChatGolden, CutsViewsAndMixesTasksAsPythonDoes) {
  for (const Json& row : golden().at("views")) {
    TaskSlice slice;
    slice.start = row.at("start").get<std::size_t>();
    if (!row.at("stop").is_null()) slice.stop = row.at("stop").get<std::size_t>();
    slice.step = row.at("step").get<std::size_t>();
    const auto view = task_view(row.at("rows").get<std::size_t>(), slice);
    ASSERT_TRUE(view.has_value()) << view.error().message;
    EXPECT_EQ(digest(*view, view->size()), row.at("view")) << row.dump();
  }
  for (const Json& row : golden().at("mixtures")) {
    const auto sizes = row.at("sizes").get<std::vector<std::size_t>>();
    const auto mixture = task_mixture(sizes);
    for (std::size_t k = 0; k < row.at("head").size(); ++k)
      EXPECT_EQ((Json{mixture[k].task, mixture[k].index}), row.at("head")[k]) << row.dump();
  }
}

}  // namespace
}  // namespace nb
