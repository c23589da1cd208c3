// A JSON value as a member, with value semantics, in headers that see only json_fwd.hpp. Starts as
// {}.
//   record.settings = json;   (*record.settings)["train"]
#pragma once

#include <memory>

#include "harness/base/json_io.hpp"

namespace nb {

class JsonBox {
 public:
  JsonBox();                   // {}
  static JsonBox null();       // JSON's null: nothing is known
  JsonBox(const Json& value);  // NOLINT(google-explicit-constructor): it is that value
  JsonBox(const JsonBox& other);
  JsonBox(JsonBox&&) noexcept;  // the source may only be assigned to or destroyed afterwards
  JsonBox& operator=(const JsonBox& other);
  JsonBox& operator=(JsonBox&&) noexcept;
  ~JsonBox();
  Json& operator*() { return *value_; }
  const Json& operator*() const { return *value_; }
  Json* operator->() { return value_.get(); }
  const Json* operator->() const { return value_.get(); }

 private:
  std::unique_ptr<Json> value_;
};

}  // namespace nb
