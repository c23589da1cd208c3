// Conversations of a chat stage: every task's, shuffled (but for those that keep the order of their
// file) and cut, then mixed as nanochat mixes them (tasks/common.py), one per line.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/table.hpp"
#include "harness/plan/conversation_files.hpp"
#include "harness/run/stage_metrics.hpp"
#include "harness/run/stages.hpp"
#include "model/data/microworld_chat.hpp"
#include "model/data/tasks/conversation_json.hpp"
#include "model/data/tasks/gsm8k.hpp"
#include "model/data/tasks/multiple_choice.hpp"
#include "model/data/tasks/preference.hpp"
#include "model/data/tasks/spelling.hpp"
#include "model/data/tasks/task_view.hpp"
#include "model/data/tasks/word_list.hpp"

namespace nb {
namespace {

TaskSlice slice_of(const MixtureTask& task) {
  TaskSlice slice;
  slice.start = static_cast<std::size_t>(task.start.value_or(0));
  if (task.stop) slice.stop = static_cast<std::size_t>(*task.stop);
  return slice;
}

// Tasks whose conversations are made by their index: the slice is of indices.
Result<ConversationTask> by_index(const MixtureTask& task,
                                  std::function<Conversation(std::size_t)> at) {
  NB_TRY(auto places, slice_view(static_cast<std::size_t>(*task.size), slice_of(task)), task.task);
  const std::size_t size = places.size();
  return ConversationTask{task.task, size,
                          [places = std::move(places), at = std::move(at)](std::size_t place) {
                            return at(places.at(place));
                          }};
}

template <class Items>
Result<ConversationTask> of_items(const MixtureTask& task, Result<Items> items) {
  if (!items) return tl::unexpected<Error>(items.error());
  const ConversationTaskInfo* info = find_conversation_task(task.task);
  const bool keeps_order = info != nullptr && info->keeps_order;
  return conversation_task(task.task, std::move(*items), slice_of(task),
                           keeps_order ? RowOrder::kOfTheFile : RowOrder::kShuffled);
}

// From one file: a line for every name of conversation_tasks().
Result<ConversationTask> open_file_task(const MixtureTask& task, const fs::path& file) {
  if (task.task.starts_with("arc_")) return of_items(task, read_arc(file));
  if (task.task == "mmlu") return of_items(task, read_mmlu(file));
  if (task.task == "gsm8k") return of_items(task, read_gsm8k(file));
  const SpellingSplit split = task.split == "train" ? SpellingSplit::kTrain : SpellingSplit::kTest;
  if (task.task == "spellingbee") {
    NB_TRY(auto words, read_word_list(file));
    return by_index(task, [words = std::move(words), split](std::size_t i) {
      return conversation_of(spelling_bee_item(words, split, i));
    });
  }
  if (task.task == "simple_spelling") {
    NB_TRY(const auto words, read_word_list(file));
    return by_index(task, [words = simple_spelling_words(words), split](std::size_t i) {
      return simple_spelling(words, split, i);
    });
  }
  return of_items(task, read_conversations(file));
}

// The task's file, as it was when the run was planned.
Result<fs::path> checked_file(const MixtureTask& task, const ConversationsWork& work,
                              const StageContext& context) {
  NB_TRY(const std::vector<TextFile> files,
         find_conversation_files(task, context.data_dir, "suite"));
  for (const TextFile& file : files)
    if (const auto planned = work.file_digests.find(file.name);
        planned == work.file_digests.end() || planned->second != file.digest)
      return bad_input(
          fmt::format("{}: changed after the run was planned; run again", file.path.string()));
  NB_TRY_VOID(check_text_files(files, context.data_dir));
  return files.front().path;
}

Result<ConversationTask> open_task(const MixtureTask& task, const ConversationsWork& work,
                                   const StageContext& context) {
  if (is_of_microworld(task)) {
    NB_TRY(ConversationTask all,
           microworld_conversations(*work.microworld, task.task,
                                    task.split == "train" ? WorldSplit::kTrain : WorldSplit::kTest,
                                    static_cast<std::size_t>(*task.size)));
    return by_index(task, std::move(all.at));
  }
  NB_TRY(const fs::path file, checked_file(task, work, context));
  return open_file_task(task, file);
}

// What is written of a task: a line for every place.
struct Lines {
  std::size_t size = 0;
  std::function<Result<Json>(std::size_t place)> at;
};

Result<Lines> own_preferences(const MixtureTask& task, const fs::path& file) {
  NB_TRY(auto pairs, read_preferences(file));
  NB_TRY(auto rows, task_view(pairs.size(), slice_of(task)), task.task);
  const std::size_t size = rows.size();
  return Lines{
      size, [pairs = std::move(pairs), rows = std::move(rows)](std::size_t place) -> Result<Json> {
        return preference_json(pairs[rows.at(place)]);
      }};
}

Result<Lines> open_lines(const MixtureTask& task, const ConversationsWork& work,
                         const StageContext& context) {
  if (task.task == "preferences") {
    NB_TRY(const fs::path file, checked_file(task, work, context));
    return own_preferences(task, file);
  }
  NB_TRY(ConversationTask opened, open_task(task_of_answers(task), work, context));
  const std::size_t size = opened.size;
  if (!is_of_pairs(task))
    return Lines{size, [at = std::move(opened.at)](std::size_t place) -> Result<Json> {
                   return conversation_json(at(place));
                 }};
  return Lines{size,
               [at = std::move(opened.at), name = task.task](std::size_t place) -> Result<Json> {
                 const auto pair = spoiled(at(place), place);
                 if (pair) return preference_json(*pair);
                 return bad_input(fmt::format(
                     "{}: row {}: neither a letter nor a whole number in its answer", name, place));
               }};
}

Result<void> write_mixture(const std::vector<MixtureTask>& tasks, const std::string& split,
                           const ConversationsWork& work, const StageContext& context,
                           Record& record) {
  const bool is_pairs = work.stage == "dpo";
  std::vector<Lines> opened;
  std::vector<std::size_t> sizes;
  for (const MixtureTask& task : tasks) {
    NB_TRY(const Lines one, open_lines(task, work, context), split);
    context.log(fmt::format(
        "{}: {}: {}{}", split, task.task,
        count_text(static_cast<std::int64_t>(one.size), is_pairs ? "pair" : "conversation"),
        task.times > 1 ? fmt::format(", {} times", task.times) : ""));
    for (std::int64_t i = 0; i < task.times; ++i) {
      opened.push_back(one);
      sizes.push_back(one.size);
    }
  }
  const std::string file = split + ".jsonl";
  NB_TRY(FileWriter writer, FileWriter::create(context.folder / file));
  Sha256 hash;
  const std::vector<MixtureEntry> entries = task_mixture(sizes);
  for (const MixtureEntry& entry : entries) {
    NB_TRY(const Json row, opened[entry.task].at(entry.index), split);
    NB_TRY(std::string line, dump_json(row, /*indent=*/-1), file);
    line += '\n';
    hash.update(line);
    NB_TRY_VOID(writer.write(line));
  }
  NB_TRY_VOID(writer.commit());
  record.metrics.push_back(counted(split + (is_pairs ? "_pairs" : "_conversations"),
                                   static_cast<double>(entries.size()), "1"));
  record.subject[split == "train" ? "conversations" : "validation_conversations"] = hash.hex();
  record.artifacts[file] = "";
  return {};
}

}  // namespace

Result<void> run_conversations(const ConversationsWork& work, const StageContext& context,
                               Record& record) {
  NB_TRY_VOID(write_mixture(work.mixture.train, "train", work, context, record));
  return write_mixture(work.mixture.validation, "validation", work, context, record);
}

}  // namespace nb
