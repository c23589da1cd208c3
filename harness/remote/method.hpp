// The ladder: by which of its ways a server can score a task, best first. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evals/base/task.hpp"
#include "harness/base/result.hpp"
#include "harness/remote/server_facts.hpp"

namespace nb {

enum class ScoringMethod : std::uint8_t {
  kPromptLogprobs,  // rung 1: log-probabilities of the prompt's tokens, any task that is scored
  kGreedy,          // rung 2: generates as many tokens as the continuation has and compares
  kLetters,         // rung 3: the answer is held to the letters, and the letter is the choice
  kGeneration,      // tasks that are answered by a text
};
std::string_view name(
    ScoringMethod method);                // "prompt_logprobs", "greedy", "letters", "generation"
std::vector<std::string> method_names();  // what --method takes: "auto" and the first three

// The method of each task, by id. wanted: "auto", or one that every scored task is held to, so that
// two servers are asked alike; it must be one that the task has.
// Errors: kRun where the server cannot score a task at all: what it does, which rungs are left and
// which of the tasks they score; bad_input where `wanted` fits no task of that kind.
Result<std::map<std::string, ScoringMethod>> methods_of(std::span<const Task> tasks,
                                                        const ServerFacts& facts,
                                                        const std::string& wanted);

}  // namespace nb
