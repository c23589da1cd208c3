#include "model/engine/tree_scorer.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "model/engine/log_probs.hpp"

namespace nb {
namespace {

using SharedCaches = std::vector<std::shared_ptr<const KeyValueCache>>;

// A node whose prefix is in caches; `done` of its tokens are computed.
struct Open {
  std::size_t node = 0;
  std::int64_t done = 0;
  SharedCaches prefix;
  std::shared_ptr<KeyValueCache> own;
};

// A piece of an open node in a forward pass.
struct Piece {
  Open open;
  std::int64_t count = 0;
};

class TreeRun {
 public:
  TreeRun(IncrementalModel& decoder, const PrefixTree& tree, const TreeBatching& batching,
          std::span<ScoreResult> results)
      : decoder_(decoder), tree_(tree), batching_(batching), results_(results) {
    for (auto root = tree.roots.rbegin(); root != tree.roots.rend(); ++root) {
      stack_.push_back({*root, 0, {}, nullptr});
    }
  }

  TreeStats run() {
    while (!stack_.empty()) {
      std::vector<Piece> batch = next_batch();
      forward(batch);
      // The first piece's children end on top: depth first, in the tree's order.
      for (auto piece = batch.rbegin(); piece != batch.rend(); ++piece) finish(std::move(*piece));
    }
    return stats_;
  }

 private:
  std::vector<Piece> next_batch() {
    std::vector<Piece> batch;
    std::int64_t room = batching_.max_tokens;
    while (!stack_.empty() && std::ssize(batch) < batching_.max_chunks) {
      Open& top = stack_.back();
      const PrefixNode& node = tree_.nodes[top.node];
      const std::int64_t left = std::ssize(node.tokens) - top.done;
      if (left > room && !batch.empty()) break;
      Piece piece{std::move(top), std::min(left, room)};
      stack_.pop_back();
      if (piece.open.own == nullptr && (!node.children.empty() || piece.count < left)) {
        piece.open.own = decoder_.new_cache(node.first_position, std::ssize(node.tokens));
      }
      room -= piece.count;
      batch.push_back(std::move(piece));
    }
    return batch;
  }

  void forward(std::span<const Piece> batch) {
    std::vector<Chunk> chunks;
    std::vector<std::int64_t> rows;  // wanted, each once
    std::vector<const WantedScore*> scores;
    std::vector<std::size_t> first_score;  // of each wanted row
    std::int64_t row = 0;
    for (const Piece& piece : batch) {
      const PrefixNode& node = tree_.nodes[piece.open.node];
      chunks.push_back({.tokens = node.tokens.subspan(static_cast<std::size_t>(piece.open.done),
                                                      static_cast<std::size_t>(piece.count)),
                        .first_position = node.first_position + piece.open.done,
                        .prefix = piece.open.prefix,
                        .own = piece.open.own.get()});
      for (const WantedScore& wanted : node.wanted) {
        if (wanted.row < piece.open.done || wanted.row >= piece.open.done + piece.count) continue;
        const std::int64_t at = row + wanted.row - piece.open.done;
        if (rows.empty() || rows.back() != at) {
          rows.push_back(at);
          first_score.push_back(scores.size());
        }
        scores.push_back(&wanted);
      }
      row += piece.count;
    }
    first_score.push_back(scores.size());
    ++stats_.passes;
    stats_.tokens += row;
    stats_.logit_rows += std::ssize(rows);
    decoder_.forward_for_scores(chunks, rows, [&](std::int64_t first, ConstMatrix logits) {
      take_scores(logits, std::span(scores),
                  std::span(first_score).subspan(static_cast<std::size_t>(first)));
    });
    if (rows.empty()) return;
    Device& device = decoder_.device();
    static_cast<void>(device.run({.kind = OpKind::kLogProbabilities,
                                  .label = "log_probs",
                                  .rows = std::ssize(rows),
                                  .vocab = decoder_.vocab_size()},
                                 [] {}));
  }

  // Row i of the logits belongs to scores[first[i]] … scores[first[i + 1] - 1].
  void take_scores(ConstMatrix logits, std::span<const WantedScore* const> scores,
                   std::span<const std::size_t> first) {
    const auto count = static_cast<std::size_t>(logits.rows);
    std::vector<int> targets(count), argmax(count);
    std::vector<float> log_probs(count);
    for (std::size_t i = 0; i < count; ++i) targets[i] = scores[first[i]]->target;
    score_rows(logits, targets, log_probs, argmax, pointwise());
    for (std::size_t i = 0; i < count; ++i) {
      put(*scores[first[i]], log_probs[i], argmax[i]);
      if (first[i + 1] - first[i] > 1) {
        take_more(row(logits, i), scores.subspan(first[i] + 1, first[i + 1] - first[i] - 1),
                  argmax[i]);
      }
    }
    take_top(logits, scores, first);
  }

  // The other targets of one row.
  void take_more(std::span<const float> logits, std::span<const WantedScore* const> scores,
                 int argmax) {
    std::vector<int> targets;
    for (const WantedScore* wanted : scores) targets.push_back(wanted->target);
    const std::vector<float> log_probs = log_probs_of(logits, targets, pointwise());
    for (std::size_t i = 0; i < scores.size(); ++i) put(*scores[i], log_probs[i], argmax);
  }

  // Rows of which a request wishes the most likely tokens.
  void take_top(ConstMatrix logits, std::span<const WantedScore* const> scores,
                std::span<const std::size_t> first) {
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < static_cast<std::size_t>(logits.rows); ++i) {
      const auto of_row = scores.subspan(first[i], first[i + 1] - first[i]);
      if (std::ranges::any_of(of_row, [](const auto* wanted) { return wanted->top > 0; }))
        rows.push_back(i);
    }
    parallel_for(rows.size(), 1, [&](std::size_t r) {
      const std::size_t i = rows[r];
      for (const WantedScore* wanted : scores.subspan(first[i], first[i + 1] - first[i])) {
        if (wanted->top == 0) continue;
        results_[wanted->request].top[wanted->index] =
            most_likely(row(logits, i), logits.cols, wanted->top, pointwise());
      }
    });
  }

  static std::span<const float> row(ConstMatrix logits, std::size_t i) {
    return {logits.row(static_cast<std::int64_t>(i)), static_cast<std::size_t>(logits.cols)};
  }
  PointwisePolicy pointwise() const { return decoder_.device().numerics().pointwise_policy(); }

  void put(const WantedScore& wanted, float log_prob, int argmax) {
    results_[wanted.request].log_probs[wanted.index] = log_prob;
    results_[wanted.request].argmax[wanted.index] = argmax;
  }

  void finish(Piece piece) {
    Open& open = piece.open;
    const PrefixNode& node = tree_.nodes[open.node];
    open.done += piece.count;
    if (open.done < std::ssize(node.tokens)) {
      stack_.push_back(std::move(open));
      return;
    }
    if (open.own == nullptr) return;
    open.prefix.push_back(std::move(open.own));  // freed with the last node below that holds it
    for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
      stack_.push_back({*child, 0, open.prefix, nullptr});
    }
  }

  IncrementalModel& decoder_;
  const PrefixTree& tree_;
  TreeBatching batching_;
  std::span<ScoreResult> results_;
  TreeStats stats_;
  std::vector<Open> stack_;
};

}  // namespace

TreeStats score_tree(IncrementalModel& decoder, const PrefixTree& tree,
                     const TreeBatching& batching, std::span<ScoreResult> results) {
  NB_CHECK(batching.max_chunks >= 1 && batching.max_tokens >= 1,
           "[score_tree] batches of {} chunks, {} tokens", batching.max_chunks,
           batching.max_tokens);
  return TreeRun(decoder, tree, batching, results).run();
}

}  // namespace nb
