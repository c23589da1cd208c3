// The flame-like picture of a StepProfile: the step on top, below it what it was made of.
#include <fmt/format.h>

#include <algorithm>

#include "harness/run/step_profile.hpp"

namespace nb {
namespace {

constexpr double kWidth = 1200, kRow = 22, kTop = 56, kMargin = 10;
constexpr double kCharacter = 6.6;  // of the 11 px font, a little more than its mean
constexpr double kNarrowest = 0.3;  // boxes below that are not drawn

// Hue of a phase; kinds and labels under it are lighter.
struct Colour {
  const char* phase;
  int hue, saturation;
};
constexpr Colour kColours[] = {{"step", 220, 8},       {"forward", 210, 60},
                               {"backward", 24, 75},   {"optimizer", 130, 40},
                               {"transfers", 280, 30}, {"simulated device", 0, 0},
                               {"between ops", 0, 0}};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

class Flame {
 public:
  explicit Flame(const StepProfile& profile) : profile_(profile) {
    const double all = static_cast<double>(std::max<std::int64_t>(1, profile.step.time_ns));
    scale_ = kWidth / all;
    draw(profile.step, kMargin, 0, colour("step"));
  }
  const std::string& boxes() const { return boxes_; }
  double height() const { return kTop + kRow * (deepest_ + 1) + kMargin; }

 private:
  static Colour colour(const std::string& phase) {
    for (const Colour& known : kColours)
      if (phase == known.phase) return known;
    return {"", 0, 0};
  }

  void draw(const ProfileNode& node, double x, int depth, const Colour& hue) {
    const double width = scale_ * static_cast<double>(node.time_ns);
    if (width < kNarrowest) return;
    deepest_ = std::max(deepest_, depth);
    const double y = kTop + kRow * depth;
    boxes_ += fmt::format(
        "<g><title>{}</title><rect x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\" "
        "rx=\"2\" fill=\"hsl({},{}%,{}%)\"/>",
        escaped(tooltip(node)), x, y, std::max(width - 0.5, 0.2), kRow - 1, hue.hue, hue.saturation,
        std::min(90, 62 + 8 * depth));
    const auto room = static_cast<std::size_t>(std::max(0.0, (width - 8) / kCharacter));
    if (room >= 3) {
      const std::string text =
          node.name.size() <= room ? node.name : node.name.substr(0, room - 2) + "…";
      boxes_ +=
          fmt::format("<text x=\"{:.2f}\" y=\"{:.0f}\">{}</text>", x + 4, y + 15, escaped(text));
    }
    boxes_ += "</g>\n";
    for (const ProfileNode& child : node.children) {
      draw(child, x, depth + 1, depth == 0 ? colour(child.name) : hue);
      x += scale_ * static_cast<double>(child.time_ns);
    }
  }

  std::string tooltip(const ProfileNode& node) const {
    const auto steps = static_cast<double>(std::max<std::int64_t>(1, profile_.steps));
    const auto time_ns = static_cast<double>(node.time_ns);
    std::string text = fmt::format("{}: {} a step, {:.2f} %", node.name,
                                   human_time_ns(time_ns / steps), 100 * time_ns * scale_ / kWidth);
    if (node.calls > 0)
      text += fmt::format(", {:.0f} calls", static_cast<double>(node.calls) / steps);
    if (node.flops > 0 && node.time_ns > 0)
      text += ", " + human_rate(1e9 * node.flops / time_ns, "flop/s");
    return text;
  }

  const StepProfile& profile_;
  double scale_ = 1;
  int deepest_ = 0;
  std::string boxes_;
};

}  // namespace

std::string flame_svg(const StepProfile& profile, const std::string& title) {
  const Flame flame(profile);
  const double steps = static_cast<double>(std::max<std::int64_t>(1, profile.steps));
  const std::string subtitle =
      fmt::format("host time of a training step: {}, mean of {} step{}; {}, {} thread{}",
                  human_time_ns(static_cast<double>(profile.step.time_ns) / steps), profile.steps,
                  profile.steps == 1 ? "" : "s", profile.simd, profile.threads,
                  profile.threads == 1 ? "" : "s");
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"11\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"22\" font-size=\"15\">{3}</text>\n<text x=\"{2}\" y=\"42\">{4}</text>\n"
      "{5}</svg>\n",
      kWidth + 2 * kMargin, flame.height(), kMargin, escaped(title), escaped(subtitle),
      flame.boxes());
}

}  // namespace nb
