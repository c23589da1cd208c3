// JSON files of ASCEND_PROFILER_OUTPUT: small ones, read whole.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <tuple>

#include "harness/base/ascii.hpp"
#include "harness/base/json_io.hpp"
#include "harness/profiler/read_ascend.hpp"
#include "harness/profiler/time_text.hpp"

namespace nb::profiler {
namespace {

Result<Json> json_of(std::istream& bytes, const std::string& where) {
  const std::string text(std::istreambuf_iterator<char>(bytes), {});
  if (trimmed(text).empty()) return bad_input(where + ": empty; copy it again");
  NB_TRY(Json json, parse_json(text, where));
  if (!json.is_object()) return bad_input(where + ": not an object");
  return json;
}

// 0 where it is no number.
double number_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : 0;
}
std::int64_t ns_at(const Json& json, const char* key, double unit_ns) {
  const double time = number_at(json, key) * unit_ns;
  return std::abs(time) < 9e17 ? std::llround(time) : 0;
}

bool is_object_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_object();
}

// Packets below the size that msprof-analyze calls large: 16 MB (SDMA), 1 MB (RDMA).
double small_share_of(const Json& use, const std::string& link) {
  const double large_mb = link == "RDMA" ? 1 : 16;
  double all = 0, small = 0;
  if (!is_object_at(use, "Size Distribution")) return 0;
  for (const auto& [size, counted] : use["Size Distribution"].items()) {
    const auto megabytes = number_of(size);
    if (!megabytes || !counted.is_array() || counted.empty() || !counted[0].is_number()) continue;
    const double moved = *megabytes * counted[0].get<double>();
    all += moved;
    if (*megabytes < large_mb) small += moved;
  }
  return all > 0 ? small / all : 0;
}

Collective collective_of(const std::string& name, const Json& json) {
  constexpr double kMs = 1e6, kUs = 1e3;
  Collective one;
  const std::size_t at = name.find('@');
  one.name = name.substr(0, at);
  if (at != name.npos) one.group = name.substr(at + 1);
  if (is_object_at(json, "Communication Time Info")) {
    const Json& time = json["Communication Time Info"];
    one.start_ns = ns_at(time, "Start Timestamp(us)", kUs);
    one.elapse_ns = ns_at(time, "Elapse Time(ms)", kMs);
    one.transfer_ns = ns_at(time, "Transit Time(ms)", kMs);
    one.wait_ns = ns_at(time, "Wait Time(ms)", kMs);
    one.synchronize_ns = ns_at(time, "Synchronization Time(ms)", kMs);
    one.idle_ns = ns_at(time, "Idle Time(ms)", kMs);
  }
  if (!is_object_at(json, "Communication Bandwidth Info")) return one;
  for (const auto& [link, use] : json["Communication Bandwidth Info"].items()) {
    if (!use.is_object()) continue;
    const double megabytes = number_at(use, "Transit Size(MB)");
    if (megabytes <= 0) continue;
    one.links.push_back({link, megabytes, ns_at(use, "Transit Time(ms)", kMs),
                         number_at(use, "Bandwidth(GB/s)"), small_share_of(use, link)});
  }
  return one;
}

void sort_by_start(Rank& rank) {
  std::ranges::sort(rank.collectives, [](const Collective& a, const Collective& b) {
    return std::tie(a.start_ns, a.name) < std::tie(b.start_ns, b.name);
  });
}

std::optional<std::int64_t> rank_number(std::string_view text) {
  const auto number = number_of(text);
  if (!number || *number < 0 || *number > 1e6) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

// "0-8"; nullopt: no pair of two ranks.
std::optional<PairUse> pair_of(const std::string& pair, const Json& use) {
  const std::size_t dash = pair.find('-');
  if (dash == pair.npos || !use.is_object()) return std::nullopt;
  const auto from = rank_number(pair.substr(0, dash)), to = rank_number(pair.substr(dash + 1));
  if (!from || !to || *from == *to) return std::nullopt;
  const auto type = use.find("Transport Type");
  return PairUse{*from, *to, type != use.end() && type->is_string() ? type->get<std::string>() : "",
                 number_at(use, "Transit Size(MB)"), ns_at(use, "Transit Time(ms)", 1e6)};
}

}  // namespace

Rank& rank_of(Profile& profile, std::int64_t number, const std::string& where) {
  const auto found = std::ranges::find(profile.ranks, number, &Rank::rank);
  if (found != profile.ranks.end()) return *found;
  Rank& fresh = profile.ranks.emplace_back();
  fresh.rank = number;
  fresh.source = where;
  return fresh;
}

Result<void> read_communication(std::istream& bytes, const std::string& where, Rank& rank) {
  NB_TRY(const Json json, json_of(bytes, where));
  for (const auto& [step, kinds] : json.items()) {
    if (!kinds.is_object())
      return bad_input(fmt::format("{}: /{}: not an object of collective and p2p", where, step));
    for (const auto& [kind, ops] : kinds.items()) {
      if (!ops.is_object()) continue;
      for (const auto& [name, op] : ops.items()) {
        if (name == "Total Op Info" || !op.is_object()) continue;
        Collective one = collective_of(name, op);
        one.step = step.starts_with("step") ? step.substr(4) : step;
        one.is_point_to_point = kind == "p2p";
        rank.collectives.push_back(std::move(one));
      }
    }
  }
  sort_by_start(rank);
  return {};
}

Result<void> read_cluster_communication(std::istream& bytes, const std::string& where,
                                        Profile& profile) {
  NB_TRY(const Json json, json_of(bytes, where));
  for (const auto& [group, steps] : json.items()) {
    if (!steps.is_object())
      return bad_input(fmt::format("{}: /{}: not an object of steps", where, group));
    for (const auto& [step, ops] : steps.items()) {
      if (!ops.is_object()) continue;
      for (const auto& [name, ranks] : ops.items()) {
        if (name == "Total Op Info" || !ranks.is_object()) continue;
        for (const auto& [number, op] : ranks.items()) {
          const auto rank = rank_number(number);
          if (!rank || !op.is_object()) continue;
          Collective one = collective_of(name, op);
          one.step = step.starts_with("step") ? step.substr(4) : step;
          one.is_point_to_point = group == "p2p";
          rank_of(profile, *rank, where).collectives.push_back(std::move(one));
        }
      }
    }
  }
  for (Rank& rank : profile.ranks) sort_by_start(rank);
  return {};
}

Result<void> read_cluster_matrix(std::istream& bytes, const std::string& where, Profile& profile) {
  NB_TRY(const Json json, json_of(bytes, where));
  for (const auto& [group, steps] : json.items()) {
    if (!steps.is_object()) continue;
    for (const auto& [step, ops] : steps.items()) {
      if (!ops.is_object()) continue;
      for (const auto& [name, pairs] : ops.items()) {
        if (!pairs.is_object() || name.starts_with("total")) continue;
        for (const auto& [pair, use] : pairs.items())
          if (const auto one = pair_of(pair, use))
            rank_of(profile, one->from, where).pairs.push_back(*one);
      }
    }
  }
  return {};
}

Result<void> read_communication_matrix(std::istream& bytes, const std::string& where, Rank& rank) {
  NB_TRY(const Json json, json_of(bytes, where));
  for (const auto& [step, kinds] : json.items()) {
    if (!kinds.is_object()) continue;
    for (const auto& [kind, ops] : kinds.items()) {
      if (!ops.is_object()) continue;
      for (const auto& [name, pairs] : ops.items()) {
        if (!pairs.is_object() || name.starts_with("total")) continue;
        for (const auto& [pair, use] : pairs.items())
          if (const auto one = pair_of(pair, use)) rank.pairs.push_back(*one);
      }
    }
  }
  return {};
}

Result<void> read_profiler_info(std::istream& bytes, const std::string& where, Rank& rank) {
  NB_TRY(const Json json, json_of(bytes, where));
  if (const auto number = json.find("rank_id"); number != json.end() && number->is_number_integer())
    rank.rank = number->get<std::int64_t>();
  if (!is_object_at(json, "config")) return {};
  const Json& config = json["config"];
  if (is_object_at(config, "common_config")) {
    const Json& common = config["common_config"];
    const auto flag = [&](const char* key) -> std::optional<bool> {
      const auto found = common.find(key);
      if (found == common.end() || !found->is_boolean()) return std::nullopt;
      return found->get<bool>();
    };
    rank.with_stack = flag("with_stack");
    rank.record_shapes = flag("record_shapes");
    rank.profile_memory = flag("profile_memory");
  }
  if (is_object_at(config, "experimental_config"))
    if (const auto level = config["experimental_config"].find("_profiler_level");
        level != config["experimental_config"].end() && level->is_string())
      rank.level = level->get<std::string>();
  return {};
}

Result<void> read_profiler_metadata(std::istream& bytes, const std::string& where, Rank& rank) {
  NB_TRY(const Json json, json_of(bytes, where));
  if (is_object_at(json, "ENV_VARIABLES"))
    for (const auto& [name, value] : json["ENV_VARIABLES"].items())
      if (value.is_string()) rank.environment[name] = value.get<std::string>();
  if (is_object_at(json, "distributed_info"))
    if (const auto size = json["distributed_info"].find("world_size");
        size != json["distributed_info"].end() && size->is_number_integer())
      rank.world_size = size->get<std::int64_t>();
  return {};
}

}  // namespace nb::profiler
