#include "harness/cli/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "harness/base/check.hpp"
#include "harness/cli/command_info.hpp"

namespace nb::cli {
namespace {

// "TEXT:{a,b}" → a, b.
std::vector<std::string> choices_of(const std::string& type) {
  const std::size_t open = type.find(":{"), close = type.rfind('}');
  std::vector<std::string> choices;
  if (open == type.npos || close == type.npos) return choices;
  for (std::size_t at = open + 2; at <= close;) {
    const std::size_t end = std::min(type.find(',', at), close);
    choices.push_back(type.substr(at, end - at));
    at = end + 1;
  }
  return choices;
}

OptionInfo info_of(const ::CLI::Option& option) {
  const std::string type = option.get_type_name();
  OptionInfo info;
  info.is_positional = option.get_positional();
  info.name = option.get_positional() ? option.get_name(true) : "--" + option.get_lnames().front();
  if (option.get_items_expected_max() > 0) info.value = type.substr(0, type.find(':'));
  info.doc = option.get_description();
  info.choices = choices_of(type);
  info.is_required = option.get_required();
  return info;
}

}  // namespace

CommandInfo info_of(const ::CLI::App& app) {
  CommandInfo info{app.get_name(), app.get_description(), app.get_footer(), {}, {}};
  for (const ::CLI::Option* option : app.get_options())
    if (option->get_group() != CLI::kOlderSpellings) info.options.push_back(info_of(*option));
  for (const ::CLI::App* command : app.get_subcommands({}))
    if (!command->get_group().empty()) info.commands.push_back(info_of(*command));
  return info;
}

}  // namespace nb::cli

namespace nb::cli::CLI {

Validator IsMember(std::vector<std::string> texts) {
  const auto member = std::make_shared<::CLI::IsMember>(std::move(texts));
  return Validator([member](const std::string& text) { return (*member)(text); },
                   member->get_description());
}

Option* Option::required() { return option_->required(), this; }
Option* Option::type_name(const std::string& name) { return option_->type_name(name), this; }
Option* Option::check(const Validator& validator) {
  const auto says = [validator](std::string& text) { return validator(text); };
  option_->check(::CLI::Validator(says, validator.description()));
  return this;
}
Option* Option::capture_default_str() { return option_->capture_default_str(), this; }
Option* Option::delimiter(char delimiter) { return option_->delimiter(delimiter), this; }
Option* Option::optional_value() { return option_->expected(0, 1), this; }
Option* Option::expected(int values) { return option_->expected(values), this; }
Option* Option::expected(int least, int most) { return option_->expected(least, most), this; }
Option* Option::allow_extra_args(bool allowed) { return option_->allow_extra_args(allowed), this; }
Option* Option::excludes(Option* other) { return option_->excludes(other->option_), this; }
Option* Option::needs(Option* other) { return option_->needs(other->option_), this; }
Option* Option::group(const std::string& heading) { return option_->group(heading), this; }
Option* Option::is_now(const std::string& spelling) {
  now_ = spelling;
  return group(kOlderSpellings);
}
std::size_t Option::count() const { return option_->count(); }

App::App(::CLI::App& app) : app_(app) {}
App::~App() = default;

Option* App::keep(::CLI::Option* option) { return &options_.emplace_back(*option); }

template <class T>
Option* App::add_option(const std::string& flags, T& value, const std::string& doc) {
  return keep(app_.add_option(flags, value, doc));
}
template Option* App::add_option(const std::string&, std::string&, const std::string&);
template Option* App::add_option(const std::string&, std::vector<std::string>&, const std::string&);
template Option* App::add_option(const std::string&, int&, const std::string&);
template Option* App::add_option(const std::string&, std::int64_t&, const std::string&);
template Option* App::add_option(const std::string&, std::uint64_t&, const std::string&);
template Option* App::add_option(const std::string&, double&, const std::string&);
template Option* App::add_option(const std::string&, float&, const std::string&);
template Option* App::add_option(const std::string&, std::optional<int>&, const std::string&);
template Option* App::add_option(const std::string&, std::optional<std::int64_t>&,
                                 const std::string&);

Option* App::add_option(const std::string& flags, const std::string& doc) {
  return keep(app_.add_option(flags, doc));
}
Option* App::add_flag(const std::string& flag, bool& value, const std::string& doc) {
  return keep(app_.add_flag(flag, value, doc));
}
Option* App::add_flag_callback(const std::string& flag, std::function<void()> then,
                               const std::string& doc) {
  return keep(app_.add_flag_callback(flag, std::move(then), doc));
}
void App::footer(const std::string& text) { app_.footer(text); }

App* App::add_subcommand(const std::string& name, const std::string& doc) {
  commands_.push_back(std::make_unique<App>(*app_.add_subcommand(name, doc)));
  return commands_.back().get();
}
App* App::get_subcommand(std::string_view name) {
  for (const auto& command : commands_)
    if (command->app_.get_name() == name) return command.get();
  NB_CHECK(false, "[cli] no command {}", name);
  return nullptr;
}
void App::require_subcommand(int count) { app_.require_subcommand(count); }
bool App::got_subcommand(const std::string& name) const { return app_.got_subcommand(name); }
App* App::is_now(const std::string& spelling) {
  now_ = spelling;
  app_.group("");
  return this;
}
App* App::fallthrough() { return app_.fallthrough(), this; }

std::vector<std::string> App::newer_spellings() const {
  std::vector<std::string> spellings;
  for (const Option& option : options_)
    if (!option.now_.empty() && option.count() > 0)
      spellings.push_back(option.option_->get_name() + " is now written: " + option.now_);
  for (const auto& command : commands_)
    if (!command->now_.empty() && command->app_.parsed())
      spellings.push_back(fmt::format("{} {} is now written: {}", app_.get_name(),
                                      command->app_.get_name(), command->now_));
  return spellings;
}

std::string App::text_of(const std::string& option) const {
  const ::CLI::Option* found = app_.get_option_no_throw(option);
  return found == nullptr || found->count() == 0 ? "" : found->as<std::string>();
}

}  // namespace nb::cli::CLI
