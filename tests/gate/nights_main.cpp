// Prints how the gate's rules behave on simulated nights beside what is published for them, and
// exits with 1 where a row is off. Two to three minutes.
//   nb_nights [nights a row]
#include <fmt/core.h>

#include <cmath>
#include <cstdlib>

#include "tests/gate/nights.hpp"

namespace nb::test {
namespace {

// A published simulation of the same rule, 2500 nights a row. Of a task that falls alone the table
// does not say how many answers flip; these are the flips at which two independent simulations
// agree with it.
struct Published {
  const char* truth;
  std::vector<NightTask> tasks;
  double profile, red, open;
};

std::vector<Published> published() {
  return {
      {"healthy, .2 % flips", five_tasks(.002), .002, .000, .001},
      {"healthy, 1 % flips", five_tasks(.01), .01, .025, .117},
      {"healthy, 3 % flips", five_tasks(.03), .03, .028, .227},
      {"-.3 pp on all, 1 % flips", five_tasks(.01, .003), .01, .350, .246},
      {"-.5 pp on all, 1 % flips", five_tasks(.01, .005), .01, .880, .062},
      {"-1 pp on all, 1.5 % flips", five_tasks(.015, .01), .01, 1.000, .000},
      {"-.5 pp on all, 3 % flips", five_tasks(.03, .005), .03, .681, .193},
      {"-1 pp on all, 3 % flips", five_tasks(.03, .01), .03, 1.000, .000},
      {"GSM8K -1 pp (1.5 % flips)", one_falls("gsm8k", .01, .015, .01), .01, .773, .192},
      {"GSM8K -2 pp (2.5 % flips)", one_falls("gsm8k", .01, .025, .02), .01, .998, .002},
      {"ARC-C -2 pp (2.5 % flips)", one_falls("arc_challenge", .01, .025, .02), .01, .995, .005},
      {"HumanEval -4 pp (5 % flips)", one_falls("humaneval", .01, .05, .04), .01, .488, .507},
      {"HumanEval -8 pp (9 % flips)", one_falls("humaneval", .01, .09, .08), .01, .922, .078},
  };
}

constexpr double kPoints = .03;

bool print_row(const char* truth, const NightShares& shares, double red, double open) {
  const bool ok =
      std::fabs(shares.red - red) <= kPoints && std::fabs(shares.open - open) <= kPoints;
  fmt::print("{:30} {:6.3f} {:6.3f}   {:6.3f} {:6.3f}   {}\n", truth, shares.red, red, shares.open,
             open, ok ? "ok" : "OFF");
  return ok;
}

bool print_limit(const char* truth, const NightShares& shares, double low, double high) {
  const bool ok = shares.red >= low && shares.red <= high;
  fmt::print("{:46} red {:.3f} (must be {:.3f} … {:.3f}), can't tell {:.3f}   {}\n", truth,
             shares.red, low, high, shares.open, ok ? "ok" : "OFF");
  return ok;
}

int run(int nights) {
  bool ok = true;
  fmt::print("{} nights a row\n\nfixed checkpoints: red, published; can't tell, published\n",
             nights);
  for (const Published& row : published())
    ok &= print_row(row.truth, fixed_nights(row.tasks, row.profile, nights), row.red, row.open);
  fmt::print("\nhealthy nights\n");
  ok &= print_limit("fixed, 1 % flips, items", fixed_nights(five_tasks(.01), .01, nights), 0, .035);
  ok &= print_limit("fixed, 3 % flips, items", fixed_nights(five_tasks(.03), .03, nights), 0, .035);
  ok &= print_limit("fixed, .8 % flips by rounding, items + scoring", rounded_nights(.008, nights),
                    0, .035);
  for (const bool paired : {true, false})
    for (const bool has_profile : {true, false})
      for (const double sd : {.005, .01}) {
        const std::string truth =
            fmt::format("retrained, 5 seeds, SD {:.1f} pp, {}{}", 100 * sd,
                        paired ? "paired" : "groups", has_profile ? ", profile" : "");
        ok &= print_limit(truth.c_str(), retrained_nights(5, sd, paired, has_profile, nights), 0,
                          .05);
      }
  fmt::print("\nA/A control\n");
  ok &= print_limit("deterministic", control_nights(nights, 0), 0, 0);
  ok &= print_limit("one last bit of one metric differs", control_nights(nights, nights), 1 - 1e-9,
                    1 + 1e-9);
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace nb::test

int main(int argc, char** argv) {
  const int nights = argc > 1 ? std::atoi(argv[1]) : 1000;
  if (nights < 1) {
    fmt::print(stderr, "nb_nights [nights a row]\n");
    return 64;
  }
  return nb::test::run(nights);
}
