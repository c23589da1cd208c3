#include "evals/humaneval/items.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/gzip.hpp"
#include "harness/base/hash.hpp"
#include "model/data/tasks/rows.hpp"

namespace nb {

namespace {

constexpr std::string_view kKeys = "task_id, prompt, entry_point, canonical_solution, test";
constexpr std::size_t kIdDigits = 16;

bool is_identifier(std::string_view name) {
  const auto is_letter = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return !name.empty() && is_letter(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

std::string id_of(const HumanEvalProblem& problem) {
  return sha256_hex(item_bytes(problem)).substr(0, kIdDigits);
}

}  // namespace

HumanEvalProblem problem_of(const ProgramItem& program) {
  HumanEvalProblem problem;
  problem.task_id = program.task_id;
  problem.prompt = program.prompt;
  problem.entry_point = program.entry_point;
  problem.canonical_solution = program.canonical_solution;
  problem.test = program.test;
  problem.id = id_of(problem);
  return problem;
}

std::string item_bytes(const HumanEvalProblem& problem) {
  return netstrings({problem.task_id, problem.prompt, problem.entry_point,
                     problem.canonical_solution, problem.test});
}

Result<std::vector<HumanEvalProblem>> parse_humaneval(std::string_view text,
                                                      const std::string& where) {
  std::vector<HumanEvalProblem> problems;
  std::map<std::string, std::string> seen;  // task id → where
  const auto use = [&](const Json& row, const std::string& place) -> Result<void> {
    RowReader reader(row, place, "a HumanEval row", kKeys);
    HumanEvalProblem problem;
    problem.task_id = reader.text("task_id");
    problem.prompt = reader.text("prompt");
    problem.entry_point = reader.text("entry_point");
    problem.canonical_solution = reader.text("canonical_solution");
    problem.test = reader.text("test");
    NB_TRY_VOID(reader.status());
    if (!is_identifier(problem.entry_point))
      return bad_input(
          fmt::format("{}: \"entry_point\" is \"{}\", which cannot be the name of a function",
                      place, problem.entry_point));
    const auto [other, is_new] = seen.try_emplace(problem.task_id, place);
    if (!is_new)
      return bad_input(fmt::format("{}: task_id \"{}\" already exists ({})", place, problem.task_id,
                                   other->second));
    problem.id = id_of(problem);
    problems.push_back(std::move(problem));
    return {};
  };
  NB_TRY_VOID(for_each_row(text, where, use));
  return problems;
}

Result<std::vector<HumanEvalProblem>> read_humaneval(const std::filesystem::path& path) {
  NB_TRY(const std::string text, read_text_or_gzip(path));
  return parse_humaneval(text, path.string());
}

}  // namespace nb
