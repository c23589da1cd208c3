// The part of CLI11 that verbs declare their options with, under CLI11's names and with its
// meaning. CLI11 is a header whose functions every source that includes it compiles again, which
// takes longer than the source itself: only options.cpp and main.cpp do. Single-threaded; an App
// lives as long as the program's own action may ask it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace nb::cli::CLI {

// The heading of options that is_now() takes out of every help.
inline constexpr const char* kOlderSpellings = "older spellings";

// Says in one sentence what is wrong with a text; empty: nothing.
class Validator {
 public:
  using Check = std::function<std::string(const std::string&)>;
  explicit Validator(Check check, std::string description = "")
      : check_(std::move(check)), description_(std::move(description)) {}

  std::string operator()(const std::string& text) const { return check_(text); }
  const std::string& description() const { return description_; }  // beside the flag in --help

 private:
  Check check_;
  std::string description_;
};

Validator IsMember(std::vector<std::string> texts);

// Belongs to its App.
class Option {
 public:
  explicit Option(::CLI::Option& option) : option_(&option) {}

  Option* required();
  Option* type_name(const std::string& name);
  Option* check(const Validator& validator);
  Option* capture_default_str();
  Option* delimiter(char delimiter);
  Option* expected(int values);
  Option* expected(int least, int most);
  Option* optional_value();  // may be given without one; its text is then empty or "true"
  Option* allow_extra_args(bool allowed);
  Option* excludes(Option* other);
  Option* needs(Option* other);
  // Stands under this heading of a command's help, not in the short help of its verb.
  Option* group(const std::string& heading);
  // An older spelling: in no help. Where it is given, main names the new one on stderr; empty:
  // another option's sentence says it.
  Option* is_now(const std::string& spelling);
  std::size_t count() const;  // how often it was given

 private:
  friend class App;
  ::CLI::Option* option_;
  std::string now_;  // of an older spelling
};

// Owns the options and commands that are declared through it, not CLI11's App itself.
class App {
 public:
  explicit App(::CLI::App& app);
  App(const App&) = delete;
  App& operator=(const App&) = delete;
  ~App();

  // value: bool has add_flag; options.cpp lists the types that there are. Outlives the parsing.
  template <class T>
  Option* add_option(const std::string& flags, T& value, const std::string& doc);
  Option* add_option(const std::string& flags, const std::string& doc);
  Option* add_flag(const std::string& flag, bool& value, const std::string& doc);
  Option* add_flag_callback(const std::string& flag, std::function<void()> then,
                            const std::string& doc);
  void footer(const std::string& text);

  App* add_subcommand(const std::string& name, const std::string& doc);
  App* get_subcommand(std::string_view name);  // NB_CHECK: it was added
  void require_subcommand(int count);
  bool got_subcommand(const std::string& name) const;
  App* fallthrough();                        // options of the parent may follow the command
  App* is_now(const std::string& spelling);  // as Option's, of a whole command

  // "--sweep is now written: npubench predict sweep FIELD=a,b,c", of each that was given.
  std::vector<std::string> newer_spellings() const;

  // Of an option that was given once: its text. Empty: not given, or there is no such option.
  std::string text_of(const std::string& option) const;

 private:
  Option* keep(::CLI::Option* option);

  ::CLI::App& app_;
  std::string now_;  // of an older spelling
  std::deque<Option> options_;
  std::deque<std::unique_ptr<App>> commands_;
};

}  // namespace nb::cli::CLI
