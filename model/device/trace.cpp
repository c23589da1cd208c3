#include "model/device/trace.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace nb {
namespace {

constexpr int kHostThread = 0;

Json thread_name(int thread, std::string_view text) {
  return {{"ph", "M"},
          {"name", "thread_name"},
          {"pid", 0},
          {"tid", thread},
          {"args", {{"name", std::string(text)}}}};
}

double microseconds(std::int64_t time_ns) { return static_cast<double>(time_ns) / 1000.0; }

}  // namespace

std::string_view name(Limiter limiter) {
  constexpr std::array<std::string_view, 4> kNames{"compute", "memory", "launch", "link"};
  return kNames[static_cast<std::size_t>(limiter)];
}

std::string_view name(Stream stream) {
  constexpr std::array<std::string_view, kStreams> kNames{"compute", "communication"};
  return kNames[static_cast<std::size_t>(stream)];
}

Trace::Trace(int max_steps, std::size_t max_events)
    : max_steps_(max_steps), max_events_(max_events) {}

void Trace::begin_step() {
  recording_ = steps_ < max_steps_;
  if (recording_) ++steps_;
}

void Trace::end() { recording_ = false; }

void Trace::add(TraceEvent event) {
  if (!recording_) return;
  if (events_.size() >= max_events_) {
    ++dropped_;
    return;
  }
  events_.push_back(std::move(event));
}

Json Trace::chrome_json(std::string_view process_name) const {
  Json events = Json::array();
  events.push_back({{"ph", "M"},
                    {"name", "process_name"},
                    {"pid", 0},
                    {"tid", 0},
                    {"args", {{"name", std::string(process_name)}}}});
  events.push_back(thread_name(kHostThread, "host"));
  for (std::size_t s = 0; s < kStreams; ++s) {
    events.push_back(thread_name(static_cast<int>(s) + 1, name(static_cast<Stream>(s))));
  }
  std::uint64_t counted = ~std::uint64_t{0};
  for (const TraceEvent& e : events_) {
    events.push_back({{"ph", "X"},
                      {"cat", "host"},
                      {"name", "launch " + std::string(e.kernel)},
                      {"pid", 0},
                      {"tid", kHostThread},
                      {"ts", microseconds(e.dispatch_start_ns)},
                      {"dur", microseconds(e.dispatch_ns)}});
    events.push_back({{"ph", "X"},
                      {"cat", std::string(e.op)},
                      {"name", std::string(e.kernel)},
                      {"pid", 0},
                      {"tid", static_cast<int>(e.stream) + 1},
                      {"ts", microseconds(e.start_ns)},
                      {"dur", microseconds(e.duration_ns)},
                      {"args",
                       {{"label", e.label},
                        {"limiter", std::string(name(e.limiter))},
                        {"flop", e.flops},
                        {"byte", e.size_bytes}}}});
    if (e.allocated_bytes != counted) {
      counted = e.allocated_bytes;
      events.push_back({{"ph", "C"},
                        {"name", "allocated"},
                        {"pid", 0},
                        {"tid", kHostThread},
                        {"ts", microseconds(e.dispatch_start_ns)},
                        {"args", {{"byte", counted}}}});
    }
  }
  Json json = {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
  if (dropped_ > 0) json["metadata"] = {{"dropped_events", dropped_}};
  return json;
}

}  // namespace nb
