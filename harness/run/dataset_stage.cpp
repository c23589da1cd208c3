#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/table.hpp"
#include "harness/plan/text_sources.hpp"
#include "harness/run/stage_metrics.hpp"
#include "harness/run/stages.hpp"
#include "model/data/corpus.hpp"
#include "model/data/microworld.hpp"

namespace nb {
namespace {

Result<Corpus> generate(const MicroworldSettings& settings) {
  Microworld world = generate_microworld(settings);
  return make_corpus(std::move(world.documents), std::move(world.val_documents));
}

// Documents of all files in the order of the suite, then shuffled and split as one.
Result<Corpus> read_texts(const DatasetWork& work, const StageContext& context) {
  const TextCorpus& text = *work.corpus.text;
  NB_TRY(const std::vector<TextFile> files,
         find_text_files(text.sources, context.data_dir, "suite"));
  for (const TextFile& file : files)
    if (const auto planned = work.file_digests.find(file.name);
        planned == work.file_digests.end() || planned->second != file.digest)
      return bad_input(
          fmt::format("{}: changed after the run was planned; run again", file.path.string()));
  NB_TRY_VOID(check_text_files(files, context.data_dir));
  Documents all;
  for (const TextFile& file : files) {
    NB_TRY(Documents documents, read_documents(file.path, text.split.document_chars));
    context.log(
        fmt::format("{}: {}", file.name, count_text(std::ssize(documents.texts), "document")));
    for (std::string& document : documents.texts) all.texts.push_back(std::move(document));
    all.dropped_empty += documents.dropped_empty;
    all.text_bytes += documents.text_bytes;
  }
  return make_corpus(std::move(all), text.split);
}

Result<void> write_documents(const fs::path& path, const std::vector<std::string>& documents) {
  NB_TRY(FileWriter writer, FileWriter::create(path));
  for (const std::string& document : documents) {
    NB_TRY(const std::string line, dump_json(Json{{"text", document}}, /*indent=*/-1));
    NB_TRY_VOID(writer.write(line + "\n"));
  }
  return writer.commit();
}

void add_counts(const std::string& split, const std::vector<std::string>& documents,
                Record& record) {
  std::uint64_t bytes = 0;
  for (const std::string& document : documents) bytes += document.size();
  record.metrics.push_back(
      counted(split + "_documents", static_cast<double>(documents.size()), "1"));
  record.metrics.push_back(counted(split + "_bytes", static_cast<double>(bytes), "byte"));
}

}  // namespace

Result<void> run_dataset(const DatasetWork& work, const StageContext& context, Record& record) {
  NB_TRY(const Corpus corpus,
         work.corpus.text ? read_texts(work, context) : generate(*work.corpus.microworld));
  NB_TRY_VOID(write_documents(context.folder / "train.jsonl", corpus.train));
  NB_TRY_VOID(write_documents(context.folder / "val.jsonl", corpus.val));
  add_counts("train", corpus.train, record);
  add_counts("val", corpus.val, record);
  record.subject["corpus"] = corpus.sha256;
  record.artifacts = {{"train.jsonl", ""}, {"val.jsonl", ""}};
  return {};
}

}  // namespace nb
