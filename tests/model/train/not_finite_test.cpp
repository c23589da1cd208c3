// Where a number stopped being finite.
#include "model/train/not_finite.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "model/decoder/presets.hpp"
#include "model/device/profile.hpp"
#include "model/train/step.hpp"

namespace nb {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Batch some_batch() {
  Batch batch;
  batch.rows = 2;
  batch.length = 4;
  batch.inputs = {3, 4, 5, 6, 7, 8, 9, 10};
  batch.targets = {4, 5, 6, 7, 8, 9, 10, 11};
  return batch;
}

class NotFinite : public ::testing::Test {
 protected:
  NotFinite()
      : device_(*load_profile("tiny"), ExecutionMode::kExecute),
        decoder_(config_for_depth(2, 16, 32), device_) {
    decoder_.init(1);
  }
  Tensor& value(const std::string& name) {
    for (Parameter& p : decoder_.parameters())
      if (p.name == name) return p.value;
    ADD_FAILURE() << name;
    return decoder_.parameters().front().value;
  }
  void spoil(const std::string& name) { value(name).host()[0] = kInfinity; }

  Device device_;
  Decoder decoder_;
};

TEST_F(NotFinite, AHealthyModelHasNone) {
  EXPECT_EQ(first_op_not_finite(decoder_, some_batch()), "");
  std::string found;
  note_not_finite(found, 1.5, decoder_, some_batch());
  EXPECT_EQ(found, "");
}

TEST_F(NotFinite, TheFirstOpInTheModelsOrderIsNamed) {
  spoil("transformer.h.1.attn.c_k.weight");
  EXPECT_EQ(first_op_not_finite(decoder_, some_batch()), "transformer.h.1.attn.c_k");
  spoil("transformer.h.0.mlp.c_fc.weight");
  EXPECT_EQ(first_op_not_finite(decoder_, some_batch()), "transformer.h.0.mlp.c_fc");
}

TEST_F(NotFinite, TheHeadIsNamedToo) {
  // The cap of the logits hides an infinity.
  value("lm_head.weight").host()[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(first_op_not_finite(decoder_, some_batch()), "lm_head");
}

TEST_F(NotFinite, AStepWhoseNormIsNotFiniteLeavesWeightsAndGradients) {
  const Batch batch = some_batch();
  decoder_.loss_and_backward(batch.inputs, batch.targets, batch.rows, batch.length, 1.0);
  for (Parameter* p : decoder_.trained_parameters())
    if (p->name == "transformer.h.1.mlp.c_proj.weight")
      p->grad.host()[0] = std::numeric_limits<float>::quiet_NaN();
  const double norm = apply_gradients(decoder_, {}, 1.0, {});
  EXPECT_FALSE(std::isfinite(norm));
  EXPECT_EQ(gradients_not_finite(decoder_), "transformer.h.1.mlp.c_proj.weight");
}

}  // namespace
}  // namespace nb
