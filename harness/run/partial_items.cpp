#include "harness/run/partial_items.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "harness/base/fs.hpp"
#include "harness/run/node_state.hpp"

namespace nb {
namespace {

// "<task>", as items_file() spells it.
std::string stem_of(std::string_view task) {
  return fs::path(items_file(std::string(task))).stem().string();
}

}  // namespace

PartialItems::PartialItems(fs::path folder, std::int64_t shard, std::int64_t shards)
    : folder_(std::move(folder) / kPartialFolder), shard_(shard), shards_(shards) {}

std::string PartialItems::own_ending() const {
  return fmt::format(".{}-of-{}.jsonl", shard_, shards_);
}

fs::path PartialItems::file(std::string_view task) const {
  return folder_ / (stem_of(task) + own_ending());
}

std::vector<fs::path> PartialItems::files() const {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == ".jsonl") files.push_back(at->path());
  std::sort(files.begin(), files.end());
  return files;
}

Result<std::vector<ItemRecord>> PartialItems::read(std::string_view task) const {
  std::vector<ItemRecord> all;
  std::unordered_set<std::string> seen;
  for (const fs::path& path : files()) {
    if (!path.filename().string().starts_with(stem_of(task) + ".")) continue;
    NB_TRY(std::string text, read_file(path));
    const std::size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
    if (whole < text.size()) {
      text.resize(whole);
      if (path == file(task)) NB_TRY_VOID(write_file(path, text));
    }
    if (text.empty()) continue;
    auto items = parse_items(text, path.string());
    if (!items)
      return bad_input(items.error().message + "; the file is damaged, start over with --fresh");
    for (ItemRecord& item : *items)
      if (seen.insert(item.id).second) all.push_back(std::move(item));
  }
  return all;
}

Result<void> PartialItems::append(std::string_view task, const ItemRecord& item) const {
  NB_TRY(const std::string line, items_text({item}));
  const auto written = append_file(file(task), line);
  if (written) return {};
  return tl::unexpected<Error>(
      {written.error().code, written.error().message + "; the same command resumes at this item"});
}

Result<void> PartialItems::remove() const {
  std::error_code error;
  fs::remove_all(folder_, error);
  if (error)
    return run_error(fmt::format("cannot remove {}: {}", folder_.string(), error.message()));
  return {};
}

Result<void> PartialItems::begin_again() const {
  if (shards_ == 1) return remove();
  const std::string same_number = fmt::format("-of-{}.jsonl", shards_);
  for (const fs::path& path : files()) {
    const std::string name = path.filename().string();
    if (name.ends_with(same_number) && !name.ends_with(own_ending())) continue;
    std::error_code error;
    fs::remove(path, error);
    if (error)
      return run_error(fmt::format("cannot remove {}: {}", path.string(), error.message()));
  }
  return {};
}

bool PartialItems::has_own() const {
  const auto all = files();
  return std::any_of(all.begin(), all.end(), [ending = own_ending()](const fs::path& path) {
    return path.filename().string().ends_with(ending);
  });
}

void PartialItems::attach(EvalContext& context) const {
  context.shard = shard_;
  context.shards = shards_;
  context.done = [this](std::string_view task) { return read(task); };
  context.sink = [this](std::string_view task, const ItemRecord& item) {
    return append(task, item);
  };
}

}  // namespace nb
