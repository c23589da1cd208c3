// The smallest task that is answered by a text: say this word.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "evals/base/evaluator.hpp"
#include "harness/base/hash.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb::test {

class EchoEvaluator : public GeneratingEvaluator {
 public:
  explicit EchoEvaluator(std::vector<std::string> words) : words_(std::move(words)) {}
  std::size_t size() const override { return words_.size(); }
  std::string item_id(std::size_t i) const override { return sha256_hex(words_[i]).substr(0, 16); }
  std::string public_id(std::size_t i) const override { return "Echo/" + std::to_string(i); }
  std::string item_bytes(std::size_t i) const override { return words_[i]; }
  std::vector<std::string> prompts(std::size_t i) const override { return {"Say " + words_[i]}; }
  Gold gold(std::size_t i) const override { return {0, words_[i], words_[i] + "!"}; }
  double baseline_percent() const override { return 0; }
  double guessing() const override { return 0; }
  Result<Prompt> prompt(std::size_t i, const Tokenizer& tokenizer, std::int64_t) const override {
    return Prompt{tokenizer.encode(prompts(i)[0], tokenizer.bos()), 0};
  }
  Result<ItemRecord> grade(std::size_t i, std::span<const std::string> texts) const override {
    ItemRecord record;
    record.gold = words_[i];
    record.prediction = texts.front();
    for (const std::string& text : texts) {
      record.ok = record.ok || text == words_[i];
      if (texts.size() > 1) record.sample_ok.push_back(text == words_[i] ? 1 : 0);
    }
    return record;
  }

 private:
  std::vector<std::string> words_;
};

}  // namespace nb::test
