#include "harness/run/stage_metrics.hpp"
#include "harness/run/stages.hpp"
#include "model/data/corpus.hpp"
#include "model/tokenizer/tokenizer.hpp"
#include "model/tokenizer/train_tokenizer.hpp"

namespace nb {
namespace {

Result<std::vector<std::string>> read_split(const StageContext& context, const char* file) {
  const auto path = context.parent(NodeKind::kDataset).folder / file;
  NB_TRY(Documents documents, read_documents(path, /*document_chars=*/0));
  return std::move(documents.texts);
}

}  // namespace

Result<void> run_tokenizer(const TokenizerWork& work, const StageContext& context, Record& record) {
  NB_TRY(const std::vector<std::string> documents, read_split(context, "train.jsonl"));
  NB_TRY(const Tokenizer tokenizer, train_tokenizer(documents, work.tokenizer));
  NB_TRY_VOID(tokenizer.save(context.folder / "tokenizer.json"));

  // Compression on text that it was not trained on.
  NB_TRY(const std::vector<std::string> held_out, read_split(context, "val.jsonl"));
  double bytes = 0;
  double tokens = 0;
  for (const std::string& document : held_out) bytes += static_cast<double>(document.size());
  for (const std::vector<int>& ids : tokenizer.encode_batch(held_out))
    tokens += static_cast<double>(ids.size());
  const Metric ratio = counted("val_bytes_per_token", tokens > 0 ? bytes / tokens : 0, "byte/token",
                               Direction::kHigher, static_cast<std::int64_t>(tokens));
  record.metrics.push_back(tokens > 0 ? ratio : unmeasured(ratio, "no text is held out"));
  record.subject["tokenizer"] = tokenizer.hash();
  record.artifacts = {{"tokenizer.json", ""}};
  return {};
}

}  // namespace nb
