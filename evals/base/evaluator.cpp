#include "evals/base/evaluator.hpp"

#include "harness/base/hash.hpp"

namespace nb {

std::string prompt_hash(std::span<const std::string> prompts) {
  constexpr std::size_t kDigits = 16;
  Sha256 hash;
  for (const std::string& prompt : prompts) update_netstring(hash, prompt);
  return hash.hex().substr(0, kDigits);
}

ItemText Evaluator::shown_text(std::size_t i) const {
  ItemText text;
  text.name = public_id(i);
  text.prompts = prompts(i);
  return text;
}

std::vector<Metric> Evaluator::more_metrics(std::span<const ItemRecord>) const { return {}; }

std::map<std::string, std::string> Evaluator::more_comparability(std::span<const ItemRecord>,
                                                                 std::int64_t) const {
  return {};
}

Result<void> Evaluator::check_tokenizer(const Tokenizer&) const { return {}; }

std::string_view name(TextForm form) {
  switch (form) {
    case TextForm::kAnswer:
      return "answer";
    case TextForm::kCompletion:
      return "completion";
    case TextForm::kProgram:
      return "program";
  }
  return "";
}

std::string GeneratingEvaluator::stored_text(std::size_t, TextForm, std::string text) const {
  return text;
}

bool GeneratingEvaluator::has_form(TextForm) const { return true; }

ChosenForm GeneratingEvaluator::guess_form(const GivenText& text) const {
  if (text.is_solution && has_form(TextForm::kProgram))
    return {TextForm::kProgram, "stand under \"solution\""};
  return {};
}

std::map<std::string, std::string> GeneratingEvaluator::form_comparability(TextForm) const {
  return {};
}

}  // namespace nb
