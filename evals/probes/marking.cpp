// Probes of the evaluators, through the same driver as any evaluation: a scripted model whose
// answer depends on nothing but what it is asked.

#include "evals/chat/letter_evaluator.hpp"
#include "evals/chat/number_evaluator.hpp"
#include "evals/core/evaluator.hpp"
#include "evals/core/items.hpp"
#include "evals/evaluate.hpp"
#include "evals/probes/items.hpp"
#include "model/engine/fake_language_model.hpp"
#include "model/tokenizer/byte_tokenizer.hpp"

namespace nb {
namespace {

constexpr std::int64_t kRoom = 512;  // tokens: nothing is cut

const Tokenizer& bytes() {
  static const Tokenizer tokenizer = byte_tokenizer();
  return tokenizer;
}

Task task_named(std::string_view name) {
  Task task;
  task.id = probe_task(name);
  return task;
}

struct Choices {
  const char* query;
  std::vector<std::string> choices;
  int gold;
};
Result<EvalResult> asked_of(std::string_view name, const std::vector<Choices>& questions,
                            LanguageModel& model) {
  CoreTask core;
  core.id = probe_task(name);
  CoreTaskData data;
  for (const Choices& question : questions) {
    CoreItem item;
    item.query = question.query;
    item.choices = question.choices;
    item.gold = question.gold;
    data.items.push_back(std::move(item));
  }
  name_items(data.items, core.type);
  EvalContext context;
  NB_TRY(const auto evaluator, CoreEvaluator::create(core, std::move(data), context));
  return evaluate(task_named(name), *evaluator, context, model);
}

// Letters from x on are less likely than all other tokens, which are equally likely.
FakeScore less_likely_from_x(std::span<const int>, int token) {
  return {token >= 'x' && token <= 'z' ? -2.F : -1.F, token};
}

struct Said {
  std::string text;    // what the model says
  const char* number;  // right
};
// The model says what it is asked: everything between <|user_start|> and <|user_end|>.
Result<EvalResult> numbers_of(std::string_view name, const std::vector<Said>& texts,
                              AnswerFilter filter) {
  FakeLanguageModel model(
      bytes(), kRoom,
      [](std::span<const int>, int token) {
        return FakeScore{-1, token};
      },
      [](const GenerateRequest& request, int) {
        constexpr int kBefore = 2,
                      kBehind = 2;  // <|bos|><|user_start|>, <|user_end|><|assistant_start|>
        return std::vector<int>(request.prompt.begin() + kBefore, request.prompt.end() - kBehind);
      });
  std::vector<NumberItem> items;
  for (const Said& said : texts)
    items.push_back({probe_item_id(name, said.text), said.text, said.text, said.text,
                     std::string("#### ") + said.number});
  EvalContext context;
  context.settings.max_new_tokens = kRoom / 2;
  const NumberEvaluator evaluator(probe_task(name), "as written", std::move(items), context,
                                  filter);
  return evaluate(task_named(name), evaluator, context, model);
}

}  // namespace

Result<EvalResult> probe_choice_tie(const ProbedModels&) {
  FakeLanguageModel model(bytes(), kRoom, less_likely_from_x);
  return asked_of("choice_tie",
                  {{"all four", {"aa", "bb", "cc", "dd"}, 0},
                   {"behind one", {"xx", "bb", "cc", "dd"}, 1},
                   {"behind two", {"xx", "yy", "cc", "dd"}, 2},
                   {"with one between", {"yy", "aa", "xx", "bb"}, 1}},
                  model);
}

Result<EvalResult> probe_letter_tie(const ProbedModels&) {
  FakeLanguageModel model(bytes(), kRoom, less_likely_from_x);
  std::vector<ChoiceItem> items;
  const auto add = [&](std::string question, std::vector<std::string> letters, std::size_t gold) {
    ChoiceItem item;
    item.id = probe_item_id("letter_tie", question);
    item.public_id = item.question = std::move(question);
    item.choices = {"one", "two", "three", "four"};
    item.letters = std::move(letters);
    item.gold = gold;
    items.push_back(std::move(item));
  };
  add("all four", {"A", "B", "C", "D"}, 0);
  add("behind one", {"x", "B", "C", "D"}, 1);
  add("behind two", {"x", "y", "C", "D"}, 2);
  add("with one between", {"y", "A", "x", "B"}, 1);
  const EvalContext context;
  const LetterEvaluator evaluator(probe_task("letter_tie"), std::move(items), context);
  return evaluate(task_named("letter_tie"), evaluator, context, model);
}

// A context of 40 tokens holds the end of each prompt. Its first letter is the one at place
// 1 + length + 2 - 40 - 1 of the query (<|bos|> before it, " " and the digit behind), and the right
// digit is that letter's place in the alphabet modulo 4. A beginning that is kept, or a place more
// or less, is another digit; where the model sees no letter first, all digits are equal.
Result<EvalResult> probe_cut_prompt(const ProbedModels&) {
  constexpr std::int64_t kContext = 40;
  FakeLanguageModel model(bytes(), kContext, [](std::span<const int> before, int token) {
    const int first = before.front();
    const bool is_letter = first >= 'a' && first <= 'z';
    const bool is_right = is_letter && token - '0' == (first - 'a') % 4;
    return FakeScore{is_right ? -1.F : -2.F, token};
  });
  return asked_of(
      "cut_prompt",
      {{"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwx", {"3", "2", "1", "0"}, 3},
       {"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxy", {"3", "2", "1", "0"}, 2},
       {"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", {"3", "2", "1", "0"}, 1},
       {"bcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", {"1", "2", "3", "0"}, 1}},
      model);
}

// 40 tokens, of which 8 are for the answer: <|bos|><|user_start|> and 29 letters are left before
// <|assistant_start|>. The model answers with the place in the alphabet of the last one.
Result<EvalResult> probe_cut_chat(const ProbedModels&) {
  constexpr std::int64_t kContext = 40, kAnswer = 8;
  FakeLanguageModel model(
      bytes(), kContext,
      [](std::span<const int>, int token) {
        return FakeScore{-1, token};
      },
      [](const GenerateRequest& request, int) {
        const int last = request.prompt.at(request.prompt.size() - 2);
        return bytes().encode("#### " + std::to_string(last - 'a'));
      });
  std::vector<NumberItem> items;
  for (const auto& [question, number] : {std::pair{"abcdefghijklmnopqrstuvwxyzabcdefgh", "2"},
                                         {"defghijklmnopqrstuvwxyzabcdefghijkl", "5"},
                                         {"zyxwvutsrqponmlkjihgfedcbazyxwvuts", "23"},
                                         {"mnopqrstuvwxyzabcdefghijklmnopqrst", "14"}})
    items.push_back({probe_item_id("cut_chat", question), question, question, question,
                     std::string("#### ") + number});
  EvalContext context;
  context.settings.max_new_tokens = kAnswer;
  const NumberEvaluator evaluator(probe_task("cut_chat"), "as written", std::move(items), context);
  return evaluate(task_named("cut_chat"), evaluator, context, model);
}

Result<EvalResult> probe_last_number(const ProbedModels&) {
  return numbers_of("last_number",
                    {{"First 12 apples, then 15.", "15"},
                     {"It was 3; no, 7 apples and -4 pears", "-4"},
                     {"It costs $1,250.50, not $99", "99"},
                     {"99 is wrong: $1,250 it is", "1250"}},
                    AnswerFilter::kFlexible);
}

Result<EvalResult> probe_two_markers(const ProbedModels&) {
  return numbers_of("two_markers",
                    {{"#### 5 and then #### 7", "5"},
                     {"#### 1,024\n#### 3", "1024"},
                     {"12 it is #### -3 #### 12", "-3"},
                     {"####9 #### 8 #### 9", "8"}},
                    AnswerFilter::kStrict);
}

}  // namespace nb
