#include "harness/suite/factorial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "harness/suite/plain_name.hpp"

namespace nb {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHJKLM";
constexpr std::size_t kMostArms = 256;

// "E=ABC" as places of factors.
struct Generator {
  std::size_t made = 0;
  std::set<std::size_t> from;
};

Result<Generator> parse_generator(const std::string& text, std::size_t factors,
                                  const std::string& where) {
  const std::string_view letters = kLetters.substr(0, factors);
  const auto is_letter = [&](char c) { return letters.find(c) != letters.npos; };
  const bool is_one = text.size() >= 4 && text[1] == '=' && is_letter(text[0]) &&
                      std::all_of(text.begin() + 2, text.end(), is_letter);
  Generator generator;
  if (is_one) {
    generator.made = letters.find(text[0]);
    for (const char c : text.substr(2)) generator.from.insert(letters.find(c));
  }
  if (!is_one || generator.from.size() != text.size() - 2 ||
      generator.from.contains(generator.made))
    return bad_input(fmt::format(
        "{}: \"{}\" is not a generator; give one like \"E=ABC\" of the letters {}, each "
        "at most once",
        where, text, letters));
  if (generator.from.size() % 2 == 0)
    return bad_input(fmt::format(
        "{}: \"{}\": with an even number of letters behind = no configuration has every factor "
        "low, and there "
        "is no gap to share out; give three or five",
        where, text));
  return generator;
}

// Of which factor which generator makes the level; those of the others are free.
Result<std::vector<std::optional<Generator>>> made_factors(const FactorialDesign& design,
                                                           const std::string& where) {
  std::vector<std::optional<Generator>> made(design.factors.size());
  std::vector<Generator> all;
  for (std::size_t i = 0; i < design.generators.size(); ++i) {
    const std::string pointer = fmt::format("{}/generators/{}", where, i);
    NB_TRY(Generator one, parse_generator(design.generators[i], made.size(), pointer));
    if (made[one.made])
      return bad_input(fmt::format("{}: \"{}\": {} has a generator already", pointer,
                                   design.generators[i], kLetters[one.made]));
    made[one.made] = one;
    all.push_back(std::move(one));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const std::size_t factor : all[i].from)
      if (made[factor])
        return bad_input(
            fmt::format("{}/generators/{}: \"{}\": {} has a generator itself; give "
                        "letters of factors that have none",
                        where, i, design.generators[i], kLetters[factor]));
    for (std::size_t k = 0; k < i; ++k)
      if (all[k].from == all[i].from)
        return bad_input(fmt::format("{}/generators/{}: \"{}\": {} would be high wherever {} is",
                                     where, i, design.generators[i], kLetters[all[i].made],
                                     kLetters[all[k].made]));
  }
  return made;
}

Result<void> check_factors(const FactorialDesign& design, const std::string& where) {
  const std::size_t count = design.factors.size();
  if (count == 0 || count > kLetters.size())
    return bad_input(
        fmt::format("{}/factors: {} factors; give 1 to {}", where, count, kLetters.size()));
  std::set<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    const Factor& factor = design.factors[i];
    const std::string pointer = fmt::format("{}/factors/{}", where, i);
    if (!is_plain_name(factor.name))
      return bad_input(fmt::format("{}/name: {}", pointer, not_a_name(factor.name)));
    if (!names.insert(factor.name).second)
      return bad_input(fmt::format("{}/name: \"{}\" stands there twice", pointer, factor.name));
    if (factor.high.empty() && factor.defects.empty())
      return bad_input(
          fmt::format("{}: changes nothing; give \"high\": {{\"/stages/base/depth\": 2}} or "
                      "\"defects\": [\"adamw_betas\"]",
                      pointer));
  }
  return {};
}

std::string name_of(const std::vector<bool>& levels) {
  std::string name;
  for (std::size_t i = 0; i < levels.size(); ++i)
    if (levels[i]) name += static_cast<char>(kLetters[i] - 'A' + 'a');
  return name.empty() ? "low" : name;
}

}  // namespace

FieldList Factor::fields() {
  return {{"name", "in tables", &name, {.required = true}},
          {"high", "what the high level sets: place in the suite → value", &high},
          {"defects",
           "mistakes of a port that the high level makes: names from `npubench list defects`",
           &defects}};
}

FieldList FactorialDesign::fields() {
  return {{"low", "name of the configuration in which every factor is low: the suite as it stands",
           &low},
          {"high", "name of the configuration in which every factor is high", &high},
          {"factors",
           "what is changed, lettered A, B, … in this order",
           list(&factors),
           {.required = true}},
          {"generators",
           "of a fraction: \"E=ABC\" sets E by the product of A, B and C; none: all combinations",
           &generators}};
}

Result<std::vector<Configuration>> configurations_of(const FactorialDesign& design,
                                                     const std::string& where) {
  NB_TRY_VOID(check_factors(design, where));
  NB_TRY(const auto made, made_factors(design, where));
  const std::size_t free = design.factors.size() - design.generators.size();
  if ((std::size_t{1} << free) > kMostArms)
    return bad_input(
        fmt::format("{}/generators: {} factors without one make {} configurations; give more "
                    "generators, so that at most {} run",
                    where, free, std::size_t{1} << free, kMostArms));
  std::vector<Configuration> configurations;
  for (std::size_t code = 0; code < (std::size_t{1} << free); ++code) {
    std::vector<bool> levels(made.size());
    std::size_t bit = 0;
    for (std::size_t i = 0; i < made.size(); ++i)
      if (!made[i]) levels[i] = ((code >> bit++) & 1) != 0;
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (!made[i]) continue;
      bool high = false;  // an odd number of letters: high where an odd number of them is
      for (const std::size_t factor : made[i]->from) high = high != levels[factor];
      levels[i] = high;
    }
    configurations.push_back({name_of(levels), std::move(levels)});
  }
  return configurations;
}

}  // namespace nb
