#include "model/collectives/processes.hpp"

#include <utility>

#include "harness/base/check.hpp"

namespace nb {
namespace {

constexpr int kNewsQueue = 0;  // those of ranks are behind it
Processes* of_job = nullptr;

}  // namespace

void Processes::tell(JobNews what, std::string_view text) {
  std::string bytes(1, static_cast<char>(what));
  bytes += text;
  for (int process = 1; process < count_; ++process) send(process, kNewsQueue, bytes);
}

std::pair<JobNews, std::string> Processes::next_news() {
  const std::optional<std::string> bytes = receive(0, kNewsQueue, std::nullopt);
  NB_CHECK(bytes && !bytes->empty(), "[processes] empty news");
  return {static_cast<JobNews>(bytes->front()), bytes->substr(1)};
}

std::string Processes::hear(JobNews what) {
  auto [news, text] = next_news();
  if (news == JobNews::kNodeEnd) {
    has_left_ = true;
    throw TrainingLeft("the first process has left the training");
  }
  NB_CHECK(news == what, "[processes] news {} where {} was expected", static_cast<char>(news),
           static_cast<char>(what));
  return std::move(text);
}

Processes* processes_of_job() { return of_job; }
void set_processes_of_job(Processes* processes) { of_job = processes; }

}  // namespace nb
