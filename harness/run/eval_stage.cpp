#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "evals/evaluate.hpp"
#include "harness/base/fs.hpp"
#include "harness/faults/faults.hpp"
#include "harness/run/checkpoint_digest.hpp"
#include "harness/run/device_card.hpp"
#include "harness/run/eval_progress.hpp"
#include "harness/run/partial_items.hpp"
#include "harness/run/ported_model.hpp"
#include "harness/run/stages.hpp"
#include "harness/run/training_history.hpp"
#include "harness/run/write_evaluation.hpp"
#include "model/decoder/decoder.hpp"
#include "model/device/device.hpp"
#include "model/tokenizer/tokenizer.hpp"
#include "model/train/adapter_file.hpp"
#include "model/train/checkpoint.hpp"
#include "model/train/safetensors.hpp"
#include "results/store/store.hpp"

namespace nb {
namespace {

Result<EvalContext> make_context(const EvalWork& work, const StageContext& context,
                                 const PortDefects& defects) {
  EvalContext eval;
  eval.settings = work.evaluation.settings;
  eval.data_dir = context.data_dir;
  eval.file_digests = work.file_digests;
  if (work.microworld) eval.microworld = *work.microworld;
  if (!work.faults.empty()) {
    NB_TRY(std::vector<Fault> faults, parse_faults(work.faults, "fault"));
    eval.fault = scorer_faults(std::move(faults));
    context.log(fmt::format("planted fault: {}", fmt::join(work.faults, ", ")));
  }
  if (defects.has(PortDefect::kEvaluatorFallback)) eval.asked_instead = first_half_twice;
  return eval;
}

// The training whose checkpoint is evaluated, and the folder of its tokenizer.
struct Evaluated {
  ParentRun training;
  fs::path tokenizer;
};

Result<Evaluated> evaluated_by(const EvalWork& work, const StageContext& context) {
  if (!work.finished)
    return Evaluated{context.parent(NodeKind::kTrain), context.parent(NodeKind::kTokenizer).folder};
  // Nobody has looked at another run's files since it ended.
  const FinishedTraining& finished = *work.finished;
  for (const std::string& folder : {finished.folder, finished.tokenizer_folder}) {
    NB_TRY(Record record, read_record(folder));
    NB_TRY_VOID(verify_artifacts({std::move(record), folder}));
  }
  NB_TRY(Record record, read_record(finished.folder));
  return Evaluated{{NodeKind::kTrain, finished.folder, std::move(record)},
                   finished.tokenizer_folder};
}

}  // namespace

Result<void> run_eval(const EvalWork& work, const StageContext& context, Record& record) {
  NB_TRY(const ResolvedDevice resolved, resolve_device(work.device, "device"));
  const PortDefects defects = tell_defects(context);
  NB_TRY(const Evaluated evaluated, evaluated_by(work, context));
  const ParentRun& trained = evaluated.training;
  if (work.finished) record.parents = {work.finished->key, work.finished->tokenizer_key};
  NB_TRY(Tokenizer tokenizer, Tokenizer::load(evaluated.tokenizer / "tokenizer.json"));
  if (defects.has(PortDefect::kTokenizerMismatch)) {
    NB_TRY(tokenizer, with_last_merges_reversed(tokenizer));
  }
  NB_TRY(const std::string file,
         checkpoint_file(trained.record, work.step, trained.folder.string()));
  NB_TRY(const SafetensorsFile checkpoint, SafetensorsFile::open(trained.folder / file));
  NB_TRY(EvalContext eval, make_context(work, context, defects));

  Device device(resolved.profile, ExecutionMode::kExecute);
  NB_TRY(const DecoderConfig config, read_model_config(checkpoint));
  Decoder decoder(config, device);
  NB_TRY_VOID(load_model(checkpoint, decoder));
  ScoreBatching batching;
  batching.max_rows = work.evaluation.batch_size;
  const auto model = ported_model(decoder, tokenizer, batching, defects);

  EvalProgress progress(context.node.name);
  eval.progress = std::ref(progress);
  const PartialItems partial(context.folder, context.node.key, /*shard=*/0, /*shards=*/1,
                             context.warn);
  partial.attach(eval);
  NB_TRY(const std::vector<EvalResult> results, evaluate(eval, *model));

  describe_device(resolved, uses_of(results), /*cards=*/1, record);
  record.trained_on = trained.record.device;
  NB_TRY(record.checkpoint, training_history(checkpoint, &trained.record));
  NB_TRY(record.subject["weights"], weights_digest(checkpoint));
  return write_evaluation(results, context.folder, record);
}

}  // namespace nb
