#include "harness/faults/rank_fault.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

namespace nb {
namespace {

constexpr std::array kPhases = {"forward", "backward", "optimizer", "evaluate", "save"};

std::vector<std::string> phase_names() { return {kPhases.begin(), kPhases.end()}; }

// Values are JSON where they are numbers, else text.
Result<Json> parameters_of(std::string_view text, const std::string& where) {
  Json json = Json::object();
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    const std::size_t equals = one.find('=');
    if (equals == one.npos || equals == 0 || equals + 1 == one.size())
      return bad_input(fmt::format("{}: \"{}\" is no key=value", where, one));
    const std::string key(one.substr(0, equals)), value(one.substr(equals + 1));
    if (json.contains(key)) return bad_input(fmt::format("{}: {} is given twice", where, key));
    Json read = Json::parse(value, nullptr, /*allow_exceptions=*/false);
    json[key] = read.is_number() ? read : Json(value);
  }
  return json;
}

Result<void> read_ranks(RankFault& fault, const std::string& where) {
  const std::string& text = fault.ranks;
  const char* const end = text.data() + text.size();
  std::int64_t first = -1, second = -1;
  const auto [dash, error] = std::from_chars(text.data(), end, first);
  bool is_pair = error == std::errc() && dash != end && *dash == '-';
  if (is_pair) {
    const auto [rest, bad] = std::from_chars(dash + 1, end, second);
    is_pair = bad == std::errc() && rest == end && first >= 0 && second > first;
  }
  if (!is_pair)
    return bad_input(fmt::format("{}: ranks={} are no two ranks; write ranks=6-7", where, text));
  fault.rank = first;
  fault.peer = second;
  return {};
}

}  // namespace

std::string_view name(FaultPhase phase) { return kPhases[static_cast<std::size_t>(phase)]; }

FieldList RankFault::fields() {
  const Field of_rank{"rank", "which", &rank, {.min = 0, .required = true}};
  const Field of_step{"step", "update, from 0", &step, {.min = 0, .required = true}};
  const Field of_from{"from", "first update that it holds for", &from, {.min = 0}};
  Field of_factor{"factor", "how much slower", &factor, {.min = 1, .max = 1e6}};
  switch (kind) {
    case FaultKind::kKill:
    case FaultKind::kExit:
    case FaultKind::kException:
    case FaultKind::kOom:
      return {of_rank, of_step, {"phase", "of the step", enumerated(&phase, phase_names())}};
    case FaultKind::kLate:
      return {of_rank,
              {"seconds", "how late", &seconds, {.min = 0, .max = 1e7, .required = true}},
              {"at", "where", enumerated(&at, {"step", "start", "first"})},
              {"step", "update, from 0", &step, {.min = 0}}};
    case FaultKind::kPort:
      return {
          {"which", "port", enumerated(&which, {"master", "host", "device"}), {.required = true}},
          {"rank", "whose card", &rank, {.min = 0}}};
    case FaultKind::kMismatch:
      return {of_rank,
              {"what", "argument", enumerated(&what, {"op", "count", "dtype"}), {.required = true}},
              {"step", "update, from 0", &step, {.min = 0}}};
    case FaultKind::kOrder:
    case FaultKind::kEcc:
      return {of_rank, of_step};
    case FaultKind::kNan:
      return {of_rank,
              of_step,
              {"where", "of the step", enumerated(&where, {"gradient", "parameter"})}};
    case FaultKind::kLink:
      return {{"ranks", "its ends, 6-7", &ranks, {.required = true}},
              {"state", "what of it", enumerated(&state, {"down", "slow"}), {.required = true}},
              of_factor,
              of_from};
    case FaultKind::kSlow:
      of_factor.rules.required = true;
      return {of_rank, of_factor, of_from};
    case FaultKind::kFlip:
      return {of_rank,
              of_step,
              {"tensor", "of the model", &tensor, {.required = true}},
              {"bit",
               "of a 32-bit float, 0 is the lowest",
               &bit,
               {.min = 0, .max = 31, .required = true}}};
    case FaultKind::kSecondBest:
      break;
  }
  return {};
}

std::optional<std::int64_t> RankFault::due_step() const {
  switch (kind) {
    case FaultKind::kPort:
      return std::nullopt;
    case FaultKind::kLate:
      if (at == LateAt::kStart) return std::nullopt;
      return at == LateAt::kFirst ? 0 : step;
    case FaultKind::kMismatch:
      return step.value_or(0);
    case FaultKind::kLink:
    case FaultKind::kSlow:
      return from;
    default:
      return step;
  }
}

Result<RankFault> parse_rank_fault(std::string_view text, const std::string& where) {
  const std::string place = fmt::format("{}{}fault \"{}\"", where, where.empty() ? "" : ": ", text);
  NB_TRY(const FaultInfo* const row, kind_of_fault(text, where));
  RankFault fault;
  fault.kind = row->kind;
  fault.text = text;
  if (!row->is_of_ranks()) return bad_input(place + " is of an evaluation, not of ranks");
  const std::size_t colon = text.find(':');
  const std::string usage = fmt::format(" (write {})", form(*row));
  NB_TRY(const Json json,
         parameters_of(colon == text.npos ? std::string_view() : text.substr(colon + 1), place));
  if (auto read = parse_fields(fault.fields(), json, place); !read)
    return bad_input(read.error().message + usage);
  if (fault.kind == FaultKind::kLink) NB_TRY_VOID(read_ranks(fault, place));
  if (fault.kind == FaultKind::kLate && (fault.at == LateAt::kStep) != fault.step.has_value())
    return bad_input(place + ": say either at=start, at=first or step=N" + usage);
  // Step 0 has the first collective.
  if (fault.kind == FaultKind::kLate && fault.step == 0) fault.at = LateAt::kFirst;
  if (fault.kind == FaultKind::kMismatch && fault.step == 0) fault.step.reset();
  if (fault.kind == FaultKind::kLink &&
      (fault.state == LinkState::kSlow) != fault.factor.has_value())
    return bad_input(place + ": a slow link has a factor, and one that is down has none" + usage);
  if (fault.kind == FaultKind::kPort &&
      (fault.which == BusyPort::kDevice) != fault.rank.has_value())
    return bad_input(place + ": the port of a card has a rank, that of the host has none" + usage);
  return fault;
}

Result<void> check_rank_fault(const RankFault& fault, const FaultTarget& target,
                              const std::string& where) {
  const std::string place =
      fmt::format("{}{}fault \"{}\"", where, where.empty() ? "" : ": ", fault.text);
  if (const std::int64_t last = std::max(fault.first_rank(), fault.peer); last >= target.ranks)
    return bad_input(fmt::format("{}: there is no rank {}; {} ranks train, 0 to {}", place, last,
                                 target.ranks, target.ranks - 1));
  if (const auto step = fault.due_step(); step && *step >= target.steps)
    return bad_input(fmt::format("{}: there is no step {}; the training has {}, 0 to {}", place,
                                 *step, target.steps, target.steps - 1));
  const auto nothing = [&](const std::string& why) -> Result<void> {
    return bad_input(fmt::format("{} would change nothing: {}", place, why));
  };
  const auto meets = [&](std::int64_t every) { return every > 0 && *fault.step % every == 0; };
  if (fault.phase == FaultPhase::kEvaluate && !meets(target.eval_every))
    return nothing(
        fmt::format("step {} validates nothing (eval_every {})", *fault.step, target.eval_every));
  if (fault.phase == FaultPhase::kSave && (*fault.step == 0 || !meets(target.checkpoint_every)))
    return nothing(fmt::format("step {} writes no checkpoint (checkpoint_every {})", *fault.step,
                               target.checkpoint_every));
  if (fault.factor && *fault.factor == 1) return nothing("a factor of 1");
  if (fault.seconds && *fault.seconds == 0) return nothing("0 seconds");
  if (fault.kind == FaultKind::kPort && fault.which != BusyPort::kMaster && !target.is_hccl)
    return nothing("NCCL takes no fixed port of the host or the card");
  return {};
}

}  // namespace nb
