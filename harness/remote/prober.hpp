// The probes of one server, one after another, and what they have found. For probes.cpp, which
// calls them, and the probe_*.cpp, each of which has those of one kind.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "harness/remote/connection.hpp"
#include "harness/remote/served_tokenizer.hpp"
#include "harness/remote/server_facts.hpp"
#include "harness/remote/wire.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {

class Prober {
 public:
  static constexpr int kCanaryTokens = 16;  // of the answer that is asked for again and again

  Prober(Connection& connection, Wire& wire, const Tokenizer& tokenizer,
         const ServedTokenizer* served)
      : connection_(connection), wire_(wire), tokenizer_(tokenizer), served_(served) {}

  Result<ServerFacts> run(const std::string& model, bool by_chat);

 private:
  void note(const char* id, const char* outcome, std::string text);
  std::string who() const { return connection_.name(); }
  Result<RemoteAnswer> question(RemoteCall call);
  // A fixed request; in a chat the fixed conversation.
  RemoteCall fixed(const Wire::Generation& generation) const;

  // P1, and who it is.
  Result<void> take_model(const std::string& wanted);
  Result<void> find_kind(const std::map<std::string, std::string>& headers);
  Result<void> ask_chat();
  // P8: two servers of one model may disagree about it.
  Result<void> look_at_template();

  // probe_tokenizer.cpp
  // P2 where the server encodes: there is nothing to compare with.
  void look_at_served_tokenizer();
  // P2: by /tokenize, else by how many tokens the server counts.
  Result<void> compare_tokenizers();
  Result<void> differs(std::size_t i, const std::vector<int>& theirs, const std::vector<int>& ours);
  Result<void> count_tokens();

  // probe_ids.cpp
  Result<void> ask_about_ids();
  // Are ids taken as a prompt, and what is told of what was generated? P7.
  Result<void> ask_generation();
  // The calculator is called at one of several ids that end an answer: which one was it?
  Result<void> ask_stops();
  Result<void> second_bos(std::int64_t more);
  // P5: what it says is what it finds most likely.
  Result<void> compare_greedy();

  // probe_scores.cpp
  // P3.
  Result<void> ask_scores();
  // One entry more than was sent, and the first two alike: a second <|bos|>.
  Result<void> refuse_second_bos(const Result<Json>& answer);
  // P4.
  Result<void> ask_temperature();

  // probe_letters.cpp
  // Rung 3: how can the answer be held to letters?
  Result<void> ask_letters();
  Result<bool> holds_to(LetterWay way, std::span<const int> letters);

  // probe_noise.cpp
  // P6: one prompt alone, then among others of other lengths.
  Result<void> measure_noise();
  Result<void> add_noise(const RemoteCall& call, const RemoteAnswer& answer);
  void see_move(float now, float first);
  void say_noise();

  Connection& connection_;
  Wire& wire_;
  const Tokenizer& tokenizer_;
  const ServedTokenizer* served_;
  ServerFacts facts_;
  std::vector<int> prompt_;
  std::vector<TokenScore> first_;
  std::vector<float> answered_;  // log-probabilities of the first answer
};

}  // namespace nb
