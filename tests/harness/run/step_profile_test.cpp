#include "harness/run/step_profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace nb {
namespace {

HostProfile recorded() {
  HostProfile host;
  const auto add = [&](OpKind kind, const char* label, std::int64_t time_ns, double flops = 0) {
    host.add({.kind = kind, .label = label}, time_ns, flops, 0);
  };
  host.resume();
  add(OpKind::kLinear, "up", 100, 4000);
  add(OpKind::kLinear, "down <&\">", 300, 6000);
  add(OpKind::kAdd, "", 50);
  add(OpKind::kLinearBackwardWeight, "up", 700);
  add(OpKind::kNewtonSchulz, "up", 40);
  add(OpKind::kHostToDevice, "inputs", 1);
  host.add_bookkeeping(9);
  host.stop();
  host.resume();
  add(OpKind::kLinear, "up", 100, 4000);
  host.stop();
  return host;
}

const ProfileNode& child(const ProfileNode& node, const std::string& name) {
  const auto found = std::find_if(node.children.begin(), node.children.end(),
                                  [&](const ProfileNode& one) { return one.name == name; });
  EXPECT_NE(found, node.children.end()) << name;
  return found == node.children.end() ? node : *found;
}

void expect_sums(const ProfileNode& node) {
  if (node.children.empty()) return;
  std::int64_t time_ns = 0, calls = 0;
  double flops = 0;
  for (const ProfileNode& one : node.children) {
    time_ns += one.time_ns, calls += one.calls, flops += one.flops;
    expect_sums(one);
  }
  EXPECT_EQ(node.time_ns, time_ns) << node.name;
  EXPECT_EQ(node.calls, calls) << node.name;
  EXPECT_EQ(node.flops, flops) << node.name;
}

TEST(StepProfile, SumsOpsByPhaseKindAndLabelSlowestFirst) {
  const HostProfile host = recorded();
  const StepProfile profile = step_profile(host);
  EXPECT_EQ(profile.steps, 2);
  expect_sums(profile.step);
  const ProfileNode& forward = child(profile.step, "forward");
  EXPECT_EQ(forward.time_ns, 550);
  EXPECT_EQ(forward.children.front().name, "linear");
  const ProfileNode& linear = child(forward, "linear");
  EXPECT_EQ(linear.children.front().name, "down <&\">");
  EXPECT_EQ(linear.flops, 14000);
  EXPECT_EQ(child(child(forward, "linear"), "up").calls, 2);
  EXPECT_EQ(child(child(forward, "add"), "add").time_ns, 50);  // no label: the kind's name
  EXPECT_EQ(child(profile.step, "backward").time_ns, 700);
  EXPECT_EQ(child(profile.step, "optimizer").time_ns, 40);
  EXPECT_EQ(child(profile.step, "transfers").time_ns, 1);
  EXPECT_EQ(child(profile.step, "simulated device").time_ns, 9);
  EXPECT_GE(profile.step.time_ns, 1300);
}

TEST(StepProfile, EveryKindOfOpHasAPhase) {
  HostProfile host;
  host.resume();
  for (const OpKindInfo& info : op_kinds()) host.add({.kind = info.kind, .label = "x"}, 1, 0, 0);
  host.stop();
  const StepProfile profile = step_profile(host);
  EXPECT_EQ(static_cast<std::size_t>(profile.step.calls), op_kinds().size());
}

TEST(StepProfile, ComesBackFromItsJson) {
  StepProfile profile = step_profile(recorded());
  profile.simd = "avx2", profile.threads = 3, profile.peak_gflop_s = 12.5;
  const Json json = to_json(profile);
  const auto back = parse_step_profile(json, "here");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(to_json(*back), json);
  const auto wrong = parse_step_profile(Json{{"steps", 1}}, "here");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("here"), std::string::npos);
}

TEST(StepProfile, TheTableHasALineAPhaseAndAKind) {
  StepProfile profile = step_profile(recorded());
  profile.peak_gflop_s = 70;
  const std::string text = to_text(profile_table(profile));
  for (const char* part : {"step", "  forward", "    linear", "    add", "  backward",
                           "    linear_backward_weight", "  between ops", "100.0 %"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  // 14000 flop in 500 ns, of 70 Gflop/s.
  const std::size_t linear = text.find("    linear ");
  EXPECT_NE(text.find("28.0 Gflop/s   40.0 %", linear), std::string::npos) << text;
}

TEST(StepProfile, ThePictureIsOneSvgWithEscapedNames) {
  StepProfile profile = step_profile(recorded());
  profile.simd = "avx2";
  const std::string svg = flame_svg(profile, "a <title>");
  EXPECT_TRUE(svg.starts_with("<svg xmlns="));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find("a &lt;title&gt;"), std::string::npos);
  EXPECT_EQ(svg.find("down <&"), std::string::npos);
  EXPECT_NE(svg.find("mean of 2 steps; avx2"), std::string::npos);
  const auto count = [&](const std::string& part) {
    std::size_t n = 0;
    for (std::size_t at = svg.find(part); at != std::string::npos; at = svg.find(part, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("<g>"), count("</g>"));
  EXPECT_EQ(count("<g>"), count("<title>"));
  EXPECT_EQ(count("<script"), 0u);
}

TEST(StepProfile, NothingRecordedIsAnEmptyStep) {
  const StepProfile profile = step_profile(HostProfile());
  EXPECT_EQ(profile.step.time_ns, 0);
  EXPECT_EQ(to_text(profile_table(profile)).find("nan"), std::string::npos);
  EXPECT_TRUE(flame_svg(profile, "x").ends_with("</svg>\n"));
}

}  // namespace
}  // namespace nb
