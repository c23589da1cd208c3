// What an evaluated item says, for people who look at it. Records keep hashes and numbers alone;
// the texts come from the data (evals/item_texts.hpp) or stand in another harness's file
// (import/item_texts.hpp). Plain values.
#pragma once

#include <string>
#include <vector>

#include "results/store/items.hpp"

namespace nb {

struct ItemText {
  std::string name;                  // as the data call it: "row 7", "HumanEval/12"
  std::string question;              // its own, without examples; empty: not told from the prompt
  std::vector<std::string> choices;  // as texts
  std::string reference;             // reference answer as a text; empty: the record's alone
  // As the model got them, before they became tokens: one, or one a choice.
  std::vector<std::string> prompts;
  std::vector<std::string>
      responses;  // of another harness's file: what the model said, one per sample
  // Why there is no text, or why it is not the one that was scored; a sentence. Empty: it is.
  std::string warning;

  bool is_empty() const { return question.empty() && prompts.empty() && responses.empty(); }
};

// Which item is meant: what its record keeps of it.
struct ItemName {
  std::string id, source_id, prompt_hash;  // ItemRecord's
};
inline ItemName name_of(const ItemRecord& item) {
  return {item.id, item.source_id, item.prompt_hash};
}

// What all of several texts begin with, cut between characters: the part of the prompts that
// choices share. Empty of none.
std::string shared_beginning(const std::vector<std::string>& texts);

// The question in one line of at most `columns`, white space folded; where it is not told apart,
// the end of the prompt. Empty: there is no text.
std::string one_line(const ItemText& text, std::size_t columns);

}  // namespace nb
