#include "harness/cli/common.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "harness/base/locations.hpp"
#include "harness/base/parallel.hpp"
#include "harness/base/say.hpp"
#include "harness/base/visible_text.hpp"
#include "harness/run/environment.hpp"
#include "harness/suite/load.hpp"
#include "model/host/program.hpp"
#include "model/kernels/simd_level.hpp"

namespace nb::cli {

int fail(const Error& error) {
  say_on_stderr(fmt::format("npubench: {}\n", error.message));
  return static_cast<int>(error.code);
}

namespace {

// Names of files may be any bytes, JSON is UTF-8.
Json with_utf8(const Json& json) {
  if (json.is_string()) return utf8_text(json.get<std::string>());
  if (json.is_array()) {
    Json list = Json::array();
    for (const Json& element : json) list.push_back(with_utf8(element));
    return list;
  }
  if (!json.is_object()) return json;
  Json object = Json::object();
  for (const auto& [key, value] : json.items()) object[utf8_text(key)] = with_utf8(value);
  return object;
}

}  // namespace

int print_json(const Json& json) {
  auto text = dump_json(json);
  if (!text) text = dump_json(with_utf8(json));
  if (!text) return fail(text.error());
  say_json(*text);
  return kExitOk;
}

bool is_same_run(const std::string& a, const std::string& b) {
  std::error_code error;  // of what is no path: not equivalent
  return a == b || std::filesystem::equivalent(a, b, error);
}

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

int fail_for_damaged(const std::vector<std::string>& damaged) {
  if (damaged.empty()) return kExitOk;
  const std::size_t more = damaged.size() - 1;
  return fail({ErrorCode::kRun, fmt::format("some records could not be read: {}{}", damaged.front(),
                                            more == 0 ? "" : fmt::format(" (and {} more)", more))});
}

std::string value_name(const Field& field) {
  const auto is = [&]<class T>(T*) {
    return std::holds_alternative<T*>(field.ref) ||
           std::holds_alternative<std::optional<T>*>(field.ref);
  };
  if (is(static_cast<bool*>(nullptr))) return "on|off";
  if (std::holds_alternative<int*>(field.ref) || is(static_cast<std::int64_t*>(nullptr)) ||
      std::holds_alternative<std::uint64_t*>(field.ref))
    return "INT";
  if (is(static_cast<double*>(nullptr))) return "FLOAT";
  return "TEXT";
}

void add_compute_options(CLI::App& app) {
  app.add_option("--threads",
                 "threads of this process; 0: every usable core. Does not change results, except "
                 "on cpu_ref, whose "
                 "OpenBLAS sums in another order")
      ->type_name("INT")
      ->check(whole(0, 1024));
  app.add_option(
         "--simd",
         "instruction set of the kernels (npubench --version lists those of this host; "
         "default: NPUBENCH_SIMD, else the best). Does not change results, except on cpu_ref")
      ->type_name("LEVEL");
  app.add_option("--host-fusion",
                 "off: the host computes every op alone, which is slower (model/host/README.md). "
                 "Does not change results, except on cpu_ref (default: on)")
      ->check(CLI::IsMember({"on", "off"}));
}

Result<void> apply_compute_options(const CLI::App& app) {
  const std::string threads = app.text_of("--threads");  // a whole number: it was checked
  set_threads(threads.empty() ? 0 : std::atoi(threads.c_str()));
  host::set_fusion(app.text_of("--host-fusion") != "off");
  const std::string simd = app.text_of("--simd");
  NB_TRY(const SimdLevel level, select_simd_level(simd));
  if (!simd.empty()) ::setenv("NPUBENCH_SIMD", std::string(name(level)).c_str(), 1);
  return {};
}

std::string version_text() {
  std::string text = fmt::format("{}\nsimd: {}\n", program_version(), name(simd_level()));
  for (const SimdLevel level : all_simd_levels()) {
    const std::string reason = unavailable_reason(level);
    text += fmt::format("  {:<10}  {}\n", name(level), reason.empty() ? "available" : reason);
  }
  return text;
}

CLI::Validator within(double low, double high) {
  return CLI::Validator([low, high](const std::string& text) -> std::string {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || end != text.c_str() + text.size()) return text + " is not a number";
    if (value >= low && value <= high) return {};
    return fmt::format("{} is not from {} to {}", text, low, high);
  });
}

namespace {

template <class T>
CLI::Validator whole_number(T low, T high) {
  return CLI::Validator([low, high](const std::string& text) -> std::string {
    T value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc::invalid_argument || rest != end)
      return fmt::format("\"{}\" is not a whole number{}", text, low == 0 ? " from 0 up" : "");
    const bool fits = error == std::errc();
    if (fits && value >= low && value <= high) return {};
    const bool is_below = fits ? value < low : text.starts_with('-');
    return is_below && high == std::numeric_limits<T>::max()
               ? fmt::format("{} is less than {}", text, low)
               : fmt::format("{} is not from {} to {}", text, low, high);
  });
}

}  // namespace

CLI::Validator whole(std::int64_t low, std::int64_t high) { return whole_number(low, high); }

CLI::Validator whole_seed() {
  return whole_number<std::uint64_t>(0, std::numeric_limits<std::uint64_t>::max());
}

void add_suite_options(CLI::App& app, SuiteOptions& options) {
  app.add_option("suite", options.file, "suite file (JSON, comments allowed)")->required();
  app.add_option("--set", options.sets,
                 "change one value: /pointer=value, e.g. /stages/base/iterations=20; repeatable");
  app.add_option("--fault", options.faults,
                 "plant a fault: kind:target (npubench list faults); repeatable");
  app.add_option("--results-dir", options.results_dir,
                 "where runs are kept (default: NPUBENCH_RESULTS, else results/runs)");
  app.add_option("--data-dir", options.data_dir,
                 "public data (default: NPUBENCH_DATA, else ~/.cache/npubench/data)");
  app.add_option("--node", options.node,
                 "run this node alone: its name, or the first 4 or more digits of its key");
  app.add_flag("--fresh", options.fresh, "reuse nothing");
  app.add_flag("--json", options.json, "JSON on stdout");
}

Result<Planned> make_planned(const SuiteOptions& options, std::vector<FinishedTraining> finished) {
  std::vector<Override> overrides;
  for (const std::string& text : options.sets) {
    NB_TRY(Override change, parse_override(text));
    overrides.push_back(std::move(change));
  }
  Planned planned;
  NB_TRY(planned.suite, load_suite(options.file, overrides));
  planned.options.results_dir = results_folder(options.results_dir);
  planned.options.data_dir = data_folder(options.data_dir);
  planned.options.fresh = options.fresh;
  NB_TRY(planned.plan,
         make_plan(planned.suite, {planned.options.data_dir, options.faults, std::move(finished)},
                   options.file));
  if (!options.node.empty()) {
    NB_TRY(planned.options.only, planned.plan.find(options.node));
  }
  return planned;
}

}  // namespace nb::cli
