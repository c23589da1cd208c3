#include "harness/plan/conversation_files.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "evals/data/manifest.hpp"
#include "harness/base/check.hpp"
#include "harness/base/hash.hpp"

namespace nb {
namespace {

namespace fs = std::filesystem;

Result<TextFile> own_file(const std::string& name, const std::string& where) {
  std::error_code error;
  if (!fs::is_regular_file(name, error))
    return bad_input(fmt::format("{}: {}: no such file", where, name));
  NB_TRY(std::string digest, sha256_file(name));
  return TextFile{name, name, std::move(digest), false, fs::file_size(name, error)};
}

}  // namespace

Result<std::vector<TextFile>> find_conversation_files(const MixtureTask& task,
                                                      const fs::path& data_dir,
                                                      const std::string& where) {
  std::vector<TextFile> files;
  if (is_of_microworld(task)) return files;
  if (!task.file.empty()) {
    NB_TRY(TextFile file, own_file(task.file, where));
    files.push_back(std::move(file));
    return files;
  }
  const ConversationTaskInfo* info = find_conversation_task(task_of_answers(task).task);
  NB_CHECK(info != nullptr, "[conversations] {} of a checked mixture", task.task);
  const std::string_view name = task.split == "train" ? info->train : info->test;
  const DataFile* file = data_manifest().find(name);
  NB_CHECK(file != nullptr, "[conversations] {} is not in the data manifest", name);
  const std::string digest = file->sha256.empty() ? "git:" + file->git_blob : file->sha256;
  files.push_back({file->name, data_dir / file->path, digest, true, file->size_bytes});
  return files;
}

Result<std::vector<TextFile>> find_conversation_files(const Mixture& mixture,
                                                      const fs::path& data_dir,
                                                      const std::string& where) {
  std::vector<TextFile> all;
  for (const std::vector<MixtureTask>* tasks : {&mixture.train, &mixture.validation})
    for (const MixtureTask& task : *tasks) {
      NB_TRY(std::vector<TextFile> files, find_conversation_files(task, data_dir, where));
      for (TextFile& file : files)
        if (std::ranges::find(all, file.name, &TextFile::name) == all.end())
          all.push_back(std::move(file));
    }
  return all;
}

}  // namespace nb
