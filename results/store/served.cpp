#include "results/store/served.hpp"

#include <nlohmann/json.hpp>

namespace nb {
namespace {

std::string text_at(const Json& object, const char* key) {
  return object.contains(key) && object.at(key).is_string() ? object.at(key).get<std::string>()
                                                            : std::string();
}

std::string device_of(const Record& record) {
  const Json& server = server_of(record);
  return server.contains("told") && server.at("told").is_object()
             ? text_at(server.at("told"), "device")
             : std::string();
}

}  // namespace

const Json& server_of(const Record& record) {
  static const Json kNone = Json::object();
  const Json& environment = *record.environment;
  if (!environment.is_object() || !environment.contains("server")) return kNone;
  return environment.at("server").is_object() ? environment.at("server") : kNone;
}

bool is_served(const Record& record) { return !server_of(record).empty(); }

std::string engine_of(const Record& record) {
  const std::string kind = text_at(server_of(record), "kind");
  const std::string version = text_at(server_of(record), "version");
  return kind.empty() || version.empty() ? kind + version : kind + " " + version;
}

std::string server_text(const Record& record) {
  const Json& server = server_of(record);
  std::string text = engine_of(record) + " at " + text_at(server, "host");
  if (const std::string device = device_of(record); !device.empty()) text += " on " + device;
  if (const std::string name = text_at(server, "name"); !name.empty()) text += ", called " + name;
  return text;
}

bool have_two_servers(const Record& a, const Record& b) {
  if (!is_served(a) || !is_served(b)) return false;
  return text_at(server_of(a), "host") != text_at(server_of(b), "host") ||
         engine_of(a) != engine_of(b) || device_of(a) != device_of(b);
}

}  // namespace nb
