#include "harness/doctor/rank_table.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "harness/base/json_io.hpp"

namespace nb::doctor {
namespace {

constexpr std::size_t kLongestServerId = 64;

// Numbers may be texts.
std::optional<long long> integer_of(const Json& json) {
  if (json.is_number_integer() || json.is_number_unsigned()) return json.get<long long>();
  if (!json.is_string()) return std::nullopt;
  const auto& text = json.get_ref<const std::string&>();
  long long value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || at != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string text_of(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end()) return "";
  if (at->is_string()) return at->get<std::string>();
  return at->is_number() ? at->dump() : "";
}

// 4, 6, or 0: no address.
int family_of(const std::string& text) {
  unsigned char bytes[sizeof(in6_addr)];
  if (inet_pton(AF_INET, text.c_str(), bytes) == 1) return 4;
  return inet_pton(AF_INET6, text.c_str(), bytes) == 1 ? 6 : 0;
}

class Reader {
 public:
  explicit Reader(const std::string& where) : where_(where) {}

  Result<RankTable> read(const Json& json) {
    if (!json.is_object()) return refused("the table is no object");
    if (text_of(json, "status") != "completed")
      return refused("status is \"{}\", not \"completed\"", text_of(json, "status"));
    table_.version = text_of(json, "version");
    if (table_.version != "1.0" && table_.version != "1.2")
      return refused("version is \"{}\", not 1.0 (A2, 910) or 1.2 (super node)", table_.version);
    const auto servers = json.find("server_list");
    if (servers == json.end() || !servers->is_array() || servers->empty())
      return refused("there is no server_list");
    table_.servers = servers->size();
    const auto count = json.contains("server_count") ? integer_of(json.at("server_count"))
                                                     : std::optional<long long>();
    if (!count || *count != static_cast<long long>(servers->size()))
      return refused("server_count is {}, server_list has {}",
                     count ? std::to_string(*count) : "missing", servers->size());
    for (const Json& server : *servers) NB_TRY_VOID(read_server(server));
    NB_TRY_VOID(check_ranks());
    NB_TRY_VOID(check_addresses());
    if (table_.version == "1.2") NB_TRY_VOID(check_super_nodes(json));
    return std::move(table_);
  }

 private:
  template <class... Args>
  tl::unexpected<Error> refused(fmt::format_string<Args...> format, Args&&... args) const {
    return bad_input(where_ + ": " + fmt::format(format, std::forward<Args>(args)...));
  }

  Result<void> read_server(const Json& server) {
    const std::string id = server.is_object() ? text_of(server, "server_id") : "";
    if (id.empty() || id.size() > kLongestServerId)
      return refused("a server_id is empty or longer than 64 characters");
    if (!servers_.insert(id).second) return refused("server_id {} stands there twice", id);
    const auto devices = server.find("device");
    if (devices == server.end() || !devices->is_array() || devices->empty())
      return refused("server {} has no device list", id);
    std::set<long long> ids;
    std::set<std::string> super_ids;
    for (const Json& device : *devices) {
      if (!device.is_object()) return refused("server {}: a device is no object", id);
      const auto device_id = device.contains("device_id") ? integer_of(device.at("device_id"))
                                                          : std::optional<long long>();
      const auto rank = device.contains("rank_id") ? integer_of(device.at("rank_id"))
                                                   : std::optional<long long>();
      if (!device_id || *device_id < 0 || *device_id > 63)
        return refused("server {}: a device_id is missing or outside 0 to 63", id);
      if (!ids.insert(*device_id).second)
        return refused("server {}: device_id {} stands there twice", id, *device_id);
      if (!rank) return refused("server {}: device {} has no whole rank_id", id, *device_id);
      if (table_.version == "1.2" && text_of(device, "super_device_id").empty())
        return refused("server {}: device {} has no super_device_id", id, *device_id);
      for (const char* key : {"host_port", "device_port"}) {
        if (!device.contains(key)) continue;
        const auto port = integer_of(device.at(key));
        if (!port || *port < 1024 || *port > 65535)
          return refused("server {}: device {}: {} is outside 1024 to 65535", id, *device_id, key);
      }
      table_.devices.push_back({*device_id, *rank, id, text_of(device, "device_ip")});
    }
    return {};
  }

  Result<void> check_ranks() const {
    std::vector<long long> ranks;
    for (const RankTableDevice& device : table_.devices) ranks.push_back(device.rank_id);
    std::sort(ranks.begin(), ranks.end());
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const auto wanted = static_cast<long long>(i);
      if (ranks[i] == wanted) continue;
      if (i > 0 && ranks[i] == ranks[i - 1])
        return refused("rank_id {} stands there twice", ranks[i]);
      return refused("rank_id {} is missing: ranks go from 0 to {}", wanted, ranks.size() - 1);
    }
    return {};
  }

  Result<void> check_addresses() const {
    std::set<std::string> seen;
    int family = 0;
    for (const RankTableDevice& device : table_.devices) {
      if (device.address.empty()) {
        if (table_.servers > 1)
          return refused("rank {} has no device_ip, which {} servers need", device.rank_id,
                         table_.servers);
        continue;
      }
      const int own = family_of(device.address);
      if (own == 0) return refused("rank {}: {} is no address", device.rank_id, device.address);
      if (family != 0 && own != family)
        return refused("rank {}: IPv4 and IPv6 are mixed", device.rank_id);
      family = own;
      if (!seen.insert(device.address).second)
        return refused("device_ip {} stands there twice", device.address);
    }
    return {};
  }

  Result<void> check_super_nodes(const Json& json) const {
    const auto pods = json.find("super_pod_list");
    if (pods == json.end() || !pods->is_array())
      return refused("version 1.2 needs a super_pod_list");
    std::set<std::string> placed;
    for (const Json& pod : *pods) {
      if (!pod.is_object() || !pod.contains("server_list") || !pod.at("server_list").is_array())
        return refused("a super node has no server_list");
      for (const Json& server : pod.at("server_list")) {
        const std::string id = server.is_object() ? text_of(server, "server_id") : "";
        if (!servers_.contains(id))
          return refused("a super node has the unknown server \"{}\"", id);
        if (!placed.insert(id).second) return refused("server {} is in two super nodes", id);
      }
    }
    for (const std::string& id : servers_)
      if (!placed.contains(id)) return refused("server {} is in no super node", id);
    return {};
  }

  const std::string& where_;
  RankTable table_;
  std::set<std::string> servers_;
};

}  // namespace

Result<RankTable> read_rank_table(std::string_view text, const std::string& where) {
  NB_TRY(const Json json, parse_json(text, where));
  return Reader(where).read(json);
}

bool looks_like_rank_table(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] == '{' && text.find("\"server_list\"") != text.npos &&
         text.find("\"rank_id\"") != text.npos;
}

}  // namespace nb::doctor
