// Three models whose score is known before they are asked, for every task: they show that an
// evaluator grades what is right as right and what is wrong as wrong. They learn what is right
// through GoldReader, the side channel that evaluate.cpp has for them alone.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evals/models/gold_reader.hpp"
#include "model/engine/language_model.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {

enum class BuiltInKind {
  kOracle,     // always right
  kChance,     // takes one of the choices at random; texts and exact matches are nonsense
  kCorrupted,  // always wrong
};
struct BuiltInModelInfo {
  BuiltInKind kind;
  std::string_view name;  // "oracle", "chance", "corrupted"
  std::string_view doc;
};
std::span<const BuiltInModelInfo> built_in_models();
const BuiltInModelInfo* find_built_in_model(std::string_view name);  // nullptr: there is none

class BuiltInModel : public LanguageModel, public GoldReader {
 public:
  // The tokenizer must outlive this. A draw depends on seed and item only.
  BuiltInModel(BuiltInKind kind, const Tokenizer& tokenizer, std::uint64_t seed = 1);

  void expect(std::vector<Item> items) override { items_ = std::move(items); }
  // The items of expect(), each with as many requests as it said (NB_CHECK).
  std::vector<ScoreResult> score(std::span<const ScoreRequest> requests) override;
  // One item a request. Ignores max_tokens: what is right or wrong is never cut.
  std::vector<GenerateResult> generate(std::span<const GenerateRequest> requests) override;
  const Tokenizer& tokenizer() const override { return tokenizer_; }
  std::int64_t context_length() const override;  // nothing is ever cut

 private:
  // The request that gets the highest score; items.requests: none of them.
  std::size_t picked(const Item& item) const;
  std::string text_for(const Item& item) const;

  BuiltInKind kind_;
  const Tokenizer& tokenizer_;
  std::uint64_t seed_;
  std::vector<Item> items_;
};

}  // namespace nb
