// The JSON body of a request, read member by member: wrong types and ranges are kept as one error,
// members that nobody asked for are listed. Not for what the members mean.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "harness/base/json_io.hpp"

namespace nb {

// OpenAI's error object, and the status that goes with it.
struct ApiError {
  int status = 400;
  std::string message;
  std::string type = "invalid_request_error";
  std::string param = {};  // the member that is meant
  std::string code = {};
};
Json error_json(const ApiError& error);
ApiError wrong(std::string param, std::string message);

class Body {
 public:
  static constexpr int kMaxDepth = 64;

  // 400: no JSON, no object, nested deeper than kMaxDepth, a member twice, ill-formed UTF-8.
  static tl::expected<Body, ApiError> parse(std::string_view text);

  // The value of a member; none where it is absent or null.
  const Json* find(const std::string& name);
  bool flag(const std::string& name, bool otherwise);
  std::optional<std::int64_t> whole(const std::string& name, std::int64_t low,
                                    std::int64_t high = std::numeric_limits<std::int64_t>::max());
  std::optional<double> number(const std::string& name, double low, double high);
  std::optional<std::string> text(const std::string& name);
  std::vector<int> ids(const std::string& name, int vocab_size);

  // The first error counts.
  void refuse(ApiError error);
  const std::optional<ApiError>& error() const { return error_; }
  // Members that were never asked for, by name.
  std::vector<std::string> unread() const;

 private:
  explicit Body(Json json) : json_(std::move(json)) {}

  Json json_;
  std::set<std::string> read_;
  std::optional<ApiError> error_;
};

// Nesting of a JSON text, 0 for a plain value; counts brackets outside of strings.
int json_depth(std::string_view text);
// Null where the text is empty: how the protocol says "none".
inline Json or_null(std::string text) { return text.empty() ? Json() : Json(std::move(text)); }
// "an array", "a text": how messages name what was sent.
std::string_view kind_of(const Json& value);

}  // namespace nb
