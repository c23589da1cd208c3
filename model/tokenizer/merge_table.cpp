#include "model/tokenizer/merge_table.hpp"

#include <queue>
#include <utility>

#include "harness/base/check.hpp"

namespace nb {
namespace {

constexpr std::size_t kShortPiece = 64;
constexpr std::uint32_t kNone = PairMap::kNone;

}  // namespace

MergeTable::MergeTable(const Vocabulary& vocabulary, const ByteMap& tokens)
    : pairs_(vocabulary.tokens.size() * 3) {
  const std::vector<bool> is_byte_id = byte_id_flags(vocabulary);
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (is_byte_id[id]) continue;
    const std::string_view token = vocabulary.tokens[id];
    if (token.size() == 1) {
      byte_ids_[static_cast<unsigned char>(token[0])] = static_cast<std::uint32_t>(id);
    }
    for (std::size_t cut = 1; cut < token.size(); ++cut) {
      const std::uint32_t left = tokens.find(token.substr(0, cut));
      if (left == ByteMap::kNone) continue;
      const std::uint32_t right = tokens.find(token.substr(cut));
      if (right == ByteMap::kNone) continue;
      pairs_.at(left, right, static_cast<std::uint32_t>(id));
    }
  }
}

void MergeTable::merge(std::string_view piece, std::vector<int>& ids) const {
  if (piece.size() <= kShortPiece) return merge_short(piece, ids);
  std::vector<std::uint32_t> parts;
  parts.reserve(piece.size());
  for (const char byte : piece) parts.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
  merge_parts(parts, ids);
}

void MergeTable::merge_short(std::string_view piece, std::vector<int>& ids) const {
  std::array<std::uint32_t, kShortPiece> parts;
  std::array<std::uint32_t, kShortPiece> merged;  // of part i with part i + 1
  std::size_t count = piece.size();
  for (std::size_t i = 0; i < count; ++i)
    parts[i] = byte_ids_[static_cast<unsigned char>(piece[i])];
  for (std::size_t i = 0; i + 1 < count; ++i) merged[i] = pairs_.find(parts[i], parts[i + 1]);
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i)
      if (merged[i] < merged[best]) best = i;
    if (merged[best] == kNone) break;
    parts[best] = merged[best];
    for (std::size_t i = best + 1; i + 1 < count; ++i) {
      parts[i] = parts[i + 1];
      merged[i] = merged[i + 1];
    }
    --count;
    merged[best] = best + 1 < count ? pairs_.find(parts[best], parts[best + 1]) : kNone;
    if (best > 0) merged[best - 1] = pairs_.find(parts[best - 1], parts[best]);
  }
  for (std::size_t i = 0; i < count; ++i) ids.push_back(static_cast<int>(parts[i]));
}

void MergeTable::merge_parts(std::span<const std::uint32_t> begin, std::vector<int>& ids) const {
  if (begin.empty()) return;
  NB_CHECK(begin.size() < kNone, "[tokenizer] a piece of {} parts", begin.size());
  struct Part {
    std::uint32_t id;
    std::uint32_t merged;  // with the next part
    std::uint32_t previous, next;
  };
  const auto count = static_cast<std::uint32_t>(begin.size());
  std::vector<Part> parts(count);
  // Merged id, position: the lowest id first, then the leftmost.
  using Candidate = std::pair<std::uint32_t, std::uint32_t>;
  std::vector<Candidate> first;
  for (std::uint32_t i = 0; i < count; ++i)
    parts[i] = {begin[i], kNone, i == 0 ? kNone : i - 1, i + 1 == count ? kNone : i + 1};
  for (std::uint32_t i = 0; i + 1 < count; ++i) {
    parts[i].merged = pairs_.find(parts[i].id, parts[i + 1].id);
    if (parts[i].merged != kNone) first.emplace_back(parts[i].merged, i);
  }
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> heap(std::greater<>{},
                                                                              std::move(first));
  const auto refresh = [&](std::uint32_t i) {
    Part& part = parts[i];
    part.merged = part.next == kNone ? kNone : pairs_.find(part.id, parts[part.next].id);
    if (part.merged != kNone) heap.emplace(part.merged, i);
  };
  while (!heap.empty()) {
    const auto [merged, i] = heap.top();
    heap.pop();
    Part& part = parts[i];
    if (part.merged != merged) continue;  // changed or swallowed since
    Part& gone = parts[part.next];
    part.id = merged;
    part.next = gone.next;
    gone.merged = kNone;
    if (part.next != kNone) parts[part.next].previous = i;
    refresh(i);
    if (part.previous != kNone) refresh(part.previous);
  }
  for (std::uint32_t i = 0; i != kNone; i = parts[i].next)
    ids.push_back(static_cast<int>(parts[i].id));
}

}  // namespace nb
