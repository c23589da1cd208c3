// Replicas make an update once where all its inputs are equal to the bit. Each is held against a
// card of its own, which shares nothing.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/base/rng.hpp"
#include "model/collectives/world.hpp"
#include "model/decoder/presets.hpp"
#include "model/device/device.hpp"
#include "model/optim/groups.hpp"

namespace nb {
namespace {

struct Card {
  Card() : device(*load_profile("ascend_910b3"), ExecutionMode::kExecute, {.ranks = 4}) {
    decoder.init(1);
  }
  // The gradients of a step; one bit of one of Muon's is another with `flips`.
  void set_gradients(std::int64_t step, bool flips) {
    const Rng rng(7, "gradients of equal ranks", static_cast<std::uint64_t>(step));
    std::uint64_t at = 0;
    for (Parameter& p : decoder.parameters()) {
      p.grad = device.allocate(p.value.shape(), p.value.dtype(), p.name);
      for (float& value : p.grad.host())
        value = round_to(p.grad.dtype(), 0.01F * static_cast<float>(rng.normal(at++)));
      if (flips && p.name == "transformer.h.1.mlp.c_fc.weight") {
        float& value = p.grad.host()[5];
        value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ (1U << 20U));
      }
    }
  }
  void step(std::int64_t number, bool flips) {
    set_gradients(number, flips);
    for (const auto& optimizer : optimizers) optimizer->step({.step = number});
    decoder.zero_grad();
    device.synchronize();
  }
  // Weights and state to the bit, and what the device took.
  std::vector<std::uint32_t> bits() {
    std::vector<std::uint32_t> all;
    const auto add = [&](const Tensor& tensor) {
      for (const float value : tensor.host()) all.push_back(std::bit_cast<std::uint32_t>(value));
    };
    for (const Parameter& p : decoder.parameters()) add(p.value);
    for (const auto& optimizer : optimizers)
      for (const NamedState& one : optimizer->state()) add(*one.tensor);
    all.push_back(static_cast<std::uint32_t>(device.time_ns()));
    all.push_back(static_cast<std::uint32_t>(device.memory().peak_allocated_bytes));
    return all;
  }
  Device device;
  Decoder decoder{config_for_depth(2, 32, 8), device};
  std::vector<std::unique_ptr<Optimizer>> optimizers = make_optimizers(decoder, {});
};

TEST(EqualRanks, UpdateAsOneThatSharesNothing) {
  for (const int ranks : {2, 4}) {
    std::vector<Card> cards(static_cast<std::size_t>(ranks));
    Card alone, flipped;
    std::vector<Device*> devices;
    for (Card& card : cards) devices.push_back(&card.device);
    for (const std::int64_t step : {0, 1, 2}) {
      const bool flips = step == 1;  // on the last rank; its state is another from then on
      const auto done = World(devices).run([&](Communicator& world) {
        cards[static_cast<std::size_t>(world.rank())].step(step,
                                                           flips && world.rank() == ranks - 1);
      });
      ASSERT_TRUE(done) << done.error().message;
      alone.step(step, false);
      flipped.step(step, flips);
    }
    const std::vector<std::uint32_t> expected = alone.bits();
    for (int rank = 0; rank < ranks - 1; ++rank)
      EXPECT_EQ(cards[static_cast<std::size_t>(rank)].bits(), expected) << rank;
    EXPECT_EQ(cards.back().bits(), flipped.bits());
    EXPECT_TRUE(cards.back().bits() != expected);
  }
}

// A rank that is gone has no update, and nobody waits for it there.
TEST(EqualRanks, UpdateWithoutTheOneThatFailed) {
  std::vector<Card> cards(3);
  Card alone;
  std::vector<Device*> devices;
  for (Card& card : cards) devices.push_back(&card.device);
  const auto done = World(devices).run([&](Communicator& world) {
    if (world.rank() == 0) throw std::runtime_error("lost");
    cards[static_cast<std::size_t>(world.rank())].step(0, false);
    world.barrier("behind the update");
  });
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("rank 0: lost"), std::string::npos) << done.error().message;
  alone.step(0, false);
  EXPECT_EQ(cards[1].bits(), alone.bits());
  EXPECT_EQ(cards[2].bits(), alone.bits());
}

}  // namespace
}  // namespace nb
