// Every op that models are written in: its gradients are those of differences, what it keeps is
// freed, a dry device counts the same, and a frozen parameter costs nothing. One table; a kind of
// op that is not in it fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "model/device/profile.hpp"
#include "model/ops/activations.hpp"
#include "model/ops/attention.hpp"
#include "model/ops/elementwise.hpp"
#include "model/ops/head.hpp"
#include "model/ops/linear.hpp"
#include "model/ops/norms.hpp"
#include "model/ops/objectives.hpp"
#include "model/ops/rotary.hpp"
#include "model/ops/rows.hpp"
#include "tests/support/decoder_golden.hpp"
#include "tests/support/grad_check.hpp"

namespace nb {
namespace {

using test::OpUnderTest;
using test::uneven;
using test::uneven_parameter;
using Inputs = std::vector<Tensor>;

// One element, odd numbers, more than a block of columns or a vector holds.
struct Size {
  std::int64_t sequences, time, cols, heads, kv_heads, head_dim;
  std::int64_t rows() const { return sequences * time; }
};
constexpr std::array kSizes = {Size{1, 1, 1, 1, 1, 2}, Size{3, 5, 7, 3, 1, 6},
                               Size{2, 13, 70, 4, 2, 16}};

std::vector<int> ids(std::int64_t rows, std::int64_t below, bool ignores) {
  std::vector<int> all;
  for (std::int64_t i = 0; i < rows; ++i)
    all.push_back(ignores && i % 4 == 3 ? -1 : static_cast<int>(i * 5 % below));
  return all;
}

template <class Op>
OpUnderTest of_x(Device& device, const Size& s, const Op& op) {
  OpUnderTest t;
  t.inputs = {uneven(device, {s.rows(), s.cols}, 1)};
  t.call = [op](const Inputs& in) { return op(in[0]); };
  return t;
}

OpUnderTest add(Device& device, const Size& s) {
  OpUnderTest t = of_x(device, s, [](const Tensor& x) { return x; });
  t.inputs.push_back(uneven(device, {s.rows(), s.cols}, 2));
  t.call = [](const Inputs& in) { return ops::add(in[0], in[1], "add"); };
  return t;
}
OpUnderTest multiply(Device& device, const Size& s) {
  OpUnderTest t = add(device, s);
  t.call = [](const Inputs& in) { return ops::multiply(in[0], in[1], "multiply"); };
  return t;
}
OpUnderTest square(Device& device, const Size& s) {
  return of_x(device, s, [](const Tensor& x) { return ops::multiply(x, x, "square"); });
}
OpUnderTest relu_squared(Device& device, const Size& s) {
  return of_x(device, s, [](const Tensor& x) { return ops::relu_squared(x, "relu"); });
}
OpUnderTest silu(Device& device, const Size& s) {
  return of_x(device, s, [](const Tensor& x) { return ops::silu(x, "silu"); });
}
OpUnderTest gelu(Device& device, const Size& s) {
  return of_x(device, s, [](const Tensor& x) { return ops::gelu(x, "gelu"); });
}
OpUnderTest sigmoid(Device& device, const Size& s) {
  return of_x(device, s, [](const Tensor& x) { return ops::sigmoid(x, "sigmoid"); });
}
OpUnderTest rms_norm(Device& device, const Size& s) {
  return of_x(device, s, [w = s.cols](const Tensor& x) { return ops::rms_norm(x, w, "norm"); });
}
OpUnderTest rms_norm_epsilon(Device& device, const Size& s) {
  return of_x(device, s,
              [w = s.cols](const Tensor& x) { return ops::rms_norm(x, w, "norm", 0.5F); });
}
OpUnderTest rms_norm_heads(Device& device, const Size& s) {
  OpUnderTest t;
  t.inputs = {uneven(device, {s.rows(), s.heads * s.head_dim}, 1)};
  t.call = [d = s.head_dim](const Inputs& in) { return ops::rms_norm(in[0], d, "norm"); };
  return t;
}
OpUnderTest first_columns(Device& device, const Size& s) {
  return of_x(device, s, [n = (s.cols + 1) / 2](const Tensor& x) {
    return ops::first_columns(x, n, "first");
  });
}
OpUnderTest previous_rows(Device& device, const Size& s) {
  return of_x(device, s,
              [t = s.time](const Tensor& x) { return ops::previous_rows(x, t, "previous"); });
}
OpUnderTest dropout(Device& device, const Size& s) {
  return of_x(device, s, [](const Tensor& x) {
    return ops::dropout(x, 0.3, Rng(7, "dropout of a test", 2), "dropout");
  });
}
OpUnderTest scale(Device& device, const Size& s) {
  return of_x(device, s, [](const Tensor& x) { return ops::scale(x, -0.7, "scale"); });
}

template <class Op>
OpUnderTest of_x_and_vector(Device& device, const Size& s, std::int64_t size, const Op& op) {
  OpUnderTest t = of_x(device, s, [](const Tensor& x) { return x; });
  t.parameters = {uneven_parameter(device, {size}, 3, "vector")};
  t.call = [op, p = t.parameters[0]](const Inputs& in) { return op(in[0], *p); };
  return t;
}
OpUnderTest scale_learnt(Device& device, const Size& s) {
  return of_x_and_vector(device, s, 1, [](const Tensor& x, Parameter& factor) {
    return ops::scale(x, factor, "scale");
  });
}
OpUnderTest scale_element(Device& device, const Size& s) {
  return of_x_and_vector(device, s, 3, [](const Tensor& x, Parameter& factors) {
    return ops::scale(ops::scale(x, factors, 1, "one"), factors, 2, "two");
  });
}
OpUnderTest apply_gain(Device& device, const Size& s) {
  return of_x_and_vector(device, s, s.cols, [](const Tensor& x, Parameter& gain) {
    return ops::apply_gain(x, gain, "gain");
  });
}
OpUnderTest add_bias(Device& device, const Size& s) {
  return of_x_and_vector(device, s, s.cols, [](const Tensor& x, Parameter& bias) {
    return ops::add_bias(x, bias, "bias");
  });
}
OpUnderTest layer_norm(Device& device, const Size& s) {
  OpUnderTest t = of_x(device, s, [](const Tensor& x) { return x; });
  t.parameters = {uneven_parameter(device, {s.cols}, 3, "gain"),
                  uneven_parameter(device, {s.cols}, 4, "bias")};
  t.call = [p = t.parameters](const Inputs& in) {
    return ops::layer_norm(in[0], *p[0], *p[1], 0.1F, "norm");
  };
  return t;
}
OpUnderTest linear(Device& device, const Size& s) {
  OpUnderTest t = of_x(device, s, [](const Tensor& x) { return x; });
  t.parameters = {uneven_parameter(device, {s.cols + 2, s.cols}, 3, "w")};
  t.call = [p = t.parameters[0]](const Inputs& in) { return ops::linear(in[0], *p); };
  return t;
}
OpUnderTest embedding(Device& device, const Size& s) {
  OpUnderTest t;
  t.parameters = {uneven_parameter(device, {6, s.cols}, 3, "table")};
  t.call = [p = t.parameters[0], rows = s.rows()](const Inputs&) {
    return ops::embedding(*p, ids(rows, 6, false), rows);
  };
  return t;
}
OpUnderTest gate_heads(Device& device, const Size& s) {
  OpUnderTest t;
  t.inputs = {uneven(device, {s.rows(), s.heads * s.head_dim}, 1),
              uneven(device, {s.rows(), s.heads}, 2)};
  t.call = [](const Inputs& in) { return ops::gate_heads(in[0], in[1], "gates"); };
  return t;
}
OpUnderTest rotary_of(Device& device, const Size& s, const ops::RotaryOptions& options) {
  OpUnderTest t;
  t.inputs = {uneven(device, {s.rows(), s.heads * s.head_dim}, 1)};
  const auto tables =
      std::make_shared<ops::RotaryTables>(ops::rotary_tables(device, s.time, s.head_dim, options));
  t.call = [tables, time = s.time](const Inputs& in) {
    return ops::rotary(in[0], *tables, {.time = time}, "rotary");
  };
  return t;
}
OpUnderTest rotary(Device& device, const Size& s) { return rotary_of(device, s, {}); }
OpUnderTest rotary_halves(Device& device, const Size& s) {
  return rotary_of(device, s, {.layout = ops::RotaryLayout::kHalves});
}
OpUnderTest rotary_pairs(Device& device, const Size& s) {
  return rotary_of(device, s, {.base = 500, .layout = ops::RotaryLayout::kPairs});
}
OpUnderTest attention_of(Device& device, const Size& s, std::int64_t kv_heads,
                         std::int64_t window = 0) {
  OpUnderTest t;
  t.inputs = {uneven(device, {s.rows(), s.heads * s.head_dim}, 1),
              uneven(device, {s.rows(), kv_heads * s.head_dim}, 2),
              uneven(device, {s.rows(), kv_heads * s.head_dim}, 3)};
  const ops::HeadShape shape = {.batch = s.sequences,
                                .time = s.time,
                                .heads = s.heads,
                                .kv_heads = kv_heads,
                                .head_dim = s.head_dim,
                                .window = window};
  t.call = [shape](const Inputs& in) {
    return ops::attention(in[0], in[1], in[2], shape, "attention");
  };
  return t;
}
OpUnderTest attention(Device& device, const Size& s) { return attention_of(device, s, s.heads); }
OpUnderTest attention_of_groups(Device& device, const Size& s) {
  return attention_of(device, s, s.kv_heads);
}
OpUnderTest attention_of_a_window(Device& device, const Size& s) {
  return attention_of(device, s, s.kv_heads, 3);
}
OpUnderTest head_of(Device& device, const Size& s, const ops::HeadOptions& options) {
  OpUnderTest t = of_x(device, s, [](const Tensor& x) { return x; });
  t.parameters = {uneven_parameter(device, {9, s.cols}, 3, "lm_head")};
  t.is_loss = true;
  t.call = [p = t.parameters[0], rows = s.rows(), options](const Inputs& in) {
    const std::int64_t vocab = options.vocab == 0 ? 9 : options.vocab;
    return ops::head_loss(in[0], *p, ids(rows, vocab, true), 1.0, options);
  };
  return t;
}
OpUnderTest head(Device& device, const Size& s) { return head_of(device, s, {}); }
OpUnderTest head_without_cap(Device& device, const Size& s) {
  return head_of(device, s, {.softcap = 0});
}
OpUnderTest head_padded(Device& device, const Size& s) {
  return head_of(device, s, {.caps_in_fp32 = true, .vocab = 7});
}
OpUnderTest head_rows_of(Device& device, const Size& s, const ops::HeadOptions& options) {
  OpUnderTest t = head_of(device, s, options);
  t.is_loss = false;
  t.call = [p = t.parameters[0], rows = s.rows(), options](const Inputs& in) {
    const std::int64_t vocab = options.vocab == 0 ? 9 : options.vocab;
    return ops::head_losses(in[0], *p, ids(rows, vocab, true), options);
  };
  return t;
}
OpUnderTest head_rows(Device& device, const Size& s) { return head_rows_of(device, s, {}); }
OpUnderTest head_rows_without_cap(Device& device, const Size& s) {
  return head_rows_of(device, s, {.softcap = 0});
}
OpUnderTest head_rows_padded(Device& device, const Size& s) {
  return head_rows_of(device, s, {.caps_in_fp32 = true, .vocab = 7});
}

// Losses of tokens, and an objective of them. Differences move them by up to 1/8, so ratios stay on
// their side of a clip at 1 ± 0.2.
template <class Op>
OpUnderTest of_losses(Device& device, const Size& s, const Op& op) {
  OpUnderTest t;
  t.inputs = {uneven(device, {s.rows()}, 1)};
  t.is_loss = true;
  t.call = [op](const Inputs& in) { return op(in[0]); };
  return t;
}
std::vector<float> uneven_numbers(std::int64_t count, std::uint64_t stream) {
  std::vector<float> all;
  for (std::int64_t i = 0; i < count; ++i)
    all.push_back(test::golden_uniform(stream, static_cast<std::uint64_t>(i), 1.0F));
  return all;
}
OpUnderTest weighted_sum(Device& device, const Size& s) {
  return of_losses(device, s, [w = uneven_numbers(s.rows(), 2)](const Tensor& losses) {
    return ops::weighted_sum(losses, w);
  });
}
OpUnderTest policy_of(Device& device, const Size& s, const ops::PolicyOptions& options) {
  OpUnderTest t = of_losses(device, s, [](const Tensor& losses) { return losses; });
  const std::vector<float> advantages = uneven_numbers(s.rows(), 2);
  std::vector<float> old, reference;
  std::vector<int> sequences;
  constexpr float kMoved[] = {0.0F, 0.6F, -0.7F, 24.0F};  // the last one beyond the bound of 20
  for (std::size_t i = 0; i < advantages.size(); ++i) {
    const float log_prob = device.executes() ? -std::as_const(t.inputs[0]).host()[i] : 0;
    old.push_back(log_prob - kMoved[i % 4]);
    reference.push_back(log_prob + advantages[(i + 1) % advantages.size()] / 2);
    sequences.push_back(i % 5 == 4 ? -1 : static_cast<int>(i) / 6);
  }
  t.call = [=](const Inputs& in) {
    return ops::policy_loss(in[0], {old, reference, advantages, sequences}, options);
  };
  return t;
}
OpUnderTest policy(Device& device, const Size& s) { return policy_of(device, s, {}); }
OpUnderTest policy_sum(Device& device, const Size& s) {
  return policy_of(device, s, {.mean = ops::PolicyMean::kSum});
}
OpUnderTest policy_and_divergence(Device& device, const Size& s) {
  return policy_of(device, s, {.kl_weight = 0.3, .mean = ops::PolicyMean::kTokens});
}
// The rows' ratios of a sequence stay on their side of the clip, too.
OpUnderTest policy_of_sequences(Device& device, const Size& s) {
  return policy_of(device, s, {.kl_weight = 0.3, .form = PolicyForm::kSequenceRatio});
}
OpUnderTest policy_gated(Device& device, const Size& s) {
  return policy_of(device, s,
                   {.form = PolicyForm::kSoftGate, .gate_up = 0.8, .gate_down = 1.5, .divisor = 3});
}
OpUnderTest preference_of(Device& device, const Size& s, const ops::PreferenceOptions& options) {
  const std::int64_t half = s.rows() / 2, last = s.rows();
  const std::vector<ops::PreferencePair> pairs = {{{0, half}, {half, last}, -0.5, 0.25},
                                                  {{half / 2, last}, {0, half}, 0.0, 1.0}};
  return of_losses(device, s, [=](const Tensor& losses) {
    return ops::preference_loss(losses, pairs, options);
  });
}
OpUnderTest preference(Device& device, const Size& s) {
  return preference_of(device, s, {.beta = 0.2});
}
OpUnderTest preference_smoothed(Device& device, const Size& s) {
  return preference_of(device, s, {.beta = 0.3, .label_smoothing = 0.1});
}

struct Case {
  OpKind kind;
  const char* name;
  OpUnderTest (*make)(Device& device, const Size& size);
};
constexpr std::array kCases = {
    Case{OpKind::kEmbedding, "embedding", embedding},
    Case{OpKind::kRmsNorm, "rms_norm", rms_norm},
    Case{OpKind::kRmsNorm, "rms_norm with an epsilon", rms_norm_epsilon},
    Case{OpKind::kRmsNorm, "rms_norm of heads", rms_norm_heads},
    Case{OpKind::kLinear, "linear", linear},
    Case{OpKind::kRotary, "rotary", rotary},
    Case{OpKind::kRotary, "rotary of halves", rotary_halves},
    Case{OpKind::kRotary, "rotary of pairs", rotary_pairs},
    Case{OpKind::kAttention, "attention", attention},
    Case{OpKind::kAttention, "attention of a window", attention_of_a_window},
    Case{OpKind::kAttention, "attention of groups", attention_of_groups},
    Case{OpKind::kReluSquared, "relu_squared", relu_squared},
    Case{OpKind::kSilu, "silu", silu},
    Case{OpKind::kGelu, "gelu", gelu},
    Case{OpKind::kSigmoid, "sigmoid", sigmoid},
    Case{OpKind::kMultiply, "multiply", multiply},
    Case{OpKind::kMultiply, "multiply by itself", square},
    Case{OpKind::kScale, "scale", scale},
    Case{OpKind::kScale, "scale by a parameter", scale_learnt},
    Case{OpKind::kScale, "scale by elements", scale_element},
    Case{OpKind::kApplyGain, "apply_gain", apply_gain},
    Case{OpKind::kAddBias, "add_bias", add_bias},
    Case{OpKind::kLayerNorm, "layer_norm", layer_norm},
    Case{OpKind::kGateHeads, "gate_heads", gate_heads},
    Case{OpKind::kFirstColumns, "first_columns", first_columns},
    Case{OpKind::kPreviousRows, "previous_rows", previous_rows},
    Case{OpKind::kDropout, "dropout", dropout},
    Case{OpKind::kAdd, "add", add},
    Case{OpKind::kSoftcapCrossEntropy, "head", head},
    Case{OpKind::kSoftcapCrossEntropy, "head without a cap", head_without_cap},
    Case{OpKind::kSoftcapCrossEntropy, "head with padding", head_padded},
    Case{OpKind::kSoftcapCrossEntropy, "losses of rows", head_rows},
    Case{OpKind::kSoftcapCrossEntropy, "losses of rows without a cap", head_rows_without_cap},
    Case{OpKind::kSoftcapCrossEntropy, "losses of rows with padding", head_rows_padded},
    Case{OpKind::kWeightedSum, "weighted_sum", weighted_sum},
    Case{OpKind::kPolicyLoss, "policy_loss", policy},
    Case{OpKind::kPolicyLoss, "policy_loss of a sum", policy_sum},
    Case{OpKind::kPolicyLoss, "policy_loss and divergence", policy_and_divergence},
    Case{OpKind::kPolicyLoss, "policy_loss of sequences", policy_of_sequences},
    Case{OpKind::kPolicyLoss, "policy_loss with a gate", policy_gated},
    Case{OpKind::kPreferenceLoss, "preference_loss", preference},
    Case{OpKind::kPreferenceLoss, "preference_loss of smoothed labels", preference_smoothed},
};

// Kinds without a gradient of their own, and why.
constexpr std::array kWithoutGradient = {
    OpKind::kLogits,        OpKind::kLogProbabilities, OpKind::kSample,
    OpKind::kKvCacheAppend,  // scoring
    OpKind::kGradNorm,      OpKind::kGradScale,        OpKind::kAdamW,
    OpKind::kMuonMomentum,  // of a step
    OpKind::kNewtonSchulz,  OpKind::kMuonUpdate,       OpKind::kZero,      OpKind::kCast,
    OpKind::kRandomInit,    OpKind::kHostToDevice,
    OpKind::kDeviceToHost,  // transfers
    OpKind::kAllReduce,     OpKind::kReduceScatter,    OpKind::kAllGather, OpKind::kBroadcast,
    OpKind::kAllToAll,      OpKind::kSendReceive,      OpKind::kBarrier};

TEST(OpGradients, EveryForwardKindIsInTheTable) {
  for (const OpKindInfo& info : op_kinds()) {
    if (is_backward(info.kind) || std::ranges::count(kWithoutGradient, info.kind) > 0) continue;
    EXPECT_GT(std::ranges::count(kCases, info.kind, &Case::kind), 0)
        << info.name << " has no gradient test: give it a case";
  }
}

TEST(OpGradients, AgreeWithDifferences) {
  for (const Case& c : kCases) {
    for (const Size& size : kSizes) {
      SCOPED_TRACE(std::string(c.name) + " of " + std::to_string(size.cols));
      Device device(test::fp32_profile(), ExecutionMode::kExecute);
      OpUnderTest op = c.make(device, size);
      device.host_profile().start();
      test::expect_gradients_of_differences(device, op);
      device.host_profile().stop();
      const auto& run = device.host_profile().entries();
      EXPECT_GT(std::ranges::count(run, c.kind, &HostProfileEntry::kind), 0)
          << "the case does not run " << name(c.kind);
    }
  }
}

constexpr std::array kProfiles = {"ascend_910b3", "h100_sxm", "cpu_ref"};

TEST(OpGradients, ADryDeviceCountsTheSame) {
  for (const char* profile : kProfiles) {
    for (const Case& c : kCases) {
      SCOPED_TRACE(std::string(c.name) + " on " + profile);
      Device real(*load_profile(profile), ExecutionMode::kExecute);
      Device dry(*load_profile(profile), ExecutionMode::kDry);
      for (Device* device : {&real, &dry}) {
        OpUnderTest op = c.make(*device, kSizes.back());
        for (int micro_batch = 0; micro_batch < 2; ++micro_batch) {
          const std::uint64_t ops = device->counters().ops;
          const std::int64_t time_ns = device->time_ns();
          EXPECT_TRUE(test::run_backward(*device, op).is_recorded);
          EXPECT_GT(device->counters().ops, ops);
          EXPECT_GT(device->time_ns(), time_ns);
        }
      }
      EXPECT_EQ(real.counters(), dry.counters());
      EXPECT_EQ(real.time_ns(), dry.time_ns());
      EXPECT_EQ(real.memory().peak_allocated_bytes, dry.memory().peak_allocated_bytes);
      EXPECT_EQ(real.memory().allocated_bytes, dry.memory().allocated_bytes);
    }
  }
}

TEST(OpGradients, NothingStaysButTheGradients) {
  for (const char* profile : kProfiles) {
    for (const Case& c : kCases) {
      SCOPED_TRACE(std::string(c.name) + " on " + profile);
      Device device(*load_profile(profile), ExecutionMode::kExecute);
      OpUnderTest op = c.make(device, kSizes.back());
      const std::uint64_t before = device.memory().allocated_bytes;
      static_cast<void>(test::run_backward(device, op));
      for (const auto& p : op.parameters) {
        EXPECT_FALSE(p->grad.empty()) << p->name;
        p->grad = {};
      }
      EXPECT_EQ(device.memory().allocated_bytes, before);
    }
  }
}

TEST(OpGradients, OfAFrozenParameterAreNotComputed) {
  for (const char* profile : kProfiles) {
    for (const Case& c : kCases) {
      SCOPED_TRACE(std::string(c.name) + " on " + profile);
      Device device(*load_profile(profile), ExecutionMode::kExecute);
      OpUnderTest op = c.make(device, kSizes.back());
      if (op.parameters.empty()) continue;
      const auto ops_of = [&](bool wants_inputs) {
        const std::uint64_t before = device.counters().ops;
        const test::Gradients gradients = test::run_backward(device, op, wants_inputs);
        for (const Tensor& dx : gradients.inputs) EXPECT_EQ(dx.empty(), !wants_inputs);
        return std::pair(device.counters().ops - before, gradients.is_recorded);
      };
      const std::uint64_t trained = ops_of(true).first;
      for (const auto& p : op.parameters) {
        p->is_trained = false;
        p->grad = {};
      }
      if (!op.inputs.empty()) {
        EXPECT_LT(ops_of(true).first, trained);
      }
      EXPECT_FALSE(ops_of(false).second) << "nobody wants a gradient, and a node is there";
      for (const auto& p : op.parameters) EXPECT_TRUE(p->grad.empty()) << p->name;
    }
  }
}

// Without anybody who wants a gradient, an open tape keeps nothing.
TEST(OpGradients, ConstantsKeepNothing) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    Device device(*load_profile("ascend_910b3"), ExecutionMode::kExecute);
    OpUnderTest op = c.make(device, kSizes.back());
    for (const auto& p : op.parameters) p->is_trained = false;
    const std::uint64_t before = device.memory().allocated_bytes;
    const Tape tape;
    { const Tensor y = op.call(op.inputs); }
    EXPECT_EQ(device.memory().allocated_bytes, before);
  }
}

}  // namespace
}  // namespace nb
