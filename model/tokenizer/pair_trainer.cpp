#include "model/tokenizer/pair_trainer.hpp"

#include <queue>

#include "model/tokenizer/byte_map.hpp"

namespace nb {
namespace {

using Id = std::uint32_t;

struct Pair {
  Id left, right;
  std::int64_t count = 0;
  std::vector<std::uint32_t> pieces;  // those that may hold the pair; some no longer do
};

struct HeapEntry {
  std::int64_t count;  // at least the pair's true count
  Id left, right;
  std::uint32_t pair;
  // Highest count first, then the smallest (left, right).
  bool operator<(const HeapEntry& other) const {
    if (count != other.count) return count < other.count;
    return left != other.left ? left > other.left : right > other.right;
  }
};

class Trainer {
 public:
  explicit Trainer(const std::vector<CountedPiece>& pieces) : pairs_by_ids_(1 << 16) {
    begins_.reserve(pieces.size() + 1);
    for (const CountedPiece& piece : pieces) {
      begins_.push_back(ids_.size());
      counts_.push_back(piece.count);
      lengths_.push_back(static_cast<std::uint32_t>(piece.bytes.size()));
      for (const char c : piece.bytes) ids_.push_back(static_cast<unsigned char>(c));
    }
    for (std::uint32_t p = 0; p < pieces.size(); ++p)
      for (std::uint32_t i = 0; i + 1 < lengths_[p]; ++i)
        add(ids_[begins_[p] + i], ids_[begins_[p] + i + 1], counts_[p], p);
    push_fresh();
  }

  // The pair to merge next; false when none is left.
  bool pop_best(std::uint32_t& best) {
    while (!heap_.empty()) {
      const HeapEntry top = heap_.top();
      heap_.pop();
      const std::int64_t count = pairs_[top.pair].count;
      if (count <= 0) continue;
      if (count == top.count) {
        best = top.pair;
        return true;
      }
      heap_.push({count, top.left, top.right, top.pair});
    }
    return false;
  }

  std::pair<Id, Id> merge(std::uint32_t index, Id fresh) {
    const Id left = pairs_[index].left;
    const Id right = pairs_[index].right;
    const std::vector<std::uint32_t> holders = std::move(pairs_[index].pieces);
    pairs_[index].pieces.clear();
    for (const std::uint32_t piece : holders) merge_in(piece, left, right, fresh);
    push_fresh();
    return {left, right};
  }

 private:
  void add(Id left, Id right, std::int64_t delta, std::uint32_t piece) {
    const auto next = static_cast<std::uint32_t>(pairs_.size());
    const std::uint32_t index = pairs_by_ids_.at(left, right, next);
    if (index == next) pairs_.push_back({left, right, 0, {}});
    Pair& pair = pairs_[index];
    pair.count += delta;
    if (delta > 0 && (pair.pieces.empty() || pair.pieces.back() != piece))
      pair.pieces.push_back(piece);
  }

  // Left to right, without overlap. Only pairs that touch a replaced place change.
  void merge_in(std::uint32_t piece, Id left, Id right, Id fresh) {
    Id* ids = ids_.data() + begins_[piece];
    const std::uint32_t length = lengths_[piece];
    const std::int64_t count = counts_[piece];
    std::uint32_t out = 0;
    for (std::uint32_t i = 0; i < length;) {
      if (i + 1 == length || ids[i] != left || ids[i + 1] != right) {
        ids[out++] = ids[i++];
        continue;
      }
      if (out > 0) {
        add(ids[out - 1], left, -count, piece);
        add(ids[out - 1], fresh, count, piece);
      }
      add(left, right, -count, piece);
      if (i + 2 < length) {
        add(right, ids[i + 2], -count, piece);
        add(fresh, ids[i + 2], count, piece);
      }
      ids[out++] = fresh;
      i += 2;
    }
    lengths_[piece] = out;
  }

  void push_fresh() {
    for (; pushed_ < pairs_.size(); ++pushed_) {
      const Pair& pair = pairs_[pushed_];
      heap_.push({pair.count, pair.left, pair.right, static_cast<std::uint32_t>(pushed_)});
    }
  }

  std::vector<Id> ids_;  // all pieces, each shrinking in its own place
  std::vector<std::size_t> begins_;
  std::vector<std::uint32_t> lengths_;
  std::vector<std::int64_t> counts_;
  std::vector<Pair> pairs_;
  PairMap pairs_by_ids_;
  std::size_t pushed_ = 0;  // pairs that are in the heap
  std::priority_queue<HeapEntry> heap_;
};

}  // namespace

std::vector<std::pair<Id, Id>> train_merges(const std::vector<CountedPiece>& pieces,
                                            std::size_t merges) {
  std::vector<std::pair<Id, Id>> made;
  Trainer trainer(pieces);
  std::uint32_t best = 0;
  while (made.size() < merges && trainer.pop_best(best))
    made.push_back(trainer.merge(best, static_cast<Id>(256 + made.size())));
  return made;
}

}  // namespace nb
