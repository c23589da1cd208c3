#include "harness/remote/connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "harness/base/rng.hpp"
#include "harness/remote/answers.hpp"

namespace nb {
namespace {

constexpr int kMostFailuresInARow = 20;
constexpr double kSecondsAToken = 0.05;
constexpr std::size_t kQuotedBytes = 160;

double now_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

const char* method(const RemoteCall& call) { return call.body ? "POST" : "GET"; }

}  // namespace

Connection::Connection(HttpUrl base, ConnectionOptions options)
    : base_(std::move(base)), options_(std::move(options)), limit_(options_.concurrency) {
  HttpOptions http;
  http.bearer_key = options_.key;
  http.ca_file = options_.ca_file;
  for (int i = 0; i < options_.concurrency; ++i)
    clients_.push_back(std::make_unique<HttpClient>(base_, http));
}
Connection::~Connection() = default;

Error Connection::give_up(const RemoteCall& call, const std::string& what, int tries) const {
  return {ErrorCode::kRun, fmt::format("{} {} ({} {}, {} tr{})", name(), what, method(call),
                                       call.path, tries, tries == 1 ? "y" : "ies")};
}

bool Connection::begin_one() {
  std::unique_lock lock(mutex_);
  has_place_.wait(lock, [&] { return stopped_ || in_flight_ < limit_.limit(); });
  if (stopped_) return false;
  ++in_flight_;
  return true;
}

void Connection::end_one() {
  {
    const std::scoped_lock lock(mutex_);
    --in_flight_;
  }
  has_place_.notify_all();
}

Result<RemoteAnswer> Connection::send(HttpClient& client, const RemoteCall& call,
                                      std::size_t number) {
  const double seconds =
      options_.timeout_seconds + kSecondsAToken * static_cast<double>(call.new_tokens);
  for (int failed = 0;;) {
    auto sent = call.body ? client.post_json(call.path, *call.body, seconds)
                          : client.get(call.path, seconds);
    const bool is_refused =
        sent && call.is_question && sent->status == 500 && (failed > 0 || options_.tries == 1);
    if (sent && (is_refused || !may_pass(sent->status))) {
      const std::scoped_lock lock(mutex_);
      limit_.succeeded();
      failures_in_a_row_ = 0;
      ++counts_.requests;
      return RemoteAnswer{sent->status, std::move(sent->headers), std::move(sent->body)};
    }
    ++failed;
    std::optional<double> asked;
    std::string what;
    bool is_final = failed >= options_.tries;
    if (sent) {
      const auto header = sent->headers.find("retry-after");
      if (header != sent->headers.end()) asked = retry_after_seconds(header->second, now_seconds());
      what = fmt::format("answers with status {}", sent->status);
    } else {
      what = text(sent.error());
      // These do not pass.
      is_final = is_final || sent.error() == HttpTrouble::kUntrusted ||
                 sent.error() == HttpTrouble::kWrongName || sent.error() == HttpTrouble::kTooLarge;
    }
    {
      const std::scoped_lock lock(mutex_);
      if (!sent) ++counts_.broken;
      const bool is_overloaded =
          sent ? sent->status == 429 || sent->status == 503 : sent.error() == HttpTrouble::kTimeout;
      if (is_overloaded) limit_.overloaded();
      if (++failures_in_a_row_ >= kMostFailuresInARow) is_final = true;
      if (stopped_) is_final = true;
      if (is_final) {
        const Error error = give_up(call, what, failed);
        if (!stopped_) stopped_ = error;
        return tl::unexpected<Error>(error);
      }
      ++counts_.retries;
    }
    const double jitter =
        0.5 + 0.5 * Rng(number, "retry").uniform(static_cast<std::uint64_t>(failed));
    std::this_thread::sleep_for(std::chrono::duration<double>(wait_seconds(failed, asked, jitter)));
  }
}

std::vector<Result<RemoteAnswer>> Connection::call_all(std::span<const RemoteCall> calls) {
  std::vector<Result<RemoteAnswer>> answers;
  answers.reserve(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i)
    answers.emplace_back(tl::unexpected<Error>(Error{}));
  {
    const std::scoped_lock lock(mutex_);
    stopped_.reset();
    failures_in_a_row_ = 0;
  }
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<std::size_t> next = 0;
  const auto work = [&](HttpClient& client) {
    for (;;) {
      if (!begin_one()) return;
      const std::size_t i = next++;
      if (i < calls.size()) answers[i] = send(client, calls[i], i);
      end_one();
      if (i >= calls.size()) return;
    }
  };
  if (calls.size() == 1) {
    work(*clients_.front());
  } else {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < std::min(clients_.size(), calls.size()); ++t)
      threads.emplace_back([&, t] { work(*clients_[t]); });
  }
  const std::scoped_lock lock(mutex_);
  counts_.busy_seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (stopped_)
    for (auto& answer : answers)
      if (!answer && answer.error().message.empty()) answer = tl::unexpected<Error>(*stopped_);
  return answers;
}

Result<RemoteAnswer> Connection::call(const RemoteCall& call) {
  return std::move(call_all(std::span(&call, 1)).front());
}

Error Connection::refusal(const RemoteCall& call, const RemoteAnswer& answer) const {
  std::string said = message_of(answer.body);
  if (!options_.key.empty())
    for (std::size_t at; (at = said.find(options_.key)) != std::string::npos;)
      said.replace(at, options_.key.size(), "…");
  if (said.size() > kQuotedBytes) said = said.substr(0, kQuotedBytes) + "…";
  return {ErrorCode::kRun,
          fmt::format("{} answers {} {} with status {}{}{}{}", name(), method(call), call.path,
                      answer.status, said.empty() ? "" : ": ", said,
                      answer.status == 401 || answer.status == 403
                          ? "; name an environment variable with its key by --key-env"
                          : "")};
}

Result<Json> Connection::json_of(const RemoteCall& call, const Result<RemoteAnswer>& answer) const {
  if (!answer) return tl::unexpected<Error>(answer.error());
  if (!answer->is_ok()) return tl::unexpected<Error>(refusal(call, *answer));
  auto json = parse_answer(answer->body);
  if (json) return json;
  return run_error(fmt::format("{} answers {} {} with {}", name(), method(call), call.path,
                               json.error().message));
}

ConnectionCounts Connection::counts() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

}  // namespace nb
