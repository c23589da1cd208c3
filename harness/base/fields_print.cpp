#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "harness/base/check.hpp"
#include "harness/base/fields.hpp"
#include "harness/base/table.hpp"

namespace nb {

namespace {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class T>
struct IsMap<std::map<std::string, T>> : std::true_type {};
Json print_list(const FieldList& fields, bool hashed_only);

// Discarded: nothing to print.
Json print_field(const Field& field, bool hashed_only) {
  return std::visit(
      [&](const auto& ref) -> Json {
        using Ref = std::decay_t<decltype(ref)>;
        if constexpr (std::is_same_v<Ref, ObjectRef>) {
          if (ref.present && !ref.present()) return Json(Json::value_t::discarded);
          return print_list(ref.fields(), hashed_only);
        } else if constexpr (std::is_same_v<Ref, ListRef>) {
          Json list = Json::array();
          for (std::size_t i = 0; i < ref.size(); ++i)
            list.push_back(print_list(ref.fields_at(i), hashed_only));
          return list;
        } else if constexpr (std::is_same_v<Ref, EnumRef>) {
          NB_CHECK(ref.get() < ref.names.size(), "[fields] {}: enumerator {} has no name",
                   field.name, ref.get());
          return Json(ref.names[ref.get()]);
        } else if constexpr (IsOptional<std::remove_pointer_t<Ref>>::value) {
          return ref->has_value() ? Json(**ref) : Json(nullptr);
        } else {
          return Json(*ref);
        }
      },
      field.ref);
}

Json print_list(const FieldList& fields, bool hashed_only) {
  Json object = Json::object();
  for (const Field& field : fields) {
    if (hashed_only && !field.rules.hashed) continue;
    Json value = print_field(field, hashed_only);
    const bool is_absent = value.is_null() || (value.is_array() && value.empty()) ||
                           (value.is_object() && value.empty());
    if (value.is_discarded() || (is_absent && field.rules.omits_absent)) continue;
    object[field.name] = std::move(value);
  }
  return object;
}

template <class T>
std::string kind_words() {
  if constexpr (std::is_same_v<T, bool>) return "true or false";
  if constexpr (std::is_same_v<T, double>) return "number";
  if constexpr (std::is_integral_v<T>) return "integer";
  if constexpr (std::is_same_v<T, std::string>) return "text";
  if constexpr (IsOptional<T>::value) return kind_words<typename T::value_type>();
  if constexpr (IsVector<T>::value) return "list of " + kind_words<typename T::value_type>();
  if constexpr (IsMap<T>::value) return "name to " + kind_words<typename T::mapped_type>();
}

std::string kind_of(const Field& field) {
  return std::visit(
      [](const auto& ref) -> std::string {
        using Ref = std::decay_t<decltype(ref)>;
        if constexpr (std::is_same_v<Ref, ObjectRef>)
          return ref.present ? "optional object" : "object";
        else if constexpr (std::is_same_v<Ref, ListRef>)
          return "list of objects";
        else if constexpr (std::is_same_v<Ref, EnumRef>)
          return fmt::format("{}", fmt::join(ref.names, "|"));
        else
          return kind_words<std::remove_pointer_t<Ref>>();
      },
      field.ref);
}

// "(integer, byte, 1 … 64, default 2)".
std::string details(const Field& field) {
  const FieldRules& rules = field.rules;
  std::string text =
      rules.one_of.empty() ? kind_of(field) : fmt::format("{}", fmt::join(rules.one_of, "|"));
  if (!rules.unit.empty()) text += ", " + rules.unit;
  if (rules.min && rules.max)
    text += fmt::format(", {} … {}", number_text(*rules.min), number_text(*rules.max));
  else if (rules.min)
    text += fmt::format(", at least {}", number_text(*rules.min));
  else if (rules.max)
    text += fmt::format(", at most {}", number_text(*rules.max));
  const bool is_nested =
      std::holds_alternative<ObjectRef>(field.ref) || std::holds_alternative<ListRef>(field.ref);
  if (rules.required) {
    text += ", required";
  } else if (!is_nested) {
    const Json value = print_field(field, false);
    if (value.is_null())
      text += ", default none";
    else if (value.is_number_float())
      text += ", default " + number_text(value.get<double>());
    else if (value.is_string())
      text += ", default " + (value.empty() || value == "" ? "\"\"" : value.get<std::string>());
    else
      text += ", default " + value.dump();
  }
  return text;
}

void help_list(const FieldList& fields, int depth, std::string& text) {
  std::size_t width = 0;
  for (const Field& field : fields) width = std::max(width, field.name.size());
  const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
  for (const Field& field : fields) {
    text +=
        fmt::format("{}{:<{}}  {} ({})\n", indent, field.name, width, field.doc, details(field));
    if (const auto* object = std::get_if<ObjectRef>(&field.ref))
      help_list(object->fields(), depth + 1, text);
    if (const auto* list = std::get_if<ListRef>(&field.ref))
      help_list(list->fields_of_fresh(), depth + 1, text);
  }
}

}  // namespace

Json print_fields(const FieldList& fields) { return print_list(fields, false); }

Json hashed_fields(const FieldList& fields) { return print_list(fields, true); }

std::string help_fields(const FieldList& fields) {
  std::string text;
  help_list(fields, 1, text);
  return text;
}

}  // namespace nb
