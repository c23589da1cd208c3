#include "harness/run/stage_metrics.hpp"
#include "harness/run/stages.hpp"
#include "model/data/corpus.hpp"
#include "model/data/token_shards.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace nb {
namespace {

Result<void> encode_split(const std::string& split, const Tokenizer& tokenizer,
                          const StageContext& context, Record& record) {
  const auto source = context.parent(NodeKind::kDataset).folder / (split + ".jsonl");
  NB_TRY(const Documents documents, read_documents(source, /*document_chars=*/0));
  const TokenShard shard = TokenShard::encode(documents.texts, tokenizer);
  const std::string file = split + ".tokens";
  NB_TRY_VOID(shard.write(context.folder / file));
  record.metrics.push_back(
      counted(split + "_tokens", static_cast<double>(shard.tokens()), "token"));
  record.artifacts[file] = "";
  return {};
}

}  // namespace

Result<void> run_shards(const ShardsWork&, const StageContext& context, Record& record) {
  NB_TRY(const Tokenizer tokenizer,
         Tokenizer::load(context.parent(NodeKind::kTokenizer).folder / "tokenizer.json"));
  NB_TRY_VOID(encode_split("train", tokenizer, context, record));
  NB_TRY_VOID(encode_split("val", tokenizer, context, record));
  return {};
}

}  // namespace nb
