#include "harness/doctor/machine.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "harness/base/fs.hpp"
#include "harness/base/host_info.hpp"
#include "harness/base/subprocess.hpp"
#include "harness/base/table.hpp"
#include "harness/doctor/card_checks.hpp"
#include "harness/doctor/found_versions.hpp"
#include "harness/doctor/host_name.hpp"
#include "harness/doctor/lint.hpp"
#include "harness/doctor/network.hpp"
#include "harness/doctor/pattern.hpp"
#include "harness/doctor/pci.hpp"
#include "harness/doctor/version_number.hpp"
#include "harness/doctor/version_rules.hpp"

extern char** environ;

namespace nb::doctor {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr double kRankGiB = 8;        // of host memory that a rank takes
constexpr double kDockerShmMiB = 64;  // Docker's own size of /dev/shm
constexpr rlim_t kFewFiles = 4096;
constexpr int kMasterPort = 29500, kHcclPort = 60000, kHcclPorts = 32;
constexpr std::chrono::seconds kCommandLimit(10);

std::string gib(double bytes) { return human_bytes(bytes); }

class Machine {
 public:
  Machine(const MachineOptions& options, const Facts& given) : options_(options) {
    findings_.is_captured = false;
    findings_.facts = given;
    facts().is_machine = true;
    facts().root = options.root;
  }

  Findings run() {
    system();
    memory();
    disks();
    limits();
    processors();
    network();
    name_of_host();
    cards();
    toolkit();
    packages();
    for (Check& check : lint_environment(options_.environment, facts(), "", true))
      add(std::move(check));
    for (Check& check : check_versions(facts(), "")) add(std::move(check));
    sort_checks(findings_.checks);
    return std::move(findings_);
  }

 private:
  Facts& facts() { return findings_.facts; }
  void add(Check check) { findings_.checks.push_back(std::move(check)); }
  std::string path(std::string_view absolute) const {
    return options_.root + std::string(absolute);
  }
  std::string text_at(std::string_view absolute) const {
    return read_file(path(absolute)).value_or("");
  }
  bool is_there(std::string_view absolute) const {
    std::error_code error;
    return fs::exists(path(absolute), error);
  }
  std::string variable(std::string_view name) const {
    for (const Setting& setting : options_.environment)
      if (setting.name == name) return setting.value;
    return "";
  }

  void say(std::string_view id, std::string_view key, State state, Arguments arguments = {}) {
    Check check;
    check.id = id;
    check.group = id.starts_with("NPU") ? "cards" : "machine";
    check.state = state;
    check.said = {std::string(key), std::move(arguments)};
    if (const SentenceRow* row = find_sentence(key)) check.source = row->source;
    add(std::move(check));
  }

  // SYS1
  void system() {
    static const Pattern pretty(R"((?m)^PRETTY_NAME="?([^"\n]*))");
    const std::string release = text_at("/etc/os-release");
    if (const auto m = pretty.match(release); m.size() == 2) facts().add("os", std::string(m[1]));
    utsname name{};
    if (uname(&name) == 0) {
      facts().add("kernel", name.release);
      facts().add("architecture", name.machine);
    }
  }

  // SYS2: what is available, in a container what it may still take.
  void memory() {
    static const Pattern available(R"((?m)^MemAvailable:\s+(\d+) kB)");
    static const Pattern huge(R"((?m)^HugePages_Free:\s+(\d+))");
    const std::string info = text_at("/proc/meminfo");
    const auto m = available.match(info);
    if (m.size() != 2) return;
    double bytes = std::atof(std::string(m[1]).c_str()) * 1024;
    const double limit = std::atof(text_at("/sys/fs/cgroup/memory.max").c_str());
    const double used = std::atof(text_at("/sys/fs/cgroup/memory.current").c_str());
    if (limit > 0) bytes = std::min(bytes, std::max(0.0, limit - used));
    facts().add("memory_bytes", fmt::format("{:.0f}", bytes));
    if (const auto h = huge.match(info); h.size() == 2)
      facts().add("huge_pages_free", std::string(h[1]));
    const auto ranks = facts().number("ranks");
    const auto planned = facts().number("plan_memory_bytes");
    const Arguments arguments = {
        {"have", gib(bytes)},
        {"ranks", std::to_string(ranks.value_or(0))},
        {"need", gib(planned ? static_cast<double>(*planned)
                             : static_cast<double>(ranks.value_or(0)) * kRankGiB * kGiB)}};
    if (planned && bytes < static_cast<double>(*planned))
      return say("SYS2", "SYS2.plan", State::kFail, arguments);
    if (ranks && bytes < static_cast<double>(*ranks) * kRankGiB * kGiB)
      return say("SYS2", "SYS2", State::kWarn, arguments);
    say("SYS2", "SYS2.pass", State::kPass, arguments);
  }

  struct Room {
    double total = 0, available = 0;
  };
  std::optional<Room> room_at(const std::string& folder) const {
    struct statvfs space {};
    if (::statvfs(folder.c_str(), &space) != 0) return std::nullopt;
    const auto unit = static_cast<double>(space.f_frsize);
    return Room{unit * static_cast<double>(space.f_blocks),
                unit * static_cast<double>(space.f_bavail)};
  }

  // SYS3 and SYS4
  void disks() {
    if (const auto shm = room_at(path("/dev/shm"))) {
      const Arguments arguments = {{"size", gib(shm->total)}};
      const bool is_dockers = shm->total <= kDockerShmMiB * 1024 * 1024;
      const bool has_workers = facts().number("loader_workers").value_or(0) > 0;
      if (is_dockers)
        say("SYS3", "SYS3", has_workers ? State::kFail : State::kWarn, arguments);
      else if (shm->total < kGiB)
        say("SYS3", "SYS3", State::kWarn, arguments);
      else
        say("SYS3", "SYS3.pass", State::kPass, arguments);
    }
    const std::string home = variable("HOME");
    const auto planned = facts().number("plan_disk_bytes");
    const std::string results =
        options_.results.empty() ? fs::current_path().string() : options_.results;
    std::vector<std::string> folders = {results, path("/tmp")};
    if (!home.empty()) folders.push_back(path(home));
    for (const std::string& folder : folders) {
      const auto room = room_at(folder);
      if (!room) continue;
      const bool is_results = folder == folders.front();
      const Arguments arguments = {{"folder", folder},
                                   {"have", gib(room->available)},
                                   {"need", gib(static_cast<double>(planned.value_or(0)))}};
      if (room->available < kGiB)
        say("SYS4", "SYS4", State::kFail, arguments);
      else if (is_results && planned && room->available < static_cast<double>(*planned))
        say("SYS4", "SYS4.plan", State::kWarn, arguments);
      else
        say("SYS4", "SYS4.pass", State::kPass, arguments);
    }
  }

  // SYS5
  void limits() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
      const Arguments arguments = {{"n", std::to_string(limit.rlim_cur)}};
      const bool is_few = limit.rlim_cur < kFewFiles;
      say("SYS5", is_few ? "SYS5" : "SYS5.pass", is_few ? State::kWarn : State::kPass, arguments);
    }
    if (getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur == 0)
      say("SYS5", "SYS5.core", State::kNote);
    has_locked_limit_ = getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  }

  // SYS6
  void processors() {
    facts().add("cores", std::to_string(usable_cores(path("/sys/fs/cgroup"))));
    int nodes = 0;
    while (is_there(fmt::format("/sys/devices/system/node/node{}", nodes))) ++nodes;
    if (nodes > 0) facts().add("numa_nodes", std::to_string(nodes));
    std::string governor = text_at("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    while (governor.ends_with("\n")) governor.pop_back();
    if (!governor.empty() && governor != "performance")
      say("SYS6", "SYS6", State::kNote, {{"governor", governor}});
  }

  // SYS8
  void name_of_host() {
    std::string name = text_at("/etc/hostname");
    while (!name.empty() && std::isspace(static_cast<unsigned char>(name.back())) != 0)
      name.pop_back();
    if (name.empty()) return;
    const HostAddress found =
        resolve_host_name(name, text_at("/etc/nsswitch.conf"), text_at("/etc/hosts"),
                          facts().interfaces.value_or(std::vector<NetworkCard>()));
    const bool has_nodes = facts().number("nodes").value_or(1) > 1;
    const Arguments arguments = {
        {"name", name}, {"address", found.address}, {"source", found.source}};
    if (found.state == HostAddress::kFound && !is_loopback_address(found.address))
      return say("SYS8", "SYS8.pass", State::kPass, arguments);
    if (!has_nodes) return;  // nobody else has to find it
    if (found.state == HostAddress::kFound) return say("SYS8", "SYS8", State::kFail, arguments);
    if (found.state == HostAddress::kNone) return say("SYS8", "SYS8.none", State::kFail, arguments);
    say("SYS8", "SYS8.server", State::kUnknown, arguments);
  }

  // SYS9 and SYS10
  void network() {
    if (options_.root.empty()) read_interfaces();
    if (facts().interfaces) {
      const auto several = std::count_if(
          facts().interfaces->begin(), facts().interfaces->end(), [](const NetworkCard& card) {
            return card.name != "lo" && !card.name.starts_with("docker") && !card.addresses.empty();
          });
      facts().add("interfaces", std::to_string(several));
      if (const auto choice = hccl_choice(*facts().interfaces, variable("HCCL_IF_IP"),
                                          variable("HCCL_SOCKET_IFNAME")))
        facts().add("hccl_choice", choice->card + " " + choice->address);
    }
    const std::string tcp = text_at("/proc/net/tcp"), tcp6 = text_at("/proc/net/tcp6");
    if (tcp.empty() && tcp6.empty()) return;
    facts().listening = listening_ports(tcp);
    facts().listening->merge(listening_ports(tcp6));
    read_port_range();
    // What variables set is a rule of environment.csv; without them the defaults count.
    if (variable("MASTER_PORT").empty()) port(kMasterPort, kMasterPort, "MASTER_PORT");
    if (variable("HCCL_IF_BASE_PORT").empty())
      port(kHcclPort, kHcclPort + kHcclPorts - 1, "HCCL_IF_BASE_PORT");
  }
  void port(int first, int last, const char* name) {
    for (int one = first; one <= last; ++one)
      if (facts().listening->contains(one))
        return say("SYS10", "SYS10", State::kFail, {{"port", std::to_string(one)}, {"name", name}});
    say("SYS10", "SYS10.pass", State::kPass, {{"name", name}});
  }
  void read_interfaces() {
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) return;
    std::map<std::string, NetworkCard> cards;
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr) continue;
      NetworkCard& card = cards[one->ifa_name];
      card.name = one->ifa_name;
      char text[INET6_ADDRSTRLEN] = {};
      if (one->ifa_addr->sa_family == AF_INET)
        inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text,
                  sizeof text);
      if (one->ifa_addr->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr, text,
                  sizeof text);
      if (text[0] != '\0') card.addresses.emplace_back(text);
    }
    freeifaddrs(list);
    facts().interfaces.emplace();
    for (auto& [name, card] : cards) facts().interfaces->push_back(std::move(card));
  }
  void read_port_range() {
    int first = 0, last = 0;
    const std::string range = text_at("/proc/sys/net/ipv4/ip_local_port_range");
    if (std::sscanf(range.c_str(), "%d %d", &first, &last) == 2)
      facts().local_ports = {first, last};
    static const Pattern part(R"(^(\d{1,5})(?:-(\d{1,5}))?)");
    const std::string reserved = text_at("/proc/sys/net/ipv4/ip_local_reserved_ports");
    for (std::size_t at = 0; at < reserved.size();) {
      const std::size_t end = std::min(reserved.find(',', at), reserved.size());
      const std::string one = reserved.substr(at, end - at);
      at = end + 1;
      const auto m = part.match(one);
      if (m.size() < 2) continue;
      const int low = std::atoi(std::string(m[1]).c_str());
      const int high = m.size() > 2 ? std::atoi(std::string(m[2]).c_str()) : low;
      for (int each = low; each <= std::min(high, 65535); ++each)
        facts().reserved_ports.insert(each);
    }
  }

  // NPU1, NPU2, and what npu-smi says
  void cards() {
    std::error_code error;
    std::vector<std::string> nodes;
    for (const auto& entry : fs::directory_iterator(path("/dev"), error)) {
      const std::string name = entry.path().filename();
      static const Pattern card(R"(^davinci\d{1,4}$)");
      if (card.found_in(name)) nodes.push_back(name);
    }
    const int on_bus = cards_on_bus();
    if (nodes.empty() && on_bus == 0) {
      facts().add("npu", "0");
      return say("NPU1", "NPU1.none", State::kSkip);
    }
    facts().add("npu", "1");
    facts().add("cards", std::to_string(nodes.size()));
    if (on_bus > static_cast<int>(nodes.size()) && !nodes.empty())
      say("NPU1", "NPU1.bus", State::kNote,
          {{"n", std::to_string(nodes.size())}, {"m", std::to_string(on_bus)}});
    std::string missing, closed;
    for (const char* name : {"davinci_manager", "devmm_svm", "hisi_hdc"}) {
      const std::string node = path(std::string("/dev/") + name);
      if (!fs::exists(node, error))
        missing += (missing.empty() ? "" : ", ") + std::string(name);
      else if (::access(node.c_str(), R_OK | W_OK) != 0)
        closed += (closed.empty() ? "" : ", ") + std::string(name);
    }
    if (nodes.empty()) missing = "davinci0" + (missing.empty() ? "" : ", " + missing);
    if (!missing.empty()) say("NPU1", "NPU1", State::kFail, {{"list", missing}});
    if (!closed.empty()) say("NPU1", "NPU1.closed", State::kFail, {{"list", closed}});
    if (missing.empty() && closed.empty())
      say("NPU1", "NPU1.pass", State::kPass, {{"n", std::to_string(nodes.size())}});
    if (has_locked_limit_) say("SYS5", "SYS5.locked", State::kWarn);
    const auto driver = stated_versions(text_at("/usr/local/Ascend/driver/version.info"));
    if (driver.empty()) say("NPU2", "NPU2", State::kWarn);
    for (const FoundVersion& found : driver) facts().add("hdk", found.version);
    if (options_.runs_commands) ask_commands(nodes.size());
  }
  // Huawei makes bridges and network cards too: accelerators alone (class 0x12).
  int cards_on_bus() {
    std::error_code error;
    int cards = 0;
    const fs::directory_iterator devices(path("/sys/bus/pci/devices"), error);
    if (error && options_.root.empty() && options_.runs_commands) {
      for (const auto& [id, n] : ascend_cards(output_of({"lspci", "-n"}))) cards += n;
      return cards;
    }
    for (const auto& entry : devices)
      if (read_file(entry.path() / "vendor").value_or("").starts_with("0x19e5") &&
          read_file(entry.path() / "class").value_or("").starts_with("0x12"))
        ++cards;
    return cards;
  }
  std::string output_of(const std::vector<std::string>& command) const {
    SubprocessOptions limits;
    limits.time_limit = kCommandLimit;
    const auto result = run_subprocess(command, limits);
    return result ? result->out + result->err : "";
  }
  // Kept for a bundle, each behind its command.
  std::string kept_output_of(const std::vector<std::string>& command) {
    std::string output = output_of(command);
    if (output.empty()) return output;
    output = fmt::format("{}\n{}\n", fmt::join(command, " "), output);
    findings_.command_output += output;
    return output;
  }
  void ask_commands(std::size_t nodes) {
    const std::string text = kept_output_of({"npu-smi", "info"});
    if (text.empty()) return say("NPU4", "NPU4.silent", State::kUnknown);
    static const Pattern refused(R"(ret is (-\d+))");
    if (const auto m = refused.match(text); m.size() == 2)
      return say("NPU4", "NPU4.refused", State::kFail, {{"code", std::string(m[1])}});
    const SmiRead smi = read_smi(text);
    take_smi_facts(smi, facts());
    for (Check& check : check_smi(smi, facts(), "npu-smi")) add(std::move(check));
    if (!smi.chips.empty() && smi.chips.size() < nodes)
      say("NPU4", "NPU4.fewer", State::kFail,
          {{"n", std::to_string(smi.chips.size())}, {"m", std::to_string(nodes)}});
    const Topology topology = read_topology(kept_output_of({"npu-smi", "info", "-t", "topo"}));
    for (const auto& [card, cores] : topology.affinity) facts().affinity.emplace(card, cores);
    if (!topology.links.empty())
      for (Check& check : check_topology(topology, "npu-smi")) add(std::move(check));
    ask_details(smi);
  }
  // NPU7 and NPU8: memory and network of each card. One that does not answer has none of them.
  void ask_details(const SmiRead& smi) {
    std::set<int> cards;
    for (const SmiChipRead& chip : smi.chips) cards.insert(chip.card);
    std::string text;
    for (const int card : cards) {
      const std::string id = std::to_string(card);
      std::vector<std::vector<std::string>> commands = {{"npu-smi", "info", "-t", "ecc", "-i", id}};
      for (const char* what : {"-link", "-ip", "-tls", "-net_health"})
        commands.push_back({"hccn_tool", "-i", id, what, "-g"});
      for (const std::vector<std::string>& command : commands) text += kept_output_of(command);
    }
    for (Check& check : check_card_details(read_card_details(text), facts(), "npu-smi, hccn_tool"))
      add(std::move(check));
  }

  // NPU3
  void toolkit() {
    std::set<std::string> versions;
    std::vector<std::string> roots = {"/usr/local/Ascend/cann",
                                      "/usr/local/Ascend/ascend-toolkit/latest"};
    if (const std::string home = variable("ASCEND_HOME_PATH"); !home.empty())
      roots.insert(roots.begin(), home);
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(path("/usr/local/Ascend"), error))
      if (entry.path().filename().string().starts_with("cann-"))
        roots.push_back("/usr/local/Ascend/" + entry.path().filename().string());
    for (const std::string& root : roots) {
      const std::string version = toolkit_version(root);
      if (version.empty()) continue;
      facts().add("cann", version);
      versions.insert(version);
    }
    if (versions.empty()) return;
    facts().add("ascend_installed", "1");
    std::string list;
    for (const std::string& version : versions) list += (list.empty() ? "" : ", ") + version;
    say("NPU3", versions.size() > 1 ? "NPU3" : "NPU3.pass",
        versions.size() > 1 ? State::kNote : State::kPass, {{"list", list}});
  }
  std::string toolkit_version(const std::string& root) const {
    std::error_code error;
    for (const std::string& folder : {root, root + "/aarch64-linux", root + "/x86_64-linux"})
      for (const auto& entry : fs::directory_iterator(path(folder), error)) {
        const std::string name = entry.path().filename();
        if (!name.starts_with("ascend_") || !name.ends_with("_install.info")) continue;
        for (const FoundVersion& found : stated_versions(read_file(entry.path()).value_or("")))
          if (found.component == "cann") return found.version;
      }
    return "";
  }

  // PY1 and PY2, without Python
  void packages() {
    std::vector<std::string> homes;
    for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
      if (const std::string home = variable(name); !home.empty()) homes.push_back(home);
    std::string search = variable("PATH");
    std::error_code error;
    for (std::size_t at = 0; homes.empty() && at < search.size();) {
      const std::size_t end = std::min(search.find(':', at), search.size());
      const std::string folder = search.substr(at, end - at);
      at = end + 1;
      if (!folder.empty() && fs::exists(path(folder + "/python3"), error))
        homes.push_back(fs::path(folder).parent_path());
    }
    if (const std::string home = variable("HOME"); !home.empty()) homes.push_back(home + "/.local");
    std::map<std::string, std::string> all;
    bool has_any = false;
    for (const std::string& home : homes)
      for (const auto& entry : fs::directory_iterator(path(home + "/lib"), error)) {
        const std::string name = entry.path().filename();
        static const Pattern python(R"(^python(3\.\d{1,2})$)");
        const auto m = python.match(name);
        if (m.size() != 2) continue;
        for (const char* folder : {"site-packages", "dist-packages"}) {
          const auto found = packages_in(entry.path() / folder);
          if (!found.empty()) facts().add("python", std::string(m[1]));
          for (const auto& [package, version] : found) {
            has_any = true;
            const auto [place, is_new] = all.emplace(package, version);
            if (!is_new && place->second != version && is_of_stack(package))
              say("PY1", "PY1", State::kWarn,
                  {{"package", package}, {"a", place->second}, {"b", version}});
          }
          read_torch(entry.path() / folder);
        }
      }
    if (!has_any) return;
    for (const char* component :
         {"torch", "torch_npu", "numpy", "vllm", "vllm_ascend", "mindspeed_llm", "triton_ascend"})
      if (const auto found = all.find(component); found != all.end())
        facts().add(component, normal_version(found->second));
    facts().packages = std::move(all);
    facts().add("packages_are_all", "1");
    if (fs::is_directory("torch_npu", error) && options_.root.empty())
      say("PY2", "PY2", State::kWarn);
  }
  static bool is_of_stack(const std::string& package) {
    return package == "torch" || package == "torch_npu" || package == "numpy" ||
           package == "triton";
  }
  void read_torch(const fs::path& folder) {
    static const Pattern cuda(R"((?m)^cuda(?:: Optional\[str\])? = '(\d+\.\d+)')");
    const std::string version = read_file(folder / "torch" / "version.py").value_or("");
    if (const auto m = cuda.match(version); m.size() == 2)
      facts().add("torch_cuda", std::string(m[1]));
  }

  const MachineOptions& options_;
  Findings findings_;
  bool has_locked_limit_ = false;
};

}  // namespace

std::vector<Setting> own_environment() {
  std::vector<Setting> settings;
  for (char** one = environ; one != nullptr && *one != nullptr; ++one) {
    const std::string text = *one;
    const std::size_t equal = text.find('=');
    if (equal == std::string::npos || equal == 0) continue;
    Setting setting;
    setting.name = text.substr(0, equal);
    setting.value = text.substr(equal + 1);
    settings.push_back(std::move(setting));
  }
  return settings;
}

std::set<int> listening_ports(std::string_view proc_net_tcp) {
  static const Pattern row(R"(^\s*\d+: [0-9A-F]{8,32}:([0-9A-F]{4}) [0-9A-F]+:[0-9A-F]{4} 0A )");
  std::set<int> ports;
  for (std::size_t at = 0; at < proc_net_tcp.size();) {
    const std::size_t end = std::min(proc_net_tcp.find('\n', at), proc_net_tcp.size());
    const auto m = row.match(proc_net_tcp.substr(at, end - at));
    at = end + 1;
    int port = 0;
    if (m.size() == 2) std::from_chars(m[1].data(), m[1].data() + 4, port, 16);
    if (port > 0) ports.insert(port);
  }
  return ports;
}

std::map<std::string, std::string> packages_in(const std::string& site_packages) {
  std::map<std::string, std::string> packages;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(site_packages, error)) {
    std::string name = entry.path().filename();
    constexpr std::string_view kEnding = ".dist-info";
    if (!name.ends_with(kEnding)) continue;
    name.resize(name.size() - kEnding.size());
    const std::size_t dash = name.rfind('-');
    if (dash != std::string::npos)
      packages[package_name(name.substr(0, dash))] = name.substr(dash + 1);
  }
  return packages;
}

Findings examine_machine(const MachineOptions& options, const Facts& given) {
  return Machine(options, given).run();
}

}  // namespace nb::doctor
