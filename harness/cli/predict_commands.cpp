// The options of `npubench predict` and of its commands.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "harness/cli/common.hpp"
#include "harness/cli/predict_options.hpp"
#include "harness/cli/verb.hpp"
#include "model/train/predict_settings.hpp"

namespace nb::cli {
namespace {

constexpr const char *kRollouts = "SFT and RL",
                     *kMegatron = "Megatron's models (--model llama2-7b …)";

void add_machine(CLI::App& app, PredictRequest& request) {
  app.add_option("--device", request.device, "profile (npubench list devices)");
  app.add_option("--stack", request.stack,
                 "software on it: eager, compiled, or a name (npubench list stacks); default: the "
                 "device's own");
}

void add_settings(CLI::App& app, PredictRequest& request) {
  const Json values = print_struct(PredictSettings{});
  for (const Field& field : PredictSettings{}.fields()) {
    std::string flags = flag_of(field.name);
    if (field.name == "device_batch_size") flags += ",--device-batch";
    if (field.name == "cards") flags += ",--ranks";
    const auto value = values.find(field.name);
    const bool has_default = value != values.end() && !value->is_null();
    CLI::Option* option =
        app.add_option(
               flags, request.given[field.name],
               has_default ? fmt::format("{} (default: {})", field.doc, value->dump()) : field.doc)
            ->type_name(value_name(field));
    if (field.doc.starts_with("SFT: ") || field.doc.starts_with("RL: ")) option->group(kRollouts);
  }
  app.add_option("--alloc-conf", request.alloc_conf,
                 "options of the allocator, as PYTORCH_NPU_ALLOC_CONF and PYTORCH_CUDA_ALLOC_CONF: "
                 "max_split_size_mb:128,garbage_collection_threshold:0.8,"
                 "per_process_memory_fraction:1.0; expandable_segments:True")
      ->type_name("TEXT")
      ->group("Software and constants");
}

void add_megatron(CLI::App& app, MegatronFlags& flags) {
  const auto add = [&](const char* flag, std::string& text, const char* doc, const char* value) {
    app.add_option(flag, text, doc)->type_name(value)->group(kMegatron);
  };
  add("--tp", flags.tp, "cards that share each product", "INT");
  add("--pp", flags.pp, "stages of the pipeline", "INT");
  add("--vpp", flags.vpp, "parts of a stage, interleaved", "INT");
  add("--optimizer", flags.optimizer,
      "adam, or distributed over the replicas; of the other models: muon", "TEXT");
  for (const Field& field : megatron_run_flags())
    app.add_option(flag_of(field.name), flags.run[field.name], field.doc)
        ->type_name(value_name(field))
        ->group(kMegatron);
}

void add_constants(CLI::App& app, ValidateOptions& options) {
  app.add_option("--calibration", options.rows_dir,
                 "constants of your own machine, as npubench profile --fit writes them")
      ->type_name("FILE")
      ->group("Software and constants");
}

constexpr const char* kClosedForm =
    "Models of Megatron's kind (llama2-7b, qwen1.5-7b, …, a Hugging Face config.json, or a file "
    "of their sizes) are answered in closed form: --device-batch-size is the micro-batch (1), "
    "--total-batch-tokens the global batch, --sequence-len is 4096 unless given. A file of sizes "
    "may have every flag as a member: {\"layers\": …, \"tp\": 8, \"mc2\": true}.\n";

// What were flags until 0.1: each works as it did, and names its command.
void add_older_spellings(CLI::App& app, PredictOptions& options,
                         std::span<CLI::Option* const> of_one_step) {
  CLI::Option* sweep = app.add_option("--sweep", options.sweeps, "")
                           ->allow_extra_args(false)
                           ->is_now("npubench predict sweep FIELD=a,b,c");
  app.add_flag("--csv", options.csv, "")->needs(sweep)->is_now("");
  CLI::Option* claims = app.add_option("--claims", options.claims, "")
                            ->excludes(sweep)
                            ->is_now("npubench predict claims TABLE");
  for (CLI::Option* option : of_one_step) {
    sweep->excludes(option);
    claims->excludes(option);
  }
  app.add_flag("--validate", options.validate.validate, "")->is_now("npubench predict validate");
  app.add_option("--rows", options.validate.csv, "")->is_now("");
  app.add_option("--plots", options.validate.plots, "")->is_now("");
  app.add_flag("--calibrate", options.calibrate.calibrate, "")
      ->is_now("npubench predict calibrate");
  app.add_option("--family", options.calibrate.families, "")->is_now("");
  app.add_option("--out", options.calibrate.out, "")->is_now("");
}

}  // namespace

Action add_predict_step(CLI::App& app) {
  auto options = std::make_shared<PredictOptions>();
  add_machine(app, options->request);
  add_settings(app, options->request);
  CLI::Option* fit = app.add_flag(
      "--fit-batch", options->fit_batch,
      "the largest batch that fits, whether or not it divides the step, and by what margin");
  CLI::Option* mesh =
      app.add_option("--mesh", options->mesh.mesh,
                     "a step of BASE on ranks that share it, as a suite's /devices/mesh: dp=4, "
                     "fsdp=4,param=bf16, dp=2,fsdp=2,shard=hybrid, pp=4,schedule=gpipe, "
                     "dp=2,tp=2,pp=2, or JSON")
          ->type_name("KEY=N")
          ->excludes(fit);
  app.add_option("--lora-rank", options->mesh.lora_rank,
                 "with --mesh: rank of adapters; all else is frozen")
      ->type_name("INT")
      ->needs(mesh);
  CLI::Option* against =
      app.add_option("--against", options->against,
                     "the same on another device, and how much longer this one takes")
          ->type_name("DEVICE")
          ->excludes(fit);
  app.add_option("--plot", options->plot,
                 "also draw what holds a card's memory over the step, into FILE.svg or FILE.pdf")
      ->type_name("FILE")
      ->excludes(fit)
      ->excludes(mesh);
  CLI::Option* trace =
      app.add_option("--trace", options->trace,
                     "also write the steady step of a card (of Megatron's models: of the stages) "
                     "as a trace for Perfetto and chrome://tracing")
          ->type_name("FILE")
          ->excludes(fit);
  app.add_flag("--json", options->json, "JSON on stdout");
  add_constants(app, options->validate);
  add_megatron(app, options->megatron);
  CLI::Option* const of_one_step[] = {fit, mesh, against, trace};
  add_older_spellings(app, *options, of_one_step);
  app.footer(std::string(kClosedForm) +
             "\"borderline\": 2 % more or less memory would change the answer.\n"
             "Exit codes: 0 it fits, 4 it does not (with the device's own message and the largest "
             "batch that fits) or a plot was not drawn, 64 bad usage.");
  return [options] { return predict_verb(*options); };
}

Action add_predict_sweep(CLI::App& app) {
  auto options = std::make_shared<PredictOptions>();
  app.add_option(
         "SWEEPS", options->sweeps,
         "FIELD=a,b,c, a flag and its values: cards=1,2,4,8 or device=ascend_910b3,h100_sxm; of "
         "Megatron's models also tp, pp, vpp, optimizer; several: their grid")
      ->required();
  add_machine(app, options->request);
  add_settings(app, options->request);
  app.add_option("--plot", options->plot, "also draw it into FILE.svg or FILE.pdf")
      ->type_name("FILE");
  CLI::Option* csv = app.add_flag("--csv", options->csv, "CSV on stdout");
  app.add_flag("--json", options->json, "JSON on stdout")->excludes(csv);
  add_constants(app, options->validate);
  add_megatron(app, options->megatron);
  app.footer(std::string(kClosedForm) +
             "A value that cannot be is a row that says why. Exit codes: 0 shown, 4 a plot was not "
             "drawn, 64 bad usage.");
  return [options] { return predict_verb(*options); };
}

Action add_predict_claims(CLI::App& app) {
  auto options = std::make_shared<PredictOptions>();
  app.add_option("TABLE", options->claims,
                 "a file that npubench audit reads, or published:NAME (npubench list published)")
      ->required();
  add_machine(app, options->request);
  add_settings(app, options->request);
  app.add_flag("--json", options->json, "JSON on stdout");
  add_constants(app, options->validate);
  add_megatron(app, options->megatron);
  app.footer(
      "Rates, memory and times of the table stand beside what the device would take: plausible, "
      "low, high or impossible, and why. Rows name a depth, or --model a job of Megatron's kind. "
      "Exit codes: 0 judged, 64 bad usage or a table without such rows.");
  return [options] { return predict_verb(*options); };
}

Action add_predict_validate(CLI::App& app) {
  auto options = std::make_shared<PredictOptions>();
  ValidateOptions& validate = options->validate;
  validate.validate = true;
  app.add_option("--calibration", validate.rows_dir,
                 "a FILE of npubench profile --fit: what its constants do to the rows of that "
                 "machine; or a DIR of rows in place of those built in (model/device/calibration)")
      ->type_name("FILE|DIR");
  app.add_option("--rows", validate.csv, "all rows into this CSV file")->type_name("FILE");
  app.add_option("--plots", validate.plots, "residuals as SVG into this folder")->type_name("DIR");
  app.add_flag("--json", options->json, "JSON on stdout");
  app.footer("Exit codes: 0 every figure holds, 4 one does not, 64 bad rows.");
  return [options] { return predict_verb(*options); };
}

Action add_predict_calibrate(CLI::App& app) {
  auto options = std::make_shared<PredictOptions>();
  CalibrateOptions& calibrate = options->calibrate;
  calibrate.calibrate = true;
  app.add_option("--calibration", options->validate.rows_dir,
                 "rows in place of those built in (model/device/calibration)")
      ->type_name("DIR");
  app.add_option("--family", calibrate.families,
                 "this family only, by name or the path of its .json; may be given again")
      ->type_name("NAME");
  app.add_option("--out", calibrate.out,
                 "write the fitted files into this folder (model/device/families of the sources)")
      ->type_name("DIR");
  app.add_flag("--json", options->json, "JSON on stdout");
  app.footer(
      "Exit codes: 0 fitted, 4 a constant stands at its bound, which is a failure of the model "
      "(then no file is written), 64 bad rows.");
  return [options] { return predict_verb(*options); };
}

}  // namespace nb::cli
