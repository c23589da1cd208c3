#include "results/store/json_box.hpp"

#include <nlohmann/json.hpp>

namespace nb {

JsonBox::JsonBox() : value_(std::make_unique<Json>(Json::object())) {}
JsonBox JsonBox::null() { return Json(nullptr); }
JsonBox::JsonBox(const Json& value) : value_(std::make_unique<Json>(value)) {}
JsonBox::JsonBox(const JsonBox& other) : value_(std::make_unique<Json>(*other.value_)) {}
JsonBox::JsonBox(JsonBox&&) noexcept = default;
JsonBox& JsonBox::operator=(const JsonBox& other) {
  value_ = std::make_unique<Json>(*other.value_);
  return *this;
}
JsonBox& JsonBox::operator=(JsonBox&&) noexcept = default;
JsonBox::~JsonBox() = default;

}  // namespace nb
