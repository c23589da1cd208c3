// Parsing on another thread while the results of what stood before are taken, in order: of files of
// hundreds of megabytes half the time is parsing. In memory are a few batches and nothing else.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "harness/base/parallel.hpp"
#include "harness/base/result.hpp"

namespace nb {

template <typename Piece, typename Parsed>
class Ahead {
 public:
  // parse is called on the other thread, take on the caller's. Of one thread (parallel.hpp) both
  // are the caller's.
  using Parse = std::function<Result<Parsed>(const Piece&)>;
  using Take = std::function<Result<void>(const Piece&, Parsed&&)>;

  Ahead(Parse parse, Take take) : parse_(std::move(parse)), take_(std::move(take)) {
    if (threads() > 1) worker_ = std::jthread([this](std::stop_token stop) { work(stop); });
  }

  // bytes: of the piece. Errors are those of pieces that were added before, the first one first;
  // after one nothing more is taken.
  Result<void> add(Piece piece, std::size_t bytes) {
    batch_.push_back(std::move(piece));
    if ((bytes_ += bytes) < kBatchBytes) return {};
    start();
    return pending_.size() > kBatches ? take_oldest() : Result<void>{};
  }
  // What is left. The caller's own error, of what follows the last piece, comes after it.
  Result<void> finish(const Result<void>& after = {}) {
    if (!failed_ && !batch_.empty()) start();
    while (!failed_ && !pending_.empty()) NB_TRY_VOID(take_oldest());
    return after;
  }

 private:
  static constexpr std::size_t kBatchBytes = std::size_t{256} << 10, kBatches = 3;

  struct Batch {
    std::vector<Piece> pieces;
    std::vector<Result<Parsed>> parsed;  // up to the first that is an error
  };

  Batch parsed(std::vector<Piece> pieces) const {
    Batch batch{std::move(pieces), {}};
    for (const Piece& piece : batch.pieces) {
      batch.parsed.push_back(parse_(piece));
      if (!batch.parsed.back()) break;
    }
    return batch;
  }

  void start() {
    std::packaged_task<Batch()> task(
        [this, pieces = std::exchange(batch_, {})]() mutable { return parsed(std::move(pieces)); });
    bytes_ = 0;
    pending_.push_back(task.get_future());
    if (!worker_.joinable()) return task();
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
  }

  void work(const std::stop_token& stop) {
    for (;;) {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return !tasks_.empty(); })) return;
      std::packaged_task<Batch()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
    }
  }

  Result<void> take_oldest() {
    Batch batch = pending_.front().get();
    pending_.pop_front();
    for (std::size_t i = 0; i < batch.parsed.size(); ++i) {
      Result<void> taken = batch.parsed[i] ? take_(batch.pieces[i], std::move(*batch.parsed[i]))
                                           : Result<void>(tl::unexpected(batch.parsed[i].error()));
      if (taken) continue;
      failed_ = true;
      return taken;
    }
    return {};
  }

  Parse parse_;
  Take take_;
  std::vector<Piece> batch_;
  std::size_t bytes_ = 0;
  bool failed_ = false;
  std::deque<std::future<Batch>> pending_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::packaged_task<Batch()>> tasks_;
  std::jthread worker_;  // last: it ends before what it uses
};

}  // namespace nb
