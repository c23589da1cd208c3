// What a request gets depends on itself alone, and a client that is gone takes no place.
#include "harness/serve/engine.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/serve/served.hpp"

namespace nb::test {
namespace {

GenerateRequest wish(std::uint64_t seed, std::vector<int> prompt = {65, 66, 67}) {
  GenerateRequest request;
  request.prompt = std::move(prompt);
  request.max_tokens = 8;
  request.seed = seed;
  request.num_samples = 2;
  request.log_probs = true;
  request.top = 3;
  request.tools = false;
  return request;
}

bool same(const GenerateResult& a, const GenerateResult& b) {
  for (std::size_t s = 0; s < a.samples.size(); ++s)
    if (a.samples[s].tokens != b.samples[s].tokens ||
        a.samples[s].log_probs != b.samples[s].log_probs || a.samples[s].top != b.samples[s].top)
      return false;
  return a.samples.size() == b.samples.size();
}

TEST(ServeEngine, OneAloneAndAmongOthersHaveTheSameBits) {
  const auto served = small_decoder();
  Engine& engine = served->engine();
  const auto alone = engine.generate(wish(7))->wait();
  ASSERT_TRUE(alone) << alone.error().message;
  ScoreRequest scored{{1, 2, 3, 4, 5}, 1, 5, 2};
  const auto scored_alone = engine.score(scored)->wait();
  std::atomic<int> equal = 0, equal_scores = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 24; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 4; ++i) {
        const auto other =
            engine.generate(wish(static_cast<std::uint64_t>(t * 10 + i),
                                 std::vector<int>(static_cast<std::size_t>(t + 1), t)));
        const auto mine = engine.generate(wish(7));
        const auto score = engine.score(scored);
        equal += same(*mine->wait(), *alone) ? 1 : 0;
        const auto result = score->wait();
        equal_scores +=
            result->log_probs == scored_alone->log_probs && result->top == scored_alone->top;
        EXPECT_TRUE(other->wait().has_value());
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(equal, 96);
  EXPECT_EQ(equal_scores, 96);
  const Engine::Stats stats = engine.stats();
  EXPECT_EQ(stats.requests, 2 + 3 * 96);
  EXPECT_LE(stats.largest, 64);
  EXPECT_GT(stats.largest, 1);
}

TEST(ServeEngine, ARequestThatIsNotWantedFreesItsPlaceWithinAToken) {
  const auto served = reciter(std::string(3000, 'x'), 1, std::chrono::milliseconds(1));
  std::atomic<bool> wanted = true;
  std::atomic<int> tokens = 0;
  GenerateRequest request = wish(1, {65});
  request.num_samples = 1;
  request.max_tokens = 3000;
  request.on_token = [&](const NewToken&) {
    if (++tokens == 5) wanted = false;
    return AfterToken::kContinue;
  };
  const auto pending = served->engine().generate(request, [&] { return wanted.load(); });
  ASSERT_TRUE(pending->wait());
  EXPECT_EQ(tokens, 5);
  EXPECT_EQ(served->engine().stats().cancelled, 1);
}

TEST(ServeEngine, WhatIsDroppedIsNotAskedFor) {
  const auto served = reciter(std::string(50, 'x'), 1, std::chrono::milliseconds(20));
  const auto first = served->engine().generate(wish(1, {65}));
  served->engine().generate(wish(2, {65})).reset();
  ASSERT_TRUE(first->wait());
  const auto last = served->engine().generate(wish(3, {65}));
  ASSERT_TRUE(last->wait());
  EXPECT_EQ(served->engine().stats().cancelled, 1);
}

TEST(ServeEngine, TheModelsFailureIsTheRequestsOwn) {
  auto parts = std::make_shared<ScriptedModel>(kByteVocab, 100, [](const std::vector<int>& all) {
    if (all.front() == 1) throw std::runtime_error("out of simulated memory");
    return 65;
  });
  ServedModel served(parts, std::make_unique<IncrementalLanguageModel>(*parts, byte_tokenizer()),
                     nullptr);
  std::vector<std::unique_ptr<PendingSamples>> all;
  for (int i = 0; i < 8; ++i) all.push_back(served.engine().generate(wish(1, {i % 2})));
  for (int i = 0; i < 8; ++i) {
    const auto result = all[static_cast<std::size_t>(i)]->wait();
    EXPECT_EQ(result.has_value(), i % 2 == 0);
    EXPECT_EQ(result ? "" : result.error().message, i % 2 == 0 ? "" : "out of simulated memory");
  }
}

TEST(ServeEngine, StopAnswersWhatWaits) {
  const auto served = reciter(std::string(3000, 'x'), 1, std::chrono::milliseconds(1));
  GenerateRequest request = wish(1, {65});
  request.max_tokens = 3000;
  const auto running = served->engine().generate(request);
  const auto waiting = served->engine().score({{1, 2}, 1, 2, 0});
  served->engine().stop();
  EXPECT_FALSE(running->wait());
  EXPECT_FALSE(waiting->wait());
  EXPECT_FALSE(served->engine().generate(request)->wait());
}

TEST(ServeEngine, SimulatedTimeIsOfThePromptAndOfTheTokens) {
  const auto served = small_decoder();
  const auto pending = served->engine().generate(wish(7));
  ASSERT_TRUE(pending->wait());
  const SimulatedTime time = pending->simulated();
  EXPECT_GT(time.prefill_ns, 0);
  EXPECT_GT(time.decode_ns, 0);
  EXPECT_EQ(time.batch, 2);
}

}  // namespace
}  // namespace nb::test
