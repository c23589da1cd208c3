#include "harness/cli/directions.hpp"

namespace nb::cli {

void add_directions(CLI::App& app, StatedDirections& directions) {
  app.add_option("--higher", directions.higher,
                 "metrics of other harnesses that are better when higher, where neither the file "
                 "nor npubench knows it")
      ->type_name("METRIC")
      ->delimiter(',');
  app.add_option("--lower", directions.lower, "the same, better when lower")
      ->type_name("METRIC")
      ->delimiter(',');
}

}  // namespace nb::cli
