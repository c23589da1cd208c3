#include "harness/base/common_work.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace nb {
namespace {

thread_local CommonWork* common_of_thread = nullptr;

}  // namespace

struct CommonWorkOfThreads::Item {
  enum class State : std::uint8_t { kClaimed, kDone, kFailed };
  std::string kind;
  std::vector<float> given, result;
  State state = State::kClaimed;
  int left = 0;  // that may still come for it
};

CommonWork* CommonWork::of_thread() { return common_of_thread; }

CommonWork::Scope::Scope(CommonWork* common) : before_(std::exchange(common_of_thread, common)) {}
CommonWork::Scope::~Scope() { common_of_thread = before_; }

std::shared_ptr<CommonWorkOfThreads::Item> CommonWorkOfThreads::find_or_claim(
    const std::string& kind, std::span<const float> given, bool& is_claimed) {
  const std::lock_guard lock(mutex_);
  const auto is_same = [&](const std::shared_ptr<Item>& item) {
    return item->state != Item::State::kFailed && item->kind == kind &&
           item->given.size() == given.size() && !given.empty() &&
           std::memcmp(item->given.data(), given.data(), given.size_bytes()) == 0;
  };
  const auto known = std::ranges::find_if(items_, is_same);
  is_claimed = known == items_.end();
  if (!is_claimed) return *known;
  auto item = std::make_shared<Item>();
  item->kind = kind;
  item->given.assign(given.begin(), given.end());
  item->left = users_ - 1;
  items_.push_back(item);
  return item;
}

void CommonWorkOfThreads::end(Item& item, std::span<const float> result, bool is_done) {
  std::vector<float> kept;
  if (is_done) kept.assign(result.begin(), result.end());
  const std::lock_guard lock(mutex_);
  item.result = std::move(kept);
  item.state = is_done ? Item::State::kDone : Item::State::kFailed;
  ended_.notify_all();
}

bool CommonWorkOfThreads::take(const std::shared_ptr<Item>& item, std::span<float> result) {
  {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return item->state != Item::State::kClaimed; });
    if (--item->left <= 0) items_.remove(item);
    if (item->state == Item::State::kFailed) return false;
  }
  std::ranges::copy(item->result, result.begin());
  return true;
}

void CommonWorkOfThreads::run(std::span<const std::string> kinds,
                              std::span<const std::span<float>> values, std::size_t at_once,
                              const Work& work) {
  struct Claims {
    CommonWorkOfThreads& common;
    std::vector<std::size_t> places;
    std::vector<std::shared_ptr<Item>> items;
    void end(std::span<const std::span<float>> values) {
      for (; !items.empty(); items.pop_back(), places.pop_back())
        common.end(*items.back(), values[places.back()], true);
    }
    ~Claims() {
      for (const std::shared_ptr<Item>& item : items) common.end(*item, {}, false);
    }
  };
  std::vector<std::pair<std::size_t, std::shared_ptr<Item>>> of_others;
  for (std::size_t next = 0; next < values.size();) {
    Claims claims{*this, {}, {}};
    for (; next < values.size() && claims.places.size() < at_once; ++next) {
      bool is_claimed = false;
      std::shared_ptr<Item> item = find_or_claim(kinds[next], values[next], is_claimed);
      if (!is_claimed) {
        of_others.emplace_back(next, std::move(item));
        continue;
      }
      claims.items.push_back(std::move(item));
      claims.places.push_back(next);
    }
    if (claims.places.empty()) continue;
    work(claims.places);
    claims.end(values);
  }
  for (const auto& [place, item] : of_others)
    if (!take(item, values[place])) work({&place, 1});
}

}  // namespace nb
