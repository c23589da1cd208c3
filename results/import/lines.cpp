#include "results/import/lines.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"

namespace nb {

Result<void> for_each_json_line(
    const std::filesystem::path& path,
    const std::function<Result<void>(const Json& line, const std::string& where)>& each) {
  NB_TRY(const MappedFile file, MappedFile::open(path));
  const auto bytes = file.bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (number == 1 && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    const std::string where = fmt::format("{}:{}", path.string(), number);
    NB_TRY(const Json json, parse_json_line(line, where));
    NB_TRY_VOID(each(json, where));
  }
  return {};
}

bool number_of(const Json& value, double& number) {
  if (value.is_boolean()) {
    number = value.get<bool>() ? 1 : 0;
    return true;
  }
  if (value.is_number()) {
    number = value.get<double>();
    return std::isfinite(number);
  }
  if (!value.is_string()) return false;
  const std::string& text = value.get_ref<const std::string&>();
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end && std::isfinite(number);
}

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return {};
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace nb
