#include "model/data/loader.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/check.hpp"
#include "harness/base/fields.hpp"

namespace nb {
namespace {

// What a checkpoint keeps of a loader.
struct LoaderState {
  std::vector<std::string> shards;  // their checksums
  std::int64_t rank = 0, world = 0, row_group_documents = 0;
  std::int64_t epoch = 0, range = 0, offset = 0;
  FieldList fields() {
    return {{"shards", "checksums of the token shards", &shards, {.required = true}},
            {"rank", "of this loader", &rank, {.required = true}},
            {"world", "number of loaders", &world, {.required = true}},
            {"row_group_documents", "unit of striding", &row_group_documents, {.required = true}},
            {"epoch", "passes ended", &epoch, {.min = 0, .required = true}},
            {"range", "row group of this rank", &range, {.min = 0, .required = true}},
            {"offset", "token in the row group", &offset, {.min = 0, .required = true}}};
  }
};

std::vector<std::string> checksums(std::span<const TokenShard> shards) {
  std::vector<std::string> all;
  for (const TokenShard& shard : shards) all.push_back(shard.sha256());
  return all;
}

}  // namespace

Result<TokenLoader> TokenLoader::create(std::span<const TokenShard> shards,
                                        const LoaderSettings& settings) {
  NB_CHECK(settings.world >= 1 && settings.rank >= 0 && settings.rank < settings.world &&
               settings.row_group_documents >= 1,
           "[loader] rank {} of {}, row groups of {} documents", settings.rank, settings.world,
           settings.row_group_documents);
  TokenLoader loader;
  loader.shards_ = shards;
  loader.settings_ = settings;
  const auto group = static_cast<std::uint64_t>(settings.row_group_documents);
  std::uint64_t groups = 0;
  for (std::size_t s = 0; s < shards.size(); ++s) {
    const std::uint64_t documents = shards[s].documents();
    const std::uint64_t count = (documents + group - 1) / group;
    groups += count;
    for (auto g = static_cast<std::uint64_t>(settings.rank); g < count;
         g += static_cast<std::uint64_t>(settings.world)) {
      const Range range = {s, shards[s].document_start(g * group),
                           shards[s].document_start(std::min(documents, (g + 1) * group))};
      if (range.begin == range.end) continue;
      loader.ranges_.push_back(range);
      loader.total_ += range.end - range.begin;
    }
  }
  if (loader.total_ == 0)
    return bad_input(
        fmt::format("loader: rank {} of {} gets no tokens from {} row groups of {} documents; give "
                    "more text or a smaller row_group_documents",
                    settings.rank, settings.world, groups, settings.row_group_documents));
  return loader;
}

void TokenLoader::take(std::span<int> out) {
  while (!out.empty()) {
    const Range& range = ranges_[range_];
    const std::uint64_t left = range.end - range.begin - offset_;
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left, out.size()));
    shards_[range.shard].copy(range.begin + offset_, out.first(count));
    out = out.subspan(count);
    offset_ += count;
    if (count < left) continue;
    offset_ = 0;
    range_ = range_ + 1 == ranges_.size() ? 0 : range_ + 1;
    if (range_ == 0) ++epoch_;
  }
}

Batch TokenLoader::next(std::int64_t rows, std::int64_t length) {
  NB_CHECK(rows >= 1 && length >= 1, "[loader] a batch of {} rows of {}", rows, length);
  const auto count = static_cast<std::size_t>(rows * length);
  std::vector<int> tokens(count + 1);
  take(tokens);
  Batch batch{rows, length, {}, {}};
  batch.targets.assign(tokens.begin() + 1, tokens.end());
  tokens.pop_back();
  batch.inputs = std::move(tokens);
  return batch;
}

Json TokenLoader::state() const {
  return print_struct(LoaderState{
      checksums(shards_), settings_.rank, settings_.world, settings_.row_group_documents, epoch_,
      static_cast<std::int64_t>(range_), static_cast<std::int64_t>(offset_)});
}

Result<void> TokenLoader::restore(const Json& state) {
  NB_TRY(const LoaderState saved, parse_struct<LoaderState>(state, "loader state"));
  if (saved.shards != checksums(shards_))
    return bad_input(
        "loader state: /shards: other token shards; resume with the data that it was saved with");
  if (saved.rank != settings_.rank || saved.world != settings_.world ||
      saved.row_group_documents != settings_.row_group_documents)
    return bad_input(
        fmt::format("loader state: saved by rank {} of {} with row groups of {}, this is rank {} "
                    "of {} with {}",
                    saved.rank, saved.world, saved.row_group_documents, settings_.rank,
                    settings_.world, settings_.row_group_documents));
  const auto range = static_cast<std::size_t>(saved.range);
  const auto offset = static_cast<std::uint64_t>(saved.offset);
  if (range >= ranges_.size() || offset >= ranges_[range].end - ranges_[range].begin)
    return bad_input(
        fmt::format("loader state: /offset: no token {} in row group {}", offset, range));
  epoch_ = saved.epoch;
  range_ = range;
  offset_ = offset;
  return {};
}

}  // namespace nb
