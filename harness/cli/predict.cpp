#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/say.hpp"
#include "harness/base/table.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/memory_plot.hpp"
#include "harness/cli/predict_claims.hpp"
#include "harness/cli/predict_options.hpp"
#include "harness/cli/predict_output.hpp"
#include "harness/cli/predict_sweep.hpp"
#include "harness/predict/own_constants.hpp"
#include "harness/run/preflight.hpp"
#include "model/predict/megatron_fit_batch.hpp"
#include "model/predict/megatron_trace.hpp"
#include "model/train/fit_batch.hpp"
#include "model/train/settings.hpp"

namespace nb::cli {
namespace {

// Where there is one, what the allocator's options leave without effect is said aloud.
void say_note(const PredictSubject& subject) {
  if (const std::string note = alloc_note(subject.profile); !note.empty())
    say_on_stderr(fmt::format("npubench: --alloc-conf: {}\n", note));
}

Result<void> write_trace(const PredictOptions& options, const PredictSubject& subject,
                         const Prediction& prediction) {
  NB_TRY(const DryStepRequest request,
         dry_step_request(subject.settings, subject.profile, subject.between_nodes,
                          prediction.device_batch_size));
  NB_TRY(const std::string text, dump_json(trace_dry_step(request, subject.profile), -1));
  return write_file(options.trace, text);
}

Result<void> draw_memory(const PredictOptions& options, const PredictSubject& subject,
                         const Prediction& prediction) {
  NB_TRY(const DryStepRequest request,
         dry_step_request(subject.settings, subject.profile, subject.between_nodes,
                          prediction.device_batch_size));
  NB_TRY(const MemoryOverStep memory, memory_over_step(request, subject.profile), "--plot");
  const std::string title =
      fmt::format("{}: memory of a card over a step, {} rows a micro-batch, simulated",
                  options.request.device, prediction.device_batch_size);
  return draw_plot_file(memory_plot(memory, title), options.plot, "gnuplot");
}

// The whole stage, how far off such figures were, the largest batch, and another device.
Result<RunOutlook> outlook_of(const PredictOptions& options, const PredictSubject& subject) {
  const PredictSettings& settings = subject.settings;
  RunOutlook outlook;
  outlook.steps = settings.steps;
  const bool is_base = settings.stage == TrainingStage::kBase;
  if (!outlook.steps && is_base) {
    TrainSettings train;
    train.total_batch_tokens = settings.total_batch_tokens;
    NB_TRY(const DecoderConfig config, config_of(settings));
    outlook.steps = planned_iterations(train, config);
    outlook.is_by_recipe = true;
  }
  if (is_base) outlook.error = expected_error(false, subject.profile.identity);
  if (settings.stage != TrainingStage::kRl) {  // whose dry steps take a second each
    NB_TRY(outlook.batch, fit_batch(settings, subject.profile, subject.between_nodes));
  }
  if (options.against.empty()) return outlook;
  PredictRequest other = options.request;
  other.device = outlook.against = options.against;
  other.stack.clear();
  other.alloc_conf.clear();
  NB_TRY(const PredictSubject there, subject_of(other), "--against");
  NB_TRY(outlook.other, predict(there.settings, there.profile, there.between_nodes), "--against");
  return outlook;
}

int show_prediction(const PredictOptions& options) {
  if (!options.plot.empty())
    if (const auto format = plot_format_of(options.plot); !format) return fail(format.error());
  const auto subject = subject_of(options.request);
  if (!subject) return fail(subject.error());
  const auto prediction = predict(subject->settings, subject->profile, subject->between_nodes);
  if (!prediction) return fail(prediction.error());
  say_note(*subject);
  if (!prediction->note.empty()) say_on_stderr(fmt::format("npubench: {}\n", prediction->note));
  RunOutlook outlook;
  if (prediction->fits) {
    auto found = outlook_of(options, *subject);
    if (!found) return fail(found.error());
    outlook = std::move(*found);
  }
  const PredictedRun run = {options.request.device, subject->profile, subject->settings,
                            *prediction, &outlook};
  if (options.json) {
    if (const int printed = print_json(prediction_json(run)); printed != kExitOk) return printed;
  } else if (prediction->fits) {
    say("{}", prediction_text(run));
  }
  if (!prediction->fits)
    return fail(
        {ErrorCode::kRun,
         fmt::format("{}: {}{}; {}", options.request.device, prediction->out_of_memory,
                     prediction->is_borderline ? "; borderline: with 2 % more memory it fits" : "",
                     largest_batch_text(*prediction))});
  if (!options.trace.empty())
    if (const auto written = write_trace(options, *subject, *prediction); !written)
      return fail(written.error());
  if (!options.plot.empty())
    if (const auto drawn = draw_memory(options, *subject, *prediction); !drawn)
      return fail(drawn.error());
  return kExitOk;
}

std::optional<Error> both_batches(const PredictOptions& options) {
  const auto given = options.request.given.find("device_batch_size");
  if (given == options.request.given.end() || given->second.empty()) return std::nullopt;
  return Error{ErrorCode::kBadInput,
               "--fit-batch looks for the batch that --device-batch-size gives; leave one out"};
}

int show_fit(const PredictOptions& options) {
  if (const auto problem = both_batches(options)) return fail(*problem);
  const auto subject = subject_of(options.request);
  if (!subject) return fail(subject.error());
  const auto batch = fit_batch(subject->settings, subject->profile, subject->between_nodes);
  if (!batch) return fail(batch.error());
  say_note(*subject);
  if (options.json) return print_json(fit_json(options.request.device, *subject, *batch));
  say("{}", fit_text(options.request.device, *subject, *batch));
  return kExitOk;
}

constexpr std::string_view kSweepOfDevices = "device=";

bool sweeps_devices(const PredictOptions& options) {
  return std::ranges::any_of(
      options.sweeps, [](const std::string& sweep) { return sweep.starts_with(kSweepOfDevices); });
}

// The device that is asked about; the first of a sweep over devices, which needs no other.
std::string swept_device(const PredictOptions& options) {
  for (const std::string& sweep : options.sweeps)
    if (options.request.device.empty() && sweep.starts_with(kSweepOfDevices))
      return sweep.substr(kSweepOfDevices.size(), sweep.find(',') - kSweepOfDevices.size());
  return options.request.device;
}

int show_sweep(const PredictOptions& options) {
  if (!options.plot.empty())
    if (const auto format = plot_format_of(options.plot); !format) return fail(format.error());
  PredictRequest request = options.request;
  request.device = swept_device(options);
  const auto sweep = run_sweep(request, options.sweeps, options.megatron);
  if (!sweep) return fail(sweep.error());
  for (const SweepPoint& point : sweep->points)
    if (!point.prediction.note.empty())
      say_on_stderr(
          fmt::format("npubench: {}: {}\n", fmt::join(point.values, ", "), point.prediction.note));
  if (options.json) {
    if (const int printed = print_json(sweep_json(*sweep)); printed != kExitOk) return printed;
  } else {
    say("{}", options.csv ? sweep_csv(*sweep) : sweep_text(*sweep));
  }
  if (options.plot.empty()) return kExitOk;
  const auto plot = sweep_plot(*sweep);
  if (!plot) return fail(plot.error());
  const auto drawn = draw_plot_file(*plot, options.plot, "gnuplot");
  return drawn ? kExitOk : fail(drawn.error());
}

int show_claims(const PredictOptions& options) {
  const auto judged = judge_claims(options.request, options.megatron, options.claims);
  if (!judged) return fail(judged.error());
  if (options.json) return print_json(claims_json(*judged));
  say("{}", claims_text(*judged));
  return kExitOk;
}

Result<void> write_megatron_trace(const std::string& path, const MegatronAnswer& answer) {
  NB_TRY(const std::string text, dump_json(megatron_trace(answer.job, answer.step), -1));
  return write_file(path, text);
}

int show_megatron(const PredictOptions& options) {
  if (!options.plot.empty())
    return fail(
        {ErrorCode::kBadInput,
         "--plot: of Megatron's models only a sweep is drawn: npubench predict sweep FIELD=a,b"});
  if (options.fit_batch)
    if (const auto problem = both_batches(options)) return fail(*problem);
  auto answer = ask_megatron(options.request, options.megatron);
  if (!answer) return fail(answer.error());
  if (!options.against.empty())
    if (const auto asked = ask_against(options.request, options.megatron, options.against, *answer);
        !asked)
      return fail(asked.error());
  if (options.fit_batch) {
    const FittingBatch batch = megatron_fit_batch(answer->job, answer->capacity_bytes);
    if (options.json) return print_json(megatron_fit_json(options.request, *answer, batch));
    say("{}", megatron_fit_text(options.request, *answer, batch));
    return kExitOk;
  }
  if (options.json) {
    const int printed = print_json(megatron_json(options.request, *answer));
    if (printed != kExitOk) return printed;
  } else {
    say("{}", megatron_text(options.request, *answer));
  }
  if (!answer->fits())
    return fail(
        {ErrorCode::kRun,
         fmt::format(
             "{}: {} are needed, {} are there{}: cut it over more cards (--tp, --pp), "
             "or --recompute true, --optimizer distributed",
             options.request.device, human_bytes(answer->memory.steady_peak_bytes),
             human_bytes(answer->capacity_bytes),
             answer->is_borderline()
                 ? fmt::format(
                       " (borderline: {:.1f} % are lacking, less than our error)",
                       100 * (answer->memory.steady_peak_bytes / answer->capacity_bytes - 1))
                 : "")});
  if (options.trace.empty()) return kExitOk;
  const auto written = write_megatron_trace(options.trace, *answer);
  return written ? kExitOk : fail(written.error());
}

// --calibration names a file of profile --fit, or a folder of rows.
Result<void> take_own_constants(PredictOptions& options) {
  const std::string& given = options.validate.rows_dir;
  std::error_code ignored;
  if (given.empty() || fs::is_directory(given, ignored)) return {};
  if (options.calibrate.calibrate)
    return bad_input(
        fmt::format("--calibration {}: `predict calibrate` fits the families on a folder of rows; "
                    "what constants "
                    "of one machine do shows `predict validate --calibration FILE`",
                    given));
  NB_TRY(const std::string text, own_constants_text(given));
  say_on_stderr(fmt::format("npubench: --calibration {}\n", text));
  options.request.own_constants = given;
  return {};
}

}  // namespace

int predict_verb(PredictOptions& options) {
  if (const auto taken = take_own_constants(options); !taken) return fail(taken.error());
  if (options.calibrate.calibrate)
    return predict_calibrate(options.calibrate, options.validate.rows_dir, options.json);
  if (options.validate.validate) return predict_validate(options.validate, options.json);
  if (options.request.device.empty() && !sweeps_devices(options)) {
    const Error missing{ErrorCode::kBadInput, "--device is required (npubench list devices)"};
    return fail(missing);
  }
  if (!options.mesh.mesh.empty()) return show_mesh(options.request, options.mesh, options.json);
  if (!options.claims.empty()) return show_claims(options);
  if (!options.sweeps.empty()) return show_sweep(options);
  const auto is_megatron = asks_megatron(options.request, options.megatron);
  if (!is_megatron) return fail(is_megatron.error());
  if (*is_megatron) return show_megatron(options);
  return options.fit_batch ? show_fit(options) : show_prediction(options);
}

}  // namespace nb::cli
