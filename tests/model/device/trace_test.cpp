#include "model/device/trace.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "model/device/device.hpp"
#include "tests/model/device/sample_ops.hpp"

namespace nb {
namespace {

TraceEvent event(std::int64_t start_ns) {
  TraceEvent e;
  e.kernel = "mm";
  e.op = "linear";
  e.label = "h.0.mlp.c_fc";
  e.start_ns = start_ns;
  e.duration_ns = 1500;
  return e;
}

TEST(Trace, RecordsTheFirstStepsOnly) {
  Trace trace(2);
  trace.add(event(0));
  EXPECT_TRUE(trace.events().empty());  // before the first step
  for (int step = 0; step < 5; ++step) {
    trace.begin_step();
    trace.add(event(step));
  }
  EXPECT_EQ(trace.events().size(), 2u);
  EXPECT_EQ(trace.dropped(), 0u);
}

TEST(Trace, CountsWhatDoesNotFit) {
  Trace trace(1, 3);
  trace.begin_step();
  for (int i = 0; i < 10; ++i) trace.add(event(i));
  EXPECT_EQ(trace.events().size(), 3u);
  EXPECT_EQ(trace.dropped(), 7u);
  EXPECT_EQ(trace.chrome_json("x")["metadata"]["dropped_events"], 7);
}

TEST(Trace, EndStopsUntilTheNextStep) {
  Trace trace(2);
  trace.begin_step();
  trace.add(event(0));
  trace.end();
  trace.add(event(1));
  trace.begin_step();
  trace.add(event(2));
  EXPECT_EQ(trace.events().size(), 2u);
}

// The Trace Event Format: complete events need name, ph, ts, dur (µs), pid, tid; metadata names
// threads.
TEST(Trace, ChromeJsonHasWhatViewersNeed) {
  Device device(test::profile("ascend_910b3"), ExecutionMode::kDry);
  device.trace().begin_step();
  for (const OpDesc& desc : test::sample_ops()) {
    if (!test::is_collective(desc.kind)) device.run(desc, [] {});
  }
  const Json json = device.trace().chrome_json("ascend_910b3");
  const Result<std::string> text = dump_json(json, -1);
  ASSERT_TRUE(text.has_value());
  const Result<Json> parsed = parse_json(*text, "trace.json");
  ASSERT_TRUE(parsed.has_value());
  std::map<std::pair<int, std::string>, double> end_us;  // per thread
  std::size_t complete = 0;
  for (const Json& e : parsed->at("traceEvents")) {
    const auto phase = e.at("ph").get<std::string>();
    ASSERT_TRUE(phase == "X" || phase == "M" || phase == "C") << phase;
    EXPECT_TRUE(e.at("name").is_string() && e.at("pid").is_number() && e.contains("tid"));
    if (phase != "X") continue;
    ++complete;
    double& end = end_us[{e.at("tid").get<int>(), "x"}];
    EXPECT_GE(e.at("ts").get<double>(), end - 1e-9);  // events of a thread do not overlap
    end = e.at("ts").get<double>() + e.at("dur").get<double>();
  }
  EXPECT_EQ(complete, 2 * device.trace().events().size());  // host and device
}

}  // namespace
}  // namespace nb
