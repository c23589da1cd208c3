#include "harness/run/partial_items.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/table.hpp"
#include "harness/run/node_state.hpp"

namespace nb {
namespace {

constexpr std::size_t kChecksumDigits = 16;

// "<task>", as items_file() spells it.
std::string stem_of(std::string_view task) {
  return fs::path(items_file(std::string(task))).stem().string();
}

}  // namespace

PartialItems::PartialItems(fs::path folder, std::string node_key, std::int64_t shard,
                           std::int64_t shards, std::function<void(const std::string&)> warn)
    : folder_(std::move(folder) / kPartialFolder),
      node_key_(std::move(node_key)),
      shard_(shard),
      shards_(shards),
      warn_(std::move(warn)) {}

std::string PartialItems::checksum(std::string_view task, std::string_view item) const {
  Sha256 hash;
  update_netstring(hash, node_key_);
  update_netstring(hash, stem_of(task));
  hash.update(item);
  return hash.hex().substr(0, kChecksumDigits);
}

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

Result<PartialItems::Lines> PartialItems::lines_of(std::string_view task, const fs::path& path,
                                                   std::string_view text) const {
  Lines lines;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    ++lines.total;
    const bool is_whole =
        end < text.size() && line.size() > kChecksumDigits && line[kChecksumDigits] == ' ' &&
        line.substr(0, kChecksumDigits) == checksum(task, line.substr(kChecksumDigits + 1));
    if (!is_whole) {
      ++lines.damaged;
      continue;
    }
    NB_TRY(ItemRecord item, parse_item(line.substr(kChecksumDigits + 1),
                                       fmt::format("{}:{}", path.string(), lines.total)));
    lines.items.push_back(std::move(item));
    lines.good.append(line).append("\n");
  }
  return lines;
}

Result<std::vector<ItemRecord>> PartialItems::read(std::string_view task) const {
  std::vector<ItemRecord> all;
  std::unordered_set<std::string> seen;
  for (const fs::path& path : files()) {
    if (!path.filename().string().starts_with(stem_of(task) + ".")) continue;
    const bool is_own = path == file(task);
    NB_TRY(std::string text, read_file(path));
    // Another process may be writing what has no end yet.
    if (!is_own) text.resize(text.rfind('\n') == text.npos ? 0 : text.rfind('\n') + 1);
    NB_TRY(Lines lines, lines_of(task, path, text));
    if (lines.damaged > 0 && told_.insert(path).second)
      warn_(fmt::format(
          "{}: of {} {} {} damaged, cut short or of another evaluation; {}", path.string(),
          count_text(static_cast<long long>(lines.total), "line"), lines.damaged,
          lines.damaged == 1 ? "is" : "are",
          is_own ? "their items are evaluated again" : "their items count as not evaluated"));
    if (lines.damaged > 0 && is_own) NB_TRY_VOID(write_file(path, lines.good));
    for (ItemRecord& item : lines.items)
      if (seen.insert(item.id).second) all.push_back(std::move(item));
  }
  return all;
}

Result<void> PartialItems::append(std::string_view task, const ItemRecord& item) const {
  NB_TRY(std::string line, items_text({item}));
  line.insert(0, checksum(task, std::string_view(line).substr(0, line.size() - 1)) + " ");
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
