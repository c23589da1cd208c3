#include "harness/doctor/smi.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "harness/base/csv.hpp"
#include "harness/base/fs.hpp"
#include "model/device/profile.hpp"

namespace nb {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kIdlePowerW = 94.3;
constexpr double kBusyPowerW = 310;  // estimate: below the 350 to 400 W that cards are rated for
constexpr int kIdleTemperatureC = 53, kBusyTemperatureC = 61;
constexpr int kBusyPercent = 100;  // the simulated cores are not sampled
// Bus numbers of a dump of eight cards; hosts differ in the order.
constexpr std::array<std::string_view, 8> kBuses = {"C1", "C2", "81", "82", "01", "02", "41", "42"};

constexpr std::string_view kTop =
    "+---------------------------------------------------------------------------------------------"
    "---"
    "+\n";
constexpr std::string_view kThin =
    "+---------------------------+---------------+-------------------------------------------------"
    "---"
    "+\n";
constexpr std::string_view kThick =
    "+===========================+===============+================================================="
    "==="
    "+\n";

// "ascend_910b3" → "910B3". The dies of a 910C call themselves Ascend910.
std::string chip_name(const std::string& profile) {
  std::string name = profile.substr(profile.find('_') + 1);
  if (name == "910c") return "Ascend910";
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return name;
}

std::string whole(double value) { return fmt::format("{:.0f}", value); }

// Two lines of a chip.
std::string chip_lines(const SmiView& view, std::size_t index) {
  const SmiChip& chip = view.chips[index];
  const auto per_card = static_cast<std::size_t>(view.chips_per_card);
  const std::string power = chip.power_w > 0 ? fmt::format("{:.1f}", chip.power_w) : "-";
  const std::string chip_column =
      per_card > 1 ? fmt::format("{:<5} {}", index % per_card, index) : "0";
  return fmt::format("| {:<5} {:<19} | {:<13} | {:<11} {:<17} {:<5}/ {:<13} |\n", index / per_card,
                     chip.name, "OK", power, chip.temperature_c, 0, 0) +
         fmt::format("| {:<25} | {:<13} | {:<11} {:<5}/ {:<10} {:<5}/ {:<13} |\n", chip_column,
                     chip.bus_id, chip.core_percent, 0, 0, whole(chip.used_mb),
                     whole(chip.capacity_mb));
}

std::string process_lines(const SmiView& view, std::size_t index) {
  const auto per_card = static_cast<std::size_t>(view.chips_per_card);
  std::string text;
  for (const SmiProcess& process : view.chips[index].processes)
    text +=
        fmt::format("| {:<7} {:<17} | {:<13} | {:<24} | {:<23} |\n", index / per_card,
                    index % per_card, process.process_id, process.name, whole(process.memory_mb));
  return text;
}

// Is the lock of that file held by another process?
bool is_held(const fs::path& path, std::string& holder) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool held = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0;
  char text[300];
  const ssize_t got = ::pread(descriptor, text, sizeof text, 0);
  ::close(descriptor);
  holder.assign(text, got > 0 ? static_cast<std::size_t>(got) : 0);
  return held;
}

// "process 123 on host" → 123; 0: it says something else.
std::int64_t process_id_in(const std::string& holder) {
  constexpr std::string_view kStart = "process ";
  if (!holder.starts_with(kStart)) return 0;
  std::int64_t id = 0;
  std::from_chars(holder.data() + kStart.size(), holder.data() + holder.size(), id);
  return id;
}

double peak_mb(const fs::path& steps) {
  const auto table = read_csv(steps, CsvFormulas::kUnquoted);
  if (!table || table->rows.empty()) return 0;
  const auto column = table->column("peak_memory_bytes");
  if (!column) return 0;
  for (auto row = table->rows.rbegin(); row != table->rows.rend(); ++row) {
    double bytes = 0;
    const std::string& cell = (*row)[*column];
    if (std::from_chars(cell.data(), cell.data() + cell.size(), bytes).ec == std::errc())
      return bytes / kMiB;
  }
  return 0;
}

}  // namespace

Result<SmiView> smi_view(const DeviceProfile& profile, const std::vector<SmiProcess>& processes) {
  if (profile.identity.kind != "npu")
    return bad_input(
        fmt::format("smi shows Ascend cards as npu-smi does; {} is a {} (npubench list devices)",
                    profile.name(), profile.identity.kind));
  SmiView view;
  const bool is_package = chip_name(profile.name()) == "Ascend910";
  view.chips_per_card = is_package ? 2 : 1;
  const double capacity_mb = profile.memory.main.capacity.value * 1024;
  const double reserved_mb = capacity_mb - profile.memory.usable.value * 1024;
  for (std::int64_t i = 0; i < profile.links.devices.whole(); ++i) {
    const auto index = static_cast<std::size_t>(i);
    SmiChip chip;
    chip.name = chip_name(profile.name());
    chip.bus_id =
        fmt::format("000{}:{}:00.0", index / kBuses.size(), kBuses[index % kBuses.size()]);
    if (index < processes.size()) chip.processes = {processes[index]};
    const bool is_busy = !chip.processes.empty();
    const bool is_second = is_package && index % 2 == 1;
    chip.power_w = is_second ? 0 : is_busy ? kBusyPowerW : kIdlePowerW;
    chip.temperature_c = is_busy ? kBusyTemperatureC : kIdleTemperatureC;
    chip.core_percent = is_busy ? kBusyPercent : 0;
    chip.capacity_mb = capacity_mb;
    chip.used_mb = reserved_mb + (is_busy ? chip.processes.front().memory_mb : 0);
    view.chips.push_back(std::move(chip));
  }
  return view;
}

std::string smi_text(const SmiView& view) {
  const auto per_card = static_cast<std::size_t>(view.chips_per_card);
  std::string text(kTop);
  text += fmt::format("| {:<32} {:<61} |\n", "npu-smi " + view.version, "Version: " + view.version);
  text += kThin;
  text +=
      "| NPU   Name                | Health        | Power(W)    Temp(C)           "
      "Hugepages-Usage(page)|\n";
  text += per_card > 1
              ? "| Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory-Usage(MB)  "
                "HBM-Usage(MB)        |\n"
              : "| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  "
                "HBM-Usage(MB)        |\n";
  text += kThick;
  for (std::size_t i = 0; i < view.chips.size(); ++i) {
    text += chip_lines(view, i);
    text += i % per_card + 1 == per_card ? kThick : kTop;
  }
  text += kThin;
  text +=
      "| NPU     Chip              | Process id    | Process name             | Process "
      "memory(MB)      |\n";
  text += kThick;
  for (std::size_t card = 0; card * per_card < view.chips.size(); ++card) {
    std::string lines;
    for (std::size_t i = card * per_card; i < (card + 1) * per_card && i < view.chips.size(); ++i)
      lines += process_lines(view, i);
    if (lines.empty())
      lines =
          fmt::format("| {:<94} |\n", fmt::format("No running processes found in NPU {}", card));
    text += lines;
    text += kThick;
  }
  return text;
}

Json smi_json(const SmiView& view) {
  Json chips = Json::array();
  for (std::size_t i = 0; i < view.chips.size(); ++i) {
    const SmiChip& chip = view.chips[i];
    Json processes = Json::array();
    for (const SmiProcess& p : chip.processes)
      processes.push_back(
          {{"process_id", p.process_id}, {"name", p.name}, {"memory_mib", p.memory_mb}});
    chips.push_back({{"npu", i / static_cast<std::size_t>(view.chips_per_card)},
                     {"chip", i % static_cast<std::size_t>(view.chips_per_card)},
                     {"name", chip.name},
                     {"health", "OK"},
                     {"bus_id", chip.bus_id},
                     {"temperature_c", chip.temperature_c},
                     {"core_percent", chip.core_percent},
                     {"used_mib", chip.used_mb},
                     {"capacity_mib", chip.capacity_mb},
                     {"processes", processes}});
    if (chip.power_w > 0) chips.back()["power_w"] = chip.power_w;
  }
  return {{"version", view.version}, {"clock", "sim"}, {"chips", chips}};
}

std::vector<SmiProcess> running_nodes(const fs::path& results) {
  std::vector<fs::path> locks;
  std::error_code error;
  for (const auto& suite : fs::directory_iterator(results, error))
    for (const auto& lock : fs::directory_iterator(suite.path() / ".locks", error))
      locks.push_back(lock.path());
  std::sort(locks.begin(), locks.end());
  std::vector<SmiProcess> processes;
  for (const fs::path& lock : locks) {
    std::string holder;
    if (!is_held(lock, holder)) continue;
    const fs::path node = lock.parent_path().parent_path() / lock.filename();
    processes.push_back({process_id_in(holder), "npubench", peak_mb(node / "steps.csv")});
  }
  return processes;
}

}  // namespace nb
