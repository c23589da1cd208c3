// Objectives over the losses of tokens, kernel by kernel as PyTorch eager launches them, on one
// fp32 number per token; what is kept is read off torch's derivatives.yaml (2.4). The same in
// compiled stacks: trainers compile the model, and form the objective outside (nanochat's
// chat_rl.py, TRL's grpo_trainer.py and dpo_trainer.py).
#include <algorithm>
#include <iterator>
#include <span>

#include "harness/base/check.hpp"
#include "model/device/lowering_rows.hpp"

namespace nb {
namespace {

struct TokenKernel {
  std::string_view name;
  int operands = 1;  // of a number per token that are read
  double flops = 1;
  bool is_kept = false;  // for backward; else the next kernel is the last that reads it
};

// Kernels of `count` numbers, one after the other.
void chain(LoweringBuilder& b, std::span<const TokenKernel> launches, std::int64_t count) {
  LoweringBuilder::Handle last = 0;
  bool has_last = false;
  for (const TokenKernel& one : launches) {
    LoweringBuilder::Handle next = 0;
    if (one.is_kept)
      b.save(one.name, fp32(count));
    else
      next = b.open(one.name, fp32(count));
    b.vector(one.name, count, one.flops, static_cast<std::uint64_t>(one.operands) * fp32(count),
             fp32(count));
    if (has_last) b.close(last);
    last = next;
    has_last = !one.is_kept;
  }
}

void reduce(LoweringBuilder& b, std::int64_t count, std::int64_t results) {
  b.vector("sum", count, 1, fp32(count), fp32(results));
}

// clamp_backward: where(x >= low & x <= high, dy, 0).
constexpr TokenKernel kClampBackward[] = {{"ge"}, {"le"}, {"logical_and", 2}, {"where", 2}};

}  // namespace

// losses * weights; sum. mul keeps the weights, which are the caller's.
void lower_weighted_sum(LoweringBuilder& b) {
  constexpr TokenKernel kProducts[] = {{"mul", 2}};
  chain(b, kProducts, b.desc().rows);
  reduce(b, b.desc().rows, 1);
}
void lower_weighted_sum_backward(LoweringBuilder& b) {  // the sum's is a view
  b.vector("mul", b.desc().rows, 1, fp32(b.desc().rows) + 4, fp32(b.desc().rows));
}

namespace {

// -losses; - old; clamp; exp; clamp; * A twice; minimum; neg.
void lower_clipped_ratio(LoweringBuilder& b, std::int64_t n) {
  constexpr TokenKernel kAll[] = {
      {"neg"},   {"sub", 2, 1, true}, {"clamp"},           {"exp", 1, 4, true},
      {"clamp"}, {"mul", 2, 1, true}, {"mul", 2, 1, true}, {"minimum", 2},
      {"neg"}};
  chain(b, kAll, n);
}
constexpr TokenKernel kToMinimum[] = {{"mul", 2}, {"neg"}};
// minimum_backward of either operand: eq, div, where, gt, masked_fill; then mul by A.
constexpr TokenKernel kOfOperand[] = {{"eq", 2},          {"div"},   {"where", 3}, {"gt", 2},
                                      {"masked_fill", 2}, {"mul", 2}};
constexpr TokenKernel kToRatio[] = {{"add", 2}, {"mul", 2}};
// mul by the mask, neg; the operands of the minimum; clamp; their sum; exp; clamp.
void lower_clipped_ratio_backward(LoweringBuilder& b, std::int64_t n) {
  chain(b, kToMinimum, n);
  for (int operand = 0; operand < 2; ++operand) chain(b, kOfOperand, n);
  chain(b, kClampBackward, n);
  chain(b, kToRatio, n);
  chain(b, kClampBackward, n);
}

// The same with the mask and a mean over the tokens of a sequence before exp. Kernels of a number a
// sequence are as long as a launch: one number here.
void lower_sequence_ratio(LoweringBuilder& b, std::int64_t n) {
  constexpr TokenKernel kToMean[] = {{"neg"}, {"sub", 2, 1, true}, {"clamp"}, {"mul", 2}};
  constexpr TokenKernel kOfSequence[] = {{"clamp"}, {"div", 2}, {"exp", 1, 4, true}, {"clamp"}};
  constexpr TokenKernel kToLoss[] = {
      {"mul", 2, 1, true}, {"mul", 2, 1, true}, {"minimum", 2}, {"neg"}};
  chain(b, kToMean, n);
  for (int term = 0; term < 2; ++term) reduce(b, n, 1);  // the tokens, and how many there are
  chain(b, kOfSequence, 1);
  chain(b, kToLoss, n);
}
void lower_sequence_ratio_backward(LoweringBuilder& b, std::int64_t n) {
  constexpr TokenKernel kToTokens[] = {{"mul", 2}};
  constexpr TokenKernel kToSum[] = {{"div", 2}};
  chain(b, kToMinimum, n);
  for (int operand = 0; operand < 2; ++operand) {
    chain(b, kOfOperand, n);
    reduce(b, n, 1);
  }
  chain(b, kClampBackward, 1);
  chain(b, kToRatio, 1);
  chain(b, kToSum, 1);
  chain(b, kToTokens, n);
  chain(b, kClampBackward, n);
}

// -losses; - old; clamp; exp; for either sign of A: - 1, * temperature, sigmoid, * 4 / temperature;
// gt; where; neg; * A.
void lower_soft_gate(LoweringBuilder& b, std::int64_t n) {
  constexpr TokenKernel kRatio[] = {{"neg"}, {"sub", 2, 1, true}, {"clamp"}, {"exp", 1, 4, true}};
  constexpr TokenKernel kGate[] = {{"sub"}, {"mul"}, {"sigmoid", 1, 4, true}, {"mul"}};
  constexpr TokenKernel kGated[] = {{"gt", 1, 1, true}, {"where", 3}, {"neg"}, {"mul", 2}};
  chain(b, kRatio, n);
  for (int sign = 0; sign < 2; ++sign) chain(b, kGate, n);
  chain(b, kGated, n);
}
void lower_soft_gate_backward(LoweringBuilder& b, std::int64_t n) {
  constexpr TokenKernel kToGates[] = {{"mul", 2}, {"mul", 2}, {"neg"}};
  constexpr TokenKernel kOfGate[] = {{"where", 2}, {"mul"}, {"sigmoid_backward", 2, 3}, {"mul"}};
  chain(b, kToGates, n);
  for (int sign = 0; sign < 2; ++sign) chain(b, kOfGate, n);
  chain(b, kToRatio, n);
  chain(b, kClampBackward, n);
}

// -losses; - old; clamp; exp; clamp; neg; * A; * log p. The ratio has no gradient, so that of all
// these only what log p is multiplied by is kept.
void lower_capped_constant(LoweringBuilder& b, std::int64_t n) {
  constexpr TokenKernel kAll[] = {{"neg"},   {"sub", 2}, {"clamp"},           {"exp", 1, 4},
                                  {"clamp"}, {"neg"},    {"mul", 2, 1, true}, {"mul", 2}};
  chain(b, kAll, n);
}
void lower_capped_constant_backward(LoweringBuilder& b, std::int64_t n) {
  constexpr TokenKernel kAll[] = {{"mul", 2}, {"mul", 2}};
  chain(b, kAll, n);
}

struct FormLowering {
  PolicyForm form;
  void (*forward)(LoweringBuilder&, std::int64_t tokens);
  void (*backward)(LoweringBuilder&, std::int64_t tokens);
};
constexpr FormLowering kForms[] = {
    {PolicyForm::kClippedRatio, lower_clipped_ratio, lower_clipped_ratio_backward},
    {PolicyForm::kSequenceRatio, lower_sequence_ratio, lower_sequence_ratio_backward},
    {PolicyForm::kSoftGate, lower_soft_gate, lower_soft_gate_backward},
    {PolicyForm::kCappedConstant, lower_capped_constant, lower_capped_constant_backward}};

const FormLowering& lowering_of(PolicyForm form) {
  const FormLowering* found = std::ranges::find(kForms, form, &FormLowering::form);
  NB_CHECK(found != std::end(kForms), "[policy_loss] no lowering of form {}",
           static_cast<int>(form));
  return *found;
}

}  // namespace

// What the form makes of the tokens. With a reference: ref - log p; exp; - (ref - log p); - 1;
// * weight; add. Then the mask, the sum of each sequence's tokens, its length, and the mean.
void lower_policy_loss(LoweringBuilder& b) {
  constexpr TokenKernel kDivergence[] = {{"sub", 2}, {"exp", 1, 4, true}, {"sub", 2}, {"sub", 1},
                                         {"mul"},    {"add", 2}};
  constexpr TokenKernel kMask[] = {{"mul", 2}};
  const std::int64_t n = b.desc().rows;
  lowering_of(b.desc().policy_form).forward(b, n);
  if (b.desc().has_second_term) chain(b, kDivergence, n);
  chain(b, kMask, n);
  reduce(b, n, 1);
  b.vector("div", 1, 1, 8, 4);
}

void lower_policy_loss_backward(LoweringBuilder& b) {  // div; the form's; neg
  constexpr TokenKernel kToLosses[] = {{"neg"}};
  constexpr TokenKernel kDivergence[] = {{"mul"},    {"mul", 2}, {"neg"},
                                         {"add", 2}, {"neg"},    {"add", 2}};
  const std::int64_t n = b.desc().rows;
  b.vector("div", 1, 1, 8, 4);
  lowering_of(b.desc().policy_form).backward(b, n);
  if (b.desc().has_second_term) chain(b, kDivergence, n);
  chain(b, kToLosses, n);
}

// -losses; the sum of each answer; chosen and rejected, a view each; less the reference's; their
// difference; * beta; logsigmoid; neg; mean. Smoothing: neg, logsigmoid, two mul and a sub.
void lower_preference_loss(LoweringBuilder& b) {
  constexpr TokenKernel kLogProbs[] = {{"neg"}};
  constexpr TokenKernel kMargin[] = {{"sub", 2}, {"sub", 2}, {"sub", 2}, {"mul", 1, 1, true}};
  constexpr TokenKernel kLoss[] = {{"logsigmoid", 1, 8, true}, {"neg"}};
  constexpr TokenKernel kSmoothed[] = {
      {"mul"}, {"neg", 1, 1, true}, {"logsigmoid", 1, 8, true}, {"mul"}, {"sub", 2}};
  const std::int64_t n = b.desc().rows, pairs = b.desc().count;
  chain(b, kLogProbs, n);
  reduce(b, n, 2 * pairs);
  chain(b, kMargin, pairs);
  chain(b, kLoss, pairs);
  if (b.desc().has_second_term) chain(b, kSmoothed, pairs);
  b.vector("mean", pairs, 1, fp32(pairs), 4);
}

// Back the same way; the views' gradients are zeros and copies, and the sum's is spread by the neg
// that makes the gradients of the losses.
void lower_preference_loss_backward(LoweringBuilder& b) {
  constexpr TokenKernel kLoss[] = {{"div"}, {"neg"}, {"log_sigmoid_backward", 2, 6}};
  constexpr TokenKernel kSmoothed[] = {
      {"mul"}, {"mul"}, {"log_sigmoid_backward", 2, 6}, {"neg"}, {"add", 2}};
  constexpr TokenKernel kMargin[] = {{"mul"}, {"neg"}};
  const std::int64_t n = b.desc().rows, pairs = b.desc().count;
  chain(b, kLoss, pairs);
  if (b.desc().has_second_term) chain(b, kSmoothed, pairs);
  chain(b, kMargin, pairs);
  for (int view = 0; view < 2; ++view) {
    b.vector("zero", 2 * pairs, 0, 0, fp32(2 * pairs));
    b.vector("copy", pairs, 0, fp32(pairs), fp32(pairs));
  }
  b.vector("add", 2 * pairs, 1, 2 * fp32(2 * pairs), fp32(2 * pairs));
  b.vector("neg", n, 1, fp32(n), fp32(n));
}

}  // namespace nb
