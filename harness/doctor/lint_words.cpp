#include "harness/doctor/lint_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "harness/base/fields.hpp"
#include "harness/base/fs.hpp"
#include "harness/doctor/network.hpp"
#include "harness/doctor/pattern.hpp"
#include "harness/doctor/rank_table.hpp"
#include "harness/doctor/version_number.hpp"
#include "harness/doctor/visible_devices.hpp"
#include "model/device/alloc_conf.hpp"

namespace nb::doctor {
namespace {

void say(const Scene& scene, std::string_view name, std::string value) {
  if (scene.arguments != nullptr)
    scene.arguments->emplace_back(std::string(name), std::move(value));
}

bool has_value(const Scene& scene) { return scene.own != nullptr && !scene.own->is_computed; }

std::optional<long long> integer(std::string_view text) {
  long long value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || at != text.data() + text.size()) return std::nullopt;
  return value;
}

// ---- the mask of visible devices

constexpr int kManyCards = 1 << 20;  // where the number of cards is not known

std::optional<VisibleDevices> mask(const Scene& scene) {
  if (!has_value(scene)) return std::nullopt;
  const int cards = static_cast<int>(scene.facts->number("cards").value_or(kManyCards));
  auto seen = visible_devices(scene.own->value, std::max(1, cards));
  say(scene, "rest",
      fmt::format("\"{}\"",
                  scene.own->value.substr(0, scene.own->value.size() - seen.rest.size())));
  say(scene, "n", std::to_string(seen.ids.size()));
  return seen;
}
Known mask_ended(const Scene& scene, MaskEnd end) {
  const auto seen = mask(scene);
  return seen ? known(seen->end == end) : Known::kNo;
}
Known mask_stops_early(const Scene& scene) {
  if (has_value(scene)) {
    // How many it names: what a reader takes the list for.
    std::size_t named = 0;
    bool in_number = false;
    for (const char c : scene.own->value) {
      const bool digit = c >= '0' && c <= '9';
      named += digit && !in_number ? 1U : 0U;
      in_number = digit;
    }
    say(scene, "m", std::to_string(named));
  }
  return mask_ended(scene, MaskEnd::kStopped);
}
Known mask_not_ascending(const Scene& scene) { return mask_ended(scene, MaskEnd::kNotAscending); }
Known mask_duplicate(const Scene& scene) { return mask_ended(scene, MaskEnd::kDuplicate); }
Known mask_beyond(const Scene& scene) {
  const auto cards = scene.facts->number("cards");
  if (!cards || !has_value(scene)) return Known::kUnknown;
  const auto seen = visible_devices(scene.own->value, static_cast<int>(std::max(1LL, *cards)));
  say(scene, "v", seen.rest.substr(0, seen.rest.find(',')));
  say(scene, "id", seen.rest.substr(0, seen.rest.find(',')));
  say(scene, "n", std::to_string(*cards));
  say(scene, "n-1", std::to_string(*cards - 1));
  return known(seen.end == MaskEnd::kBeyond);
}

// ---- logs and remarks

constexpr std::array<std::string_view, 5> kLevels = {"DEBUG", "INFO", "WARN", "ERROR", "NONE"};

Known remark_names_other_level(const Scene& scene) {
  if (!has_value(scene)) return Known::kNo;
  const auto level = integer(scene.own->value);
  if (!level || *level < 0 || *level > 4) return Known::kNo;
  std::string remark = scene.own->remark;
  std::transform(remark.begin(), remark.end(), remark.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  for (std::size_t i = 0; i < 4; ++i) {
    if (remark.find(kLevels[i]) == remark.npos) continue;
    say(scene, "word", std::string(kLevels[i]));
    say(scene, "name", std::string(kLevels[static_cast<std::size_t>(*level)]));
    return known(kLevels[i] != kLevels[static_cast<std::size_t>(*level)]);
  }
  return Known::kNo;
}

// ---- Python

Known of_setting(const Scene& scene, bool Setting::*member) {
  return known(scene.own != nullptr && scene.own->*member);
}
Known overwrites(const Scene& scene) {
  say(scene, "old", "?");
  return of_setting(scene, &Setting::overwrites);
}
Known after_import(const Scene& scene) { return of_setting(scene, &Setting::after_import); }
Known after_torch(const Scene& scene) {
  // Names that no library reads at its import are nobody's business.
  return known(scene.own != nullptr && scene.own->after_torch &&
               find_variable(scene.own->name) != nullptr);
}
Known is_static(const Scene& scene) { return known(scene.script != nullptr); }

// ---- paths

std::vector<std::string> paths_of(const std::string& value) {
  std::vector<std::string> paths;
  for (std::size_t at = 0; at <= value.size();) {
    const std::size_t end = std::min(value.find(':', at), value.size());
    if (end > at) paths.push_back(value.substr(at, end - at));
    at = end + 1;
  }
  return paths;
}
Known driver_on_path(const Scene& scene) {
  if (!has_value(scene) || !scene.facts->is_machine) return Known::kUnknown;
  std::error_code error;
  for (const std::string& path : paths_of(scene.own->value))
    if (fs::exists(scene.facts->root + path + "/libascend_hal.so", error)) return Known::kYes;
  return Known::kNo;
}
Known cann_versions_mixed(const Scene& scene) {
  if (!has_value(scene)) return Known::kNo;
  static const Pattern version(
      R"(/(?:ascend-toolkit/|cann-)(\d+\.\d+(?:\.(?:RC|rc)?\d+)?(?:\.\w+)?))");
  std::string first;
  for (const std::string& path : paths_of(scene.own->value)) {
    const auto found = version.match(path);
    if (found.empty()) continue;
    const std::string one = normal_version(found[1]);
    if (first.empty()) {
      first = one;
    } else if (one != first) {
      say(scene, "a", first);
      say(scene, "b", one);
      return Known::kYes;
    }
  }
  return Known::kNo;
}
Known default_device_misplaced(const Scene& scene) {
  const std::string* cann = scene.facts->find("cann");
  if (!has_value(scene) || !scene.facts->is_machine || cann == nullptr) return Known::kUnknown;
  const auto json = read_json(scene.facts->root + scene.own->value);
  if (!json) return Known::kYes;
  const bool wants = compare_versions(*cann, "8.3.RC1") >= 0;
  return known(wants != (json->is_object() && json->contains("defaultDevice")));
}
Known bad_rank_table(const Scene& scene) {
  if (!has_value(scene) || !scene.facts->is_machine) return Known::kUnknown;
  const fs::path path = scene.facts->root + scene.own->value;
  std::error_code error;
  if (!fs::exists(path, error)) {
    say(scene, "reason", scene.own->value + " does not exist");
    return Known::kYes;
  }
  if (fs::is_symlink(path, error)) {
    say(scene, "reason", scene.own->value + " is a symbolic link");
    return Known::kYes;
  }
  const auto text = read_file(path);
  const auto table = text ? read_rank_table(*text, scene.own->value)
                          : Result<RankTable>(bad_input(text.error().message));
  if (table) return Known::kNo;
  say(scene, "reason", table.error().message);
  return Known::kYes;
}

// ---- the allocator

Known unknown_alloc_key(const Scene& scene) {
  if (!has_value(scene)) return Known::kNo;
  std::string text = scene.own->value;
  std::erase(text, ' ');
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string entry = text.substr(at, end - at);
    at = end + 1;
    const std::string key = entry.substr(0, entry.find(':'));
    if (key.empty() || is_alloc_conf_key(key)) continue;
    say(scene, "k", key);
    return Known::kYes;
  }
  return Known::kNo;
}

// ---- cores

// "mode:1,npu0:0-23,npu1:24-47": of each card its cores.
std::vector<std::array<long long, 3>> bound_cores(const std::string& value) {
  static const Pattern one(R"(^npu(\d+):(\d+)-(\d+)$)");
  std::vector<std::array<long long, 3>> found;
  for (std::size_t at = 0; at <= value.size();) {
    const std::size_t end = std::min(value.find(',', at), value.size());
    const std::string entry = value.substr(at, end - at);
    at = end + 1;
    const auto match = one.match(entry);
    if (match.size() == 4)
      found.push_back({integer(match[1]).value_or(-1), integer(match[2]).value_or(-1),
                       integer(match[3]).value_or(-1)});
  }
  return found;
}
Known outside_cores(const Scene& scene) {
  const auto cores = scene.facts->number("cores");
  if (!has_value(scene) || !cores) return Known::kUnknown;
  for (const auto& [card, first, last] : bound_cores(scene.own->value)) {
    if (first >= 0 && first <= last && last < *cores) continue;
    say(scene, "v", fmt::format("{}-{}", first, last));
    say(scene, "range", fmt::format("{}-{}", first, last));
    say(scene, "n", std::to_string(*cores));
    say(scene, "n-1", std::to_string(*cores - 1));
    return Known::kYes;
  }
  return Known::kNo;
}
Known off_topology(const Scene& scene) {
  if (!has_value(scene) || scene.facts->affinity.empty()) return Known::kUnknown;
  for (const auto& [card, first, last] : bound_cores(scene.own->value)) {
    const auto near = scene.facts->affinity.find(static_cast<int>(card));
    if (near == scene.facts->affinity.end()) continue;
    const std::size_t dash = near->second.find('-');
    const auto low = integer(std::string_view(near->second).substr(0, dash));
    const auto high =
        dash == std::string::npos ? low : integer(std::string_view(near->second).substr(dash + 1));
    if (!low || !high || (first >= *low && last <= *high)) continue;
    say(scene, "x", std::to_string(card));
    say(scene, "a", near->second);
    say(scene, "b", fmt::format("{}-{}", first, last));
    return Known::kYes;
  }
  return Known::kNo;
}
Known threads_exceed_cores(const Scene& scene) {
  const auto ranks = scene.facts->number("ranks"), cores = scene.facts->number("cores");
  if (!has_value(scene) || !ranks || !cores) return Known::kUnknown;
  const auto threads = integer(scene.own->value);
  say(scene, "ranks", std::to_string(*ranks));
  say(scene, "n", std::to_string(*cores));
  return known(threads && *threads > 0 && *threads < (1LL << 32) && *ranks * *threads > *cores);
}

// ---- collectives

Known process_group_shorter(const Scene& scene) {
  constexpr long long kDefault =
      1800;  // torch's own: torch_npu then takes HCCL_EXEC_TIMEOUT + 1800
  const auto limit = scene.facts->number("pg_timeout_s");
  if (!has_value(scene) || !limit) return Known::kUnknown;
  const auto own = integer(scene.own->value);
  say(scene, "t", std::to_string(*limit));
  say(scene, "e", scene.own->value);
  return known(own && *limit != kDefault && *limit <= *own);
}
Known hccl_buffers_large(const Scene& scene) {
  const auto groups = scene.facts->number("communicators"), memory = scene.facts->number("hbm_mb");
  if (!has_value(scene) || !groups || !memory) return Known::kUnknown;
  const auto size = integer(scene.own->value);
  if (!size || *size <= 0 || *size > *memory) return Known::kNo;
  const long long held = 2 * *size * *groups;  // one to send and one to receive
  say(scene, "n", std::to_string(*groups));
  say(scene, "m", std::to_string(held));
  return known(static_cast<double>(held) > 0.05 * static_cast<double>(*memory));
}

// ---- network

Known own_address(const Scene& scene) {
  if (!has_value(scene) || !scene.facts->interfaces) return Known::kUnknown;
  for (const NetworkCard& card : *scene.facts->interfaces)
    for (const std::string& address : card.addresses)
      if (address == scene.own->value) return Known::kYes;
  return Known::kNo;
}
Known no_interface_matches(const Scene& scene) {
  if (!has_value(scene) || !scene.facts->interfaces) return Known::kUnknown;
  std::string names;
  for (const NetworkCard& card : *scene.facts->interfaces)
    names += (names.empty() ? "" : ", ") + card.name;
  say(scene, "list", names);
  return known(std::none_of(
      scene.facts->interfaces->begin(), scene.facts->interfaces->end(),
      [&](const NetworkCard& card) { return takes_card(scene.own->value, card.name); }));
}
Known listens(const Scene& scene) {
  if (!has_value(scene) || !scene.facts->listening) return Known::kUnknown;
  const auto port = integer(scene.own->value);
  return known(port && *port >= 0 && *port < 65536 &&
               scene.facts->listening->contains(static_cast<int>(*port)));
}
Known base_port_taken(const Scene& scene) {
  constexpr int kPorts = 32;  // hicann/hccl docs, HCCL_IF_BASE_PORT
  if (!has_value(scene)) return Known::kUnknown;
  const auto base = integer(scene.own->value);
  if (!base || *base < 0 || *base > 65535 - kPorts) return Known::kNo;
  say(scene, "base", std::to_string(*base));
  say(scene, "base+31", std::to_string(*base + kPorts - 1));
  if (!scene.facts->listening && !scene.facts->local_ports) return Known::kUnknown;
  for (int port = static_cast<int>(*base); port < *base + kPorts; ++port) {
    const bool is_taken = scene.facts->listening && scene.facts->listening->contains(port);
    const bool is_lent = scene.facts->local_ports && port >= scene.facts->local_ports->first &&
                         port <= scene.facts->local_ports->second &&
                         !scene.facts->reserved_ports.contains(port);
    if (!is_taken && !is_lent) continue;
    say(scene, "p", std::to_string(port));
    return Known::kYes;
  }
  return Known::kNo;
}

// ---- names

Known misspelt(const Scene& scene) {
  if (scene.own == nullptr || find_variable(scene.own->name) != nullptr) return Known::kNo;
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const EnvironmentRow& row : environment_rows())
      if (row.variable.find('_') != row.variable.npos &&
          row.variable.find('*') == row.variable.npos)
        all.push_back(row.variable);
    return all;
  }();
  const std::string near = nearest_name(scene.own->name, names);
  // One letter more, less or other, or two changed places: more is another name.
  const auto off = near.size() > scene.own->name.size() ? near.size() - scene.own->name.size()
                                                        : scene.own->name.size() - near.size();
  if (near.empty() || off > 2) return Known::kNo;
  std::size_t same = 0;
  while (same < std::min(near.size(), scene.own->name.size()) &&
         near[same] == scene.own->name[same])
    ++same;
  std::size_t tail = 0;
  while (tail < std::min(near.size(), scene.own->name.size()) - same &&
         near[near.size() - 1 - tail] == scene.own->name[scene.own->name.size() - 1 - tail])
    ++tail;
  if (std::max(near.size(), scene.own->name.size()) - same - tail > 2) return Known::kNo;
  say(scene, "name", scene.own->name);
  say(scene, "near", near);
  return Known::kYes;
}

// ---- lines of scripts

Known pip_unpinned(const Scene& scene) {
  static const Pattern pip(R"(^\s*(?:RUN\s+|sudo\s+|python3?\s+-m\s+)*pip3?\s+install\b)");
  static const Pattern torch(R"((?<![\w./-])(?:torch|torch_npu|torch-npu)(?![\w.=<>~-]))");
  if (scene.line == nullptr || !pip.found_in(scene.line->text)) return Known::kNo;
  return known(torch.found_in(scene.line->text));
}
Known docker_lacks_driver(const Scene& scene) {
  static const Pattern run(R"(^\s*(?:sudo\s+)?docker\s+run\b.*/dev/davinci\d)");
  if (scene.line == nullptr || !run.found_in(scene.line->text)) return Known::kNo;
  constexpr std::array<std::string_view, 7> kParts = {
      "davinci_manager", "devmm_svm", "hisi_hdc", "driver/lib64",
      "version.info",    "npu-smi",   "dcmi"};
  std::string missing;
  for (const std::string_view part : kParts)
    if (scene.line->text.find(part) == std::string::npos &&
        scene.line->text.find("--privileged") == std::string::npos)
      missing += (missing.empty() ? "" : ", ") + std::string(part);
  say(scene, "list", missing);
  return known(!missing.empty());
}
Known exit_code_hidden(const Scene& scene) {
  static const Pattern keeps(R"(^\s*EXIT_CODE=\$\?)");
  static const Pattern exits(R"(^\s*set\s+-\w*e)");
  if (scene.line == nullptr || scene.script == nullptr || !keeps.found_in(scene.line->text))
    return Known::kNo;
  bool is_on = false;
  for (const Line& line : scene.script->lines) {
    if (line.number >= scene.line->number) break;
    if (line.text.starts_with("```")) is_on = false;  // another program of a guide
    if (exits.found_in(line.text)) is_on = true;
    if (line.text.find("set +e") != std::string::npos) is_on = false;
  }
  return known(is_on);
}

constexpr LintWord kWords[] = {
    {"mask_stops_early", mask_stops_early},
    {"mask_not_ascending", mask_not_ascending},
    {"mask_duplicate", mask_duplicate},
    {"mask_beyond", mask_beyond},
    {"remark_names_other_level", remark_names_other_level},
    {"overwrites", overwrites},
    {"after_import", after_import},
    {"after_torch", after_torch},
    {"static", is_static},
    {"driver_on_path", driver_on_path},
    {"cann_versions_mixed", cann_versions_mixed},
    {"default_device_misplaced", default_device_misplaced},
    {"bad_rank_table", bad_rank_table},
    {"unknown_alloc_key", unknown_alloc_key},
    {"outside_cores", outside_cores},
    {"off_topology", off_topology},
    {"threads_exceed_cores", threads_exceed_cores},
    {"process_group_shorter", process_group_shorter},
    {"hccl_buffers_large", hccl_buffers_large},
    {"own_address", own_address},
    {"no_interface_matches", no_interface_matches},
    {"listens", listens},
    {"base_port_taken", base_port_taken},
    {"misspelt", misspelt},
    {"pip_unpinned", pip_unpinned, true},
    {"docker_lacks_driver", docker_lacks_driver, true},
    {"exit_code_hidden", exit_code_hidden, true},
};

}  // namespace

std::span<const LintWord> lint_words() { return kWords; }

}  // namespace nb::doctor
