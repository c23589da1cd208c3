#include "harness/cli/predict_claims.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"

namespace nb::cli {

std::string claims_text(const JudgedTable& judged) {
  std::string text = fmt::format(
      "{} beside {} on {}{}; simulated\nplausible: a rate or time within a factor of {}, "
      "memory within {}\n",
      judged.table, judged.is_megatron ? "a step in closed form" : "dry steps", judged.device,
      judged.stack.empty() ? "" : ", " + judged.stack, kRateFactor, kMemoryFactor);
  TextTable table{{"row", "claimed", "predicted", "verdict", "why"}, {}};
  for (const JudgedClaim& claim : judged.claims)
    table.rows.push_back(
        {claim.row, claim.claimed, claim.predicted, std::string(name(claim.verdict)), claim.why});
  text += to_text(table, output_width());
  for (const std::string& one : judged.left_out) text += "left out: " + one + "\n";
  return text;
}

Json claims_json(const JudgedTable& judged) {
  Json claims = Json::array();
  for (const JudgedClaim& claim : judged.claims)
    claims.push_back(
        {{"row", claim.row},
         {"what", claim.what},
         {"claimed", claim.claimed},
         {"claimed_value", claim.claimed_value},
         {"predicted", claim.predicted},
         {"predicted_value", claim.predicted_value > 0 ? Json(claim.predicted_value) : Json()},
         {"verdict", name(claim.verdict)},
         {"why", claim.why}});
  return {{"table", judged.table}, {"device", judged.device},     {"stack", judged.stack},
          {"clock", "sim"},        {"claims", std::move(claims)}, {"left_out", judged.left_out}};
}

}  // namespace nb::cli
