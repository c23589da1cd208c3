// Work that several threads would each do on equal values, such as ranks that hold replicas: the
// first that comes does it, and the others take its result where all their bytes are the first's.
// Nothing is assumed: who differs in a bit works alone. So no result depends on who came first.
//
// 1. What was given is kept, and never changed once it is there; so is what came of it.
// 2. Who finds its values kept by another waits for that one, who waits for nobody meanwhile: it
//    works, and ends or throws. Where it throws, those that wait do the work themselves.
//
// Between ranks in several processes: model/collectives/remote_ranks.cpp.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>

namespace nb {

class CommonWork {
 public:
  CommonWork() = default;
  virtual ~CommonWork() = default;
  CommonWork(const CommonWork&) = delete;
  CommonWork& operator=(const CommonWork&) = delete;

  // What the calling thread shares its work by while a Scope lives there; null: nobody.
  static CommonWork* of_thread();
  class Scope {
   public:
    explicit Scope(CommonWork* common);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    CommonWork* before_;
  };

  // work(some): values[i] becomes f(values[i]) for each i of some, a function of its bytes and of
  // kinds[i], whatever the thread. All are done when it returns. at_once: so many are handed out
  // together, for a caller whose own threads share them.
  using Work = std::function<void(std::span<const std::size_t> some)>;
  virtual void run(std::span<const std::string> kinds, std::span<const std::span<float>> values,
                   std::size_t at_once, const Work& work) = 0;
};

// Of `users` threads. Thread-safe. Values are kept until all have had them, at most as long as this
// lives.
class CommonWorkOfThreads final : public CommonWork {
 public:
  explicit CommonWorkOfThreads(int users) : users_(users) {}
  void run(std::span<const std::string> kinds, std::span<const std::span<float>> values,
           std::size_t at_once, const Work& work) override;

 private:
  struct Item;
  std::shared_ptr<Item> find_or_claim(const std::string& kind, std::span<const float> given,
                                      bool& is_claimed);
  void end(Item& item, std::span<const float> result, bool is_done);
  bool take(const std::shared_ptr<Item>& item, std::span<float> result);

  const int users_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::list<std::shared_ptr<Item>> items_;
};

}  // namespace nb
