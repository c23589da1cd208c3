// `vllm bench serve --save-result`, and benchmark_serving.py before it: one object a load, one a
// line with --append-result. vllm-project/vllm @ 009e6d4a: vllm/benchmarks/serve.py.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "results/foreign/json_slices.hpp"
#include "results/foreign/lines.hpp"
#include "results/import/readers.hpp"
#include "results/import/serving.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

struct Rate {
  const char* key;
  const char* unit;
};
constexpr Rate kRates[] = {{"request_throughput", "1/s"},
                           {"request_goodput", "1/s"},
                           {"input_sequence_throughput", "1/s"},
                           {"output_throughput", "tok/s"},
                           {"total_token_throughput", "tok/s"},
                           {"max_output_tokens_per_s", "tok/s"},
                           {"diffusion_committed_throughput", "tok/s"},
                           {"rtfx", "1"}};
// How the load was made; texts and what else is no measurement.
constexpr const char* kSettings[] = {"num_prompts",
                                     "request_rate",
                                     "burstiness",
                                     "max_concurrency",
                                     "best_of",
                                     "ramp_up_start_rps",
                                     "ramp_up_end_rps",
                                     "total_input_tokens",
                                     "n"};

// "p99_ttft_ms" and "mean_e2el_ms" are latencies, "std_ttft_ms" is none.
bool is_latency(std::string_view key) {
  return key.ends_with("_ms") &&
         (key.starts_with("mean_") || key.starts_with("median_") ||
          (key.starts_with("p") && key.size() > 1 && key[1] >= '0' && key[1] <= '9'));
}

// Members that are one value: lists hold a value a request.
using Scalars = std::map<std::string, Json>;

Result<Scalars> scalars_of(std::string_view text, const std::string& where, MappedText* file) {
  NB_TRY(const auto slices, slices_of(text, where, file));
  Scalars scalars;
  for (const auto& [key, slice] : slices)
    if (!slice.starts_with('[') && !slice.starts_with('{')) {
      NB_TRY(scalars[key], parse_slice(slice, where + ": /" + key));
    }
  return scalars;
}

std::string text_in(const Scalars& scalars, const char* key) {
  const auto at = scalars.find(key);
  return at == scalars.end() ? "" : text_of(at->second);
}

ForeignRun& run_of(const Scalars& scalars, ForeignBuilder& builder) {
  std::string load = "rate " + text_in(scalars, "request_rate");
  for (const auto& [key, word] :
       {std::pair{"max_concurrency", "concurrency"}, std::pair{"num_prompts", "prompts"}})
    if (const std::string text = text_in(scalars, key); !text.empty())
      load += fmt::format(", {} {}", word, text);
  const std::string model = text_in(scalars, "model_id");
  ForeignRun* run = &builder.run("vllm bench serve", model, load);
  // The same load with other prompts, or another label, is no repetition.
  for (const char* key : {"label", "total_input_tokens"}) {
    const auto at = run->provenance.find(key);
    const std::string text = text_in(scalars, key);
    if (run->files.empty() || (at == run->provenance.end() ? "" : at->second) == text) continue;
    load += fmt::format(", {} {}", key, text);
    run = &builder.run("vllm bench serve", model, load);
  }
  return *run;
}

Result<void> take(const Scalars& scalars, const std::filesystem::path& path,
                  const std::string& where, ForeignBuilder& builder) {
  if (text_in(scalars, "model_id").empty()) return bad_input(where + ": /model_id is missing");
  ForeignRun& run = run_of(scalars, builder);
  if (std::find(run.files.begin(), run.files.end(), path) == run.files.end())
    run.files.push_back(path);
  double number = 0;
  for (const auto& [key, value] : scalars) {
    const bool is_setting =
        value.is_string() ||
        std::find(std::begin(kSettings), std::end(kSettings), key) != std::end(kSettings);
    if (is_setting) {
      if (key != "model_id" && key != "date") builder.say(run, key, text_of(value));
      continue;
    }
    if (!value.is_number() || !number_of(value, number)) continue;
    const auto rate = std::find_if(std::begin(kRates), std::end(kRates),
                                   [&key = key](Rate one) { return one.key == key; });
    if (rate != std::end(kRates))
      add_measurement(run, key, number, rate->unit, Direction::kHigher);
    else if (is_latency(key))
      add_measurement(run, key, number, "ms", Direction::kLower);
    else
      add_measurement(run, key, number,
                      key == "duration"      ? "s"
                      : key.ends_with("_ms") ? "ms"
                                             : "1",
                      Direction::kNone);
  }
  const auto failed = scalars.find("failed");
  if (failed != scalars.end() && count_of(failed->second) > 0)
    run.notes.push_back(message("import.requests_failed_of", where, text_of(failed->second),
                                text_in(scalars, "num_prompts")));
  return {};
}

}  // namespace

bool is_vllm_serve(const FileHead& head) {
  return head_has_key(head, "model_id") && head_has_key(head, "request_throughput");
}

Result<void> read_vllm_serve(const std::filesystem::path& path, ForeignBuilder& builder) {
  NB_TRY(MappedText file, MappedText::open(path));
  const auto whole = scalars_of(file.text(), path.string(), &file);
  if (whole) return take(*whole, path, path.string(), builder);
  // One object per line.
  std::string_view rest = file.text();
  const std::size_t first = rest.find('\n');
  if (first == rest.npos || !scalars_of(rest.substr(0, first), path.string(), nullptr))
    return tl::unexpected(whole.error());
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const std::string where = fmt::format("{}:{}", path.string(), number);
    NB_TRY(const Scalars scalars, scalars_of(line, where, nullptr));
    NB_TRY_VOID(take(scalars, path, where, builder));
  }
  return {};
}

}  // namespace nb
