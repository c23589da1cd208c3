#include "tests/results/stored_nights.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/base/check.hpp"
#include "harness/base/hash.hpp"
#include "results/store/store.hpp"
#include "tests/results/fake_run.hpp"

namespace nb::test {

void StoredNights::add(const std::string& run, const std::string& when, double value,
                       std::optional<std::int64_t> seed,
                       const std::function<void(Record&)>& change) const {
  Record record;
  record.kind = "train";
  record.name = "base";
  record.device = "h100_sxm";
  record.seed = seed;
  record.settings = Json{{"train", {{"depth", 2}, {"seed", seed.value_or(0)}}}, {"lr", .02}};
  record.environment = Json{{"finished_at", when}};
  record.subject["code"] = sha256_hex("code");
  record.metrics = {metric_of("val_bpb", value, "bit/byte", Direction::kLower)};
  if (change) change(record);
  record.node_key = sha256_hex(fmt::format("{} {} {} {}", record.kind, record.name, record.device,
                                           record.seed.value_or(-1)));
  const auto name =
      fmt::format("{}.{}-{}", record.name, record.device, record.node_key.substr(0, 8));
  const auto written = write_record(path(run) / name, record);
  NB_CHECK(written.has_value(), "[nights] {}", written.error().message);
}

RunIndex StoredNights::index() const {
  auto index = RunIndex::open(folder());
  NB_CHECK(index.has_value(), "[nights] {}", index.error().message);
  return std::move(*index);
}

}  // namespace nb::test
