// One benchmark, loaded: its items in the order evaluated, what is asked of a model about each, how
// the answer is graded. Two kinds: items that are scored (ScoringEvaluator) and items that are
// answered by a text (GeneratingEvaluator). An evaluator never prints, never reads a clock and
// never calls a model: evaluate.hpp does, for any part of the items, in any batches, with resume.
// Immutable after loading; const members may be called from several threads at once.
//
// To add one: README.md. All of them: task_registry.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"
#include "model/engine/language_model.hpp"
#include "results/store/items.hpp"
#include "results/store/record.hpp"
#include "results/text/item_text.hpp"

namespace nb {

// How a text of a file that somebody else made is to be read.
enum class TextForm {
  kAnswer,      // what a chat model answered, as the reference evaluates it
  kCompletion,  // continues the prompt
  kProgram,     // a whole solution
};
std::string_view name(TextForm form);  // "answer", "completion", "program"

struct GivenText {
  std::size_t item = 0;  // its place
  std::string text;
  bool is_solution = false;  // it stands under "solution"
};
struct ChosenForm {
  TextForm form = TextForm::kAnswer;
  std::string_view why;  // what of it tells, said of many: "have a Markdown block"; may be empty
};

// What is right, for the built-in models (oracle, chance, corrupted; built_in_models.hpp). Real
// models never see it.
struct Gold {
  std::size_t request = 0;  // scored: which of the item's requests is the right one
  std::string text;         // answered: a text that is graded right
  std::string wrong_text;   // answered: a text of the right form that is graded wrong
};

// Of an item's prompt texts: ItemRecord::prompt_hash.
std::string prompt_hash(std::span<const std::string> prompts);

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  virtual bool generates() const = 0;  // true: a GeneratingEvaluator

  virtual std::size_t size() const = 0;  // items kept, after order and max_per_task
  // 16 hex digits of a hash of the content; unique among the items.
  virtual std::string item_id(std::size_t i) const = 0;
  // What files call it, for messages and completion files: "HumanEval/12", "row 7".
  virtual std::string public_id(std::size_t i) const = 0;
  // All that decides what is asked and how it is graded, gold included; hashed into comparability.
  virtual std::string item_bytes(std::size_t i) const = 0;
  // Prompt texts as the model gets them (before tokens); hashed into comparability and the record.
  virtual std::vector<std::string> prompts(std::size_t i) const = 0;
  virtual Gold gold(std::size_t i) const = 0;
  // For people who look at the item: its public id and prompts, and where the task has them the
  // question without examples, its choices and the reference answer as a text.
  virtual ItemText shown_text(std::size_t i) const;

  // false: items are right or wrong in no sense, and all metrics are more_metrics().
  virtual bool has_answers() const { return true; }
  virtual double baseline_percent() const = 0;  // of centring: accuracy of guessing as published
  // Expected accuracy of choosing at random among each item's choices, on these items; 0 for texts.
  virtual double guessing() const = 0;

  // Beyond "<task>/items", "<task>/prompts", "<task>/context": whatever else decides what is
  // measured, e.g. {"<task>/scorer", "gsm8k-1"}. Keys without the task's name must be equal for all
  // tasks of an evaluation.
  virtual std::map<std::string, std::string> comparability() const { return {}; }
  // The same of what only the items of a model with that context say. Default: none.
  virtual std::map<std::string, std::string> more_comparability(std::span<const ItemRecord> items,
                                                                std::int64_t context_length) const;
  // For the record's environment, where it matters which programs of this host had a part.
  virtual std::map<std::string, std::string> environment() const { return {}; }
  // Beyond accuracy and centred, of all items: extraction failures, pass@k.
  virtual std::vector<Metric> more_metrics(std::span<const ItemRecord> items) const;
  // What the tokenizer must have, asked once before any item: letters that are single tokens, chat
  // specials. The error names the tokenizer's trouble.
  virtual Result<void> check_tokenizer(const Tokenizer& tokenizer) const;
};

// A choice, or an exact match: the model gives log-probabilities of given tokens.
class ScoringEvaluator : public Evaluator {
 public:
  bool generates() const final { return false; }
  struct Requests {
    std::vector<ScoreRequest> scores;
    std::int64_t cut_tokens = 0;  // dropped in front, so that the prompt fits the context
  };
  virtual Result<Requests> requests(std::size_t i, const Tokenizer& tokenizer,
                                    std::int64_t context_length) const = 0;
  // id, prompt_hash and cut_tokens are filled by the caller.
  virtual ItemRecord grade(std::size_t i, std::span<const ScoreRequest> requests,
                           std::span<const ScoreResult> scores,
                           const Tokenizer& tokenizer) const = 0;
};

// A text: the model goes on from a prompt, the answer is taken out of what it says.
class GeneratingEvaluator : public Evaluator {
 public:
  bool generates() const final { return true; }
  struct Prompt {
    std::vector<int> tokens;
    std::int64_t cut_tokens = 0;
  };
  // context_length − max_new_tokens tokens at most; what the reference does with longer ones.
  virtual Result<Prompt> prompt(std::size_t i, const Tokenizer& tokenizer,
                                std::int64_t max_tokens) const = 0;
  // texts: one per sample, without the prompt, specials by their names ("<|python_start|>"). Fills
  // ok (any sample), sample_ok, prediction, gold, reason; id, prompt_hash, cut_tokens and texts are
  // filled by the caller. Called from several threads at once, so a slow grading (sandbox) is run
  // for several items together. An error is trouble of this computer, never a wrong answer.
  virtual Result<ItemRecord> grade(std::size_t i, std::span<const std::string> texts) const = 0;
  // A text as grade() takes it: a model's answer, or of a completion file, which need not come from
  // a chat model, of a form that has_form() admits. Default: as it is, whatever its form.
  virtual std::string stored_text(std::size_t i, TextForm form, std::string text) const;
  virtual bool has_form(TextForm form) const;
  // The form that a text seems to be in, by what it holds. Default: a program where it stands under
  // "solution" and the task has programs, else an answer.
  virtual ChosenForm guess_form(const GivenText& text) const;
  // Of texts in that form: "<task>/form" and "<task>/extraction", how the answer is taken out of
  // them. Part of comparability; a model's own texts are answers. Default: none.
  virtual std::map<std::string, std::string> form_comparability(TextForm form) const;
};

}  // namespace nb
