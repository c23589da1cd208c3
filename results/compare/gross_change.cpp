#include "results/compare/gross_change.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "results/messages/sentences.hpp"
#include "results/stats/stats_unpaired.hpp"

namespace nb {
namespace {

// Both must be exceeded: `relative` of the smaller value, and `absolute`, so that small numbers
// near zero are no alarm. Seeds of nanochat's BASE move its bits per byte by .03 %
// (karpathy/nanochat issue 807), of a d2 by 1.2 % (results/gate/README.md); fine-tuned losses by a
// few per cent. Runs of one program on shared machines differ by up to a fifth.
struct Bound {
  std::string_view unit;
  double relative, absolute;
};
constexpr auto kBounds = std::to_array<Bound>({
    {"nat", .1, .05},
    {"bit/byte", .1, .02},
    {"perplexity", .1, .05},  // .1 nat a token
    {"error ratio", .25, .03},
    {"point", .25, 5},
    {"count", .5, 10},
    {"time", .25, 0},  // in a unit that the source does not say
    {"s", .25, 0},
    {"ms", .25, 0},
    {"ns", .25, 0},
    {"byte", .25, 0},
    {"tok/s", .25, 0},
    {"1/s", .25, 0},
});

constexpr double kGrossAlpha = .01;  // two-sided, of the smallest task

}  // namespace

std::optional<GrossChange> gross_change(double a, double b, std::string_view unit, bool is_share) {
  if (is_share) {
    if (a < 0 || a > 1 || b < 0 || b > 1) return std::nullopt;
    const UnpairedTest test = unpaired_shares(a, kFewestItems, b, kFewestItems);
    return GrossChange{test.p_two_sided <= kGrossAlpha, message("row.by_chance", kFewestItems)};
  }
  const auto bound = std::ranges::find(kBounds, unit, &Bound::unit);
  if (bound == kBounds.end()) return std::nullopt;
  const double change = std::fabs(b - a);
  const double least = std::min(std::fabs(a), std::fabs(b));
  GrossChange gross;
  gross.is_beyond = change > bound->relative * least && change > bound->absolute;
  std::string relative = fmt::format("{:g} %", 100 * bound->relative);
  if (bound->absolute > 0)
    gross.bound =
        message("row.both_bounds", std::move(relative),
                fmt::format("{:g}{}", bound->absolute,
                            bound->unit == "count" ? "" : fmt::format(" {}", bound->unit)));
  else
    gross.bound = verbatim(std::move(relative));
  return gross;
}

}  // namespace nb
