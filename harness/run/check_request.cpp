#include "harness/run/check_request.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace nb {
namespace {

// A flag and whether it was given with another value than its own default.
struct Given {
  const char* flag;
  bool is_given;
};

Result<void> none_of(const std::string& source, const std::string& why,
                     const std::vector<Given>& flags) {
  for (const Given& one : flags)
    if (one.is_given) return bad_input(fmt::format("{}: {}; leave out {}", source, why, one.flag));
  return {};
}

std::vector<Given> model_flags(const ModelChoice& model) {
  return {{"--device", !model.device.empty()},
          {"--step", model.step.has_value()},
          {"--tokenizer", !model.tokenizer.empty()},
          {"--each-alone", !model.shares_prefixes}};
}

std::vector<Given> server_flags(const ServerChoice& server) {
  const ServerChoice usual;
  return {{"--server-model", !server.model.empty()},
          {"--key-env", !server.key_env.empty()},
          {"--ca-file", !server.ca_file.empty()},
          {"--method", server.method != usual.method},
          {"--chat", server.chat != usual.chat},
          {"--concurrency", server.concurrency != usual.concurrency},
          {"--tries", server.tries != usual.tries},
          {"--timeout", server.timeout_seconds != usual.timeout_seconds},
          {"--server-context", server.context != usual.context},
          {"--world", !server.world.empty()}};
}

// Of EvalSettings::fields().
constexpr const char* kSettingFlags[][2] = {
    {"tasks", "--task"},           {"max_per_task", "--max-per-task"},
    {"baselines", "--baselines"},  {"max_new_tokens", "--max-new-tokens"},
    {"num_samples", "--samples"},  {"temperature", "--temperature"},
    {"top_k", "--top-k"},          {"sample_seed", "--seed"},
    {"task_files", "--task-file"}, {"num_fewshot", "--num-fewshot"},
    {"texts", "--text"},           {"window", "--window"},
};

std::vector<Given> setting_flags(const EvalSettings& settings) {
  const Json usual = print_struct(EvalSettings()), asked = print_struct(settings);
  std::vector<Given> flags;
  const auto value = [](const Json& settings_json, const char* field) {
    return settings_json.contains(field) ? settings_json.at(field) : Json();  // left out: absent
  };
  for (const auto& [field, flag] : kSettingFlags)
    flags.push_back({flag, value(asked, field) != value(usual, field)});
  return flags;
}

bool is_of_generation(std::string_view flag) {
  return flag == "--max-new-tokens" || flag == "--temperature" || flag == "--top-k" ||
         flag == "--seed";
}

}  // namespace

Result<void> check_request(const EvaluationRequest& request) {
  const bool has_model = !request.model.model.empty();
  const bool has_completions = !request.completions.empty();
  const bool has_rescore = !request.rescore.empty();
  const bool has_server = !request.server.url.empty();
  if (has_model + has_completions + has_rescore + has_server != 1)
    return bad_input("give exactly one of --model, --server, --completions and --rescore");
  if (!has_server)
    NB_TRY_VOID(
        none_of(std::string("--model"), "no server is asked", server_flags(request.server)));
  if (request.shard < 0 || request.shard >= request.shards)
    return bad_input(fmt::format("--shard {}: with --shards {} the shards are 0 to {}",
                                 request.shard, request.shards, request.shards - 1));
  if (has_server)
    NB_TRY_VOID(none_of(std::string("--server"), "the model runs elsewhere",
                        {{"--device", !request.model.device.empty()},
                         {"--step", request.model.step.has_value()},
                         {"--each-alone", !request.model.shares_prefixes}}));
  if (has_model || has_server)
    return none_of(has_model ? "--model" : "--server", "no completion file is read",
                   {{"--completions-member", !request.completions_member.empty()},
                    {"--completions-form", request.completions_form != "auto"},
                    {"--ignore-incomplete", request.ignore_incomplete}});
  const std::string source = has_completions ? "--completions" : "--rescore";
  if (request.shards != 1)
    return bad_input(source + ": completions are scored by one process; leave out --shards");
  NB_TRY_VOID(none_of(source, "no model is used", model_flags(request.model)));
  if (has_completions) {
    NB_TRY_VOID(none_of(source, "every item needs its completions",
                        {{"--max-per-task", request.settings.max_per_task > 0}}));
    std::vector<Given> generation;
    for (const Given& one : setting_flags(request.settings))
      if (is_of_generation(one.flag)) generation.push_back(one);
    return none_of(source, "nothing is generated", generation);
  }
  NB_TRY_VOID(none_of(source, "the settings are those of the evaluation that is rescored",
                      setting_flags(request.settings)));
  return none_of(source, "the completions come from the evaluation",
                 {{"--completions-member", !request.completions_member.empty()},
                  {"--completions-form", request.completions_form != "auto"},
                  {"--ignore-incomplete", request.ignore_incomplete}});
}

}  // namespace nb
