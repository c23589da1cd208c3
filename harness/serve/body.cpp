#include "harness/serve/body.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace nb {
namespace {

constexpr std::size_t kMaxNamed = 16;  // unread members that are listed
constexpr std::size_t kLongestName = 64;

}  // namespace

Json error_json(const ApiError& error) {
  return {{"error",
           {{"message", error.message},
            {"type", error.type},
            {"param", or_null(error.param)},
            {"code", or_null(error.code)}}}};
}

ApiError wrong(std::string param, std::string message) {
  ApiError error;
  error.message = param + ": " + message;
  error.param = std::move(param);
  return error;
}

int json_depth(std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text) {
      if (c == '\\') ++i;
      in_text = c != '"';
    } else if (c == '"') {
      in_text = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return deepest;
}

std::string_view kind_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "an array";
    case Json::value_t::string:
      return "a text";
    case Json::value_t::boolean:
      return "a boolean";
    default:
      return value.is_number_float() ? "a number with a fraction" : "a whole number";
  }
}

tl::expected<Body, ApiError> Body::parse(std::string_view text) {
  ApiError error;
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    error.message = "the request has no body: send a JSON object";
    return tl::unexpected<ApiError>(error);
  }
  if (json_depth(text) > kMaxDepth) {
    error.message = fmt::format("the body is nested deeper than {} levels", kMaxDepth);
    return tl::unexpected<ApiError>(error);
  }
  auto json = parse_json(text, "body");
  if (!json) {
    error.message = json.error().message;
    return tl::unexpected<ApiError>(error);
  }
  if (!json->is_object()) {
    error.message = fmt::format("the body is {}, not an object", kind_of(*json));
    return tl::unexpected<ApiError>(error);
  }
  return Body(std::move(*json));
}

const Json* Body::find(const std::string& name) {
  read_.insert(name);
  const auto found = json_.find(name);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

void Body::refuse(ApiError error) {
  if (!error_) error_ = std::move(error);
}

bool Body::flag(const std::string& name, bool otherwise) {
  const Json* value = find(name);
  if (value == nullptr) return otherwise;
  if (value->is_boolean()) return value->get<bool>();
  refuse(wrong(name, fmt::format("true or false, not {}", kind_of(*value))));
  return otherwise;
}

std::optional<std::int64_t> Body::whole(const std::string& name, std::int64_t low,
                                        std::int64_t high) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  const auto complain = [&](std::string what) -> std::optional<std::int64_t> {
    refuse(wrong(name, high == std::numeric_limits<std::int64_t>::max()
                           ? fmt::format("a whole number of at least {}, not {}", low, what)
                           : fmt::format("a whole number from {} to {}, not {}", low, high, what)));
    return std::nullopt;
  };
  if (!value->is_number_integer()) return complain(std::string(kind_of(*value)));
  if (value->is_number_unsigned() &&
      value->get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
    return complain(value->dump());
  const auto whole = value->get<std::int64_t>();
  return whole < low || whole > high ? complain(value->dump()) : std::optional(whole);
}

std::optional<double> Body::number(const std::string& name, double low, double high) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) {
    const auto number = value->get<double>();
    if (number >= low && number <= high) return number;
  }
  refuse(
      wrong(name, fmt::format("a number from {} to {}, not {}", low, high,
                              value->is_number() ? value->dump() : std::string(kind_of(*value)))));
  return std::nullopt;
}

std::optional<std::string> Body::text(const std::string& name) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  refuse(wrong(name, fmt::format("a text, not {}", kind_of(*value))));
  return std::nullopt;
}

std::vector<int> Body::ids(const std::string& name, int vocab_size) {
  const Json* value = find(name);
  if (value == nullptr) return {};
  std::vector<int> ids;
  if (!value->is_array()) {
    refuse(wrong(name, fmt::format("an array of token ids, not {}", kind_of(*value))));
    return {};
  }
  for (const Json& entry : *value) {
    const bool is_id = entry.is_number_unsigned() &&
                       entry.get<std::uint64_t>() < static_cast<std::uint64_t>(vocab_size);
    if (!is_id) {
      refuse(wrong(
          name, fmt::format("entry {} is no token id from 0 to {}", ids.size(), vocab_size - 1)));
      return {};
    }
    ids.push_back(entry.get<int>());
  }
  return ids;
}

std::vector<std::string> Body::unread() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : json_.items()) {
    const bool is_plain =
        name.size() <= kLongestName && std::ranges::all_of(name, [](char c) {
          return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
        });
    if (!value.is_null() && !read_.contains(name) && names.size() < kMaxNamed)
      names.push_back(is_plain ? name : "?");  // it goes into a header
  }
  return names;
}

}  // namespace nb
