// npubench <verb> …: finds the verb, parses its options, runs it. Every way of failing ends here in
// one sentence on stderr and an exit code (README.md).
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

#include "harness/base/fields.hpp"
#include "harness/base/say.hpp"
#include "harness/base/text_width.hpp"
#include "harness/cli/command_info.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/completion.hpp"
#include "harness/cli/man_page.hpp"
#include "harness/cli/paint.hpp"
#include "harness/cli/verb.hpp"
#include "harness/mpi/open_processes.hpp"
#include "harness/nightly/step.hpp"
#include "model/kernels/simd_level.hpp"

namespace nb::cli {
namespace {

constexpr int kExitInterrupted = 130;

// Nothing needs tidying: every file appears whole or not at all, locks end with the process, and
// the same command goes on from the last checkpoint. So an interrupt may end the process at once.
extern "C" void on_interrupt(int) {
  constexpr char kText[] =
      "\n"
      "npubench: interrupted; run the same command to resume\n";
  (void)!::write(STDERR_FILENO, kText, sizeof kText - 1);
  ::_exit(kExitInterrupted);
}

// A stream that is closed (>&-) would give its number to the next file opened, and what is printed
// would go there. Opened the wrong way round, it still cannot be printed to.
void occupy_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0)
      (void)::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

// What of this shell's limits nothing could run in; empty: enough.
std::string too_small_limits() {
  constexpr struct {
    int resource;
    const char* what;
    rlim_t least;
    rlim_t unit;
    const char* try_this;
  } kLimits[] = {{RLIMIT_STACK, "KiB of stack", 1 << 20, 1024, "ulimit -s 8192"},
                 {RLIMIT_NOFILE, "open files", 64, 1, "ulimit -n 1024"}};
  for (const auto& limit : kLimits) {
    rlimit now{};
    if (::getrlimit(limit.resource, &now) != 0 || now.rlim_cur >= limit.least) continue;
    return fmt::format("this shell allows {} {}, npubench needs {}; raise it: {}",
                       now.rlim_cur / limit.unit, limit.what, limit.least / limit.unit,
                       limit.try_this);
  }
  return {};
}

int unknown_verb(const std::string& verb) {
  std::vector<std::string> names;
  for (const Verb& known : verbs()) names.emplace_back(known.name);
  return fail({ErrorCode::kBadInput,
               fmt::format("no verb \"{}\"{} (npubench --help)", verb, did_you_mean(verb, names))});
}

std::string without_double_blanks(std::string text) {
  for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != text.npos;) text.erase(at, 1);
  return text;
}

// As CLI11's, without the names of the options that one needs or excludes: the error names them.
class HelpFormatter : public ::CLI::Formatter {
 public:
  std::string make_option_opts(const ::CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";
    std::string text = option->get_type_name().empty() ? "" : " " + option->get_type_name();
    if (!option->get_default_str().empty()) text += "=" + option->get_default_str();
    if (option->get_expected_max() == ::CLI::detail::expected_max_vector_size)
      text += " ...";
    else if (option->get_expected_min() > 1)
      text += fmt::format(" x {}", option->get_expected());
    return text + (option->get_required() ? " REQUIRED" : "");
  }
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const ::CLI::Option*> options) const override {
    return group == CLI::kOlderSpellings ? ""
                                         : Formatter::make_group(group, is_positional, options);
  }
};

// "no command "verfy"; did you mean "verify"?": of a verb that has commands of its own.
std::string no_command(const ::CLI::App& app) {
  std::vector<std::string> names;
  for (const ::CLI::App* command : app.get_subcommands({}))
    if (!command->get_group().empty()) names.push_back(command->get_name());
  const std::string known = fmt::format("there are {}", fmt::join(names, ", "));
  for (const std::string& word : app.remaining())
    if (!word.starts_with("-"))
      return fmt::format("no command \"{}\"{}; {}", word, did_you_mean(word, names), known);
  return "a command is missing; " + known;
}

void add_flags(const ::CLI::App& app, std::vector<std::string>& flags) {
  for (const ::CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
}

// CLI11's words, but where they leave people wondering.
std::string plain_words(std::string message) {
  constexpr std::string_view kTimes = ": At Most 1 required but received ";
  constexpr std::string_view kMissing = ": 1 required ";
  if (const std::size_t at = message.find(kTimes); at != message.npos)
    return fmt::format("{}: given {} times; give it once", message.substr(0, at),
                       message.substr(at + kTimes.size()));
  if (const std::size_t at = message.find(kMissing);
      at != message.npos && message.ends_with(" missing"))
    return message.substr(0, at) + " needs a value";
  return message;
}

// CLI11's words for what is wrong, with the nearest flag where one is unknown.
int usage_error(const Verb& verb, const ::CLI::App& app, const ::CLI::ParseError& error) {
  std::string message = plain_words(error.what());
  std::vector<std::string> flags;
  add_flags(app, flags);
  for (const ::CLI::App* command : app.get_subcommands()) add_flags(*command, flags);
  const bool has_commands = !app.get_subcommands({}).empty();
  if (has_commands && app.get_subcommands().empty()) message = no_command(app);
  if (dynamic_cast<const ::CLI::ExtrasError*>(&error) != nullptr)
    for (const std::string& extra : app.remaining(/*recurse=*/true)) {
      if (extra.starts_with("-")) {
        message += did_you_mean(extra.substr(0, extra.find('=')), flags);
        break;
      }
      std::vector<std::string> commands;
      for (const Verb& command : verb.commands) commands.emplace_back(command.name);
      message += did_you_mean(extra, commands);
    }
  while (message.ends_with('\n')) message.pop_back();
  return fail(
      {ErrorCode::kBadInput, fmt::format("{} (npubench {} --help)", message, app.get_name())});
}

// The first option with an empty value: a shell's variable that nobody has set would otherwise
// stand for the default. Not one that may be given without a value. Empty text: none.
std::string option_without_value(const ::CLI::App& app) {
  for (const ::CLI::Option* option : app.get_options())
    for (const std::string& value : option->results())
      if (value.empty() && option->get_expected_min() > 0) return option->get_name();
  for (const ::CLI::App* command : app.get_subcommands())
    if (std::string name = option_without_value(*command); !name.empty()) return name;
  return {};
}

constexpr const char* kColour = "--color";
constexpr std::string_view kOwnGroup = "Options";

// Of a footer's paragraphs the one that a short help keeps.
std::string exit_codes_in(const std::string& footer) {
  const std::size_t at = footer.find("Exit codes:");
  return at == footer.npos ? "" : footer.substr(at, footer.find('\n', at) - at);
}

// The short help of a verb that has commands: what each does, and of the first, which the verb
// alone is, the options that stand under no heading of their own.
std::string short_help(const Verb& verb, ::CLI::App& app) {
  std::string text = fmt::format("Example: {}\n\n{}.\n\nCommands:\n", verb.example, verb.summary);
  std::size_t width = 0;
  for (const Verb& command : verb.commands) width = std::max(width, command.name.size());
  for (const Verb& command : verb.commands)
    text += fmt::format("  {:<{}}  {}\n", command.name, width, command.summary);
  const std::string first = fmt::format("npubench {} {} --help", verb.name, verb.commands[0].name);
  std::vector<std::string> left_out;
  for (::CLI::Option* option : app.get_options()) {
    const std::string group = option->get_group();
    if (group == kOwnGroup || group == CLI::kOlderSpellings) continue;
    if (std::ranges::find(left_out, group) == left_out.end()) left_out.push_back(group);
    option->group("");
  }
  std::string more = left_out.empty() ? "" : fmt::format(" ({})", fmt::join(left_out, "; "));
  app.footer(fmt::format("Without a command: {}. All of its options{}: {}\n{}",
                         verb.commands[0].name, more, first, exit_codes_in(app.get_footer())));
  app.description("");
  app.name(app.get_name() + " [COMMAND]");
  return text + "\n" + app.help();
}

// A verb's own options and those that all have. app's name is the verb's.
Action declare(const Verb& verb, ::CLI::App& app, CLI::App& options) {
  app.name(std::string(verb.name));
  app.set_help_flag("-h,--help", "this text");
  const Action action = verb.add(options);
  options.add_option(kColour, "colour; auto: on a terminal without NO_COLOR")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  for (::CLI::App* command : app.get_subcommands({})) command->fallthrough();
  return action;
}

// name: "predict", "predict sweep".
int run_verb(const Verb& verb, const std::string& name, int argc, char** argv) {
  ::CLI::App app(fmt::format("Example: {}\n\n{}.", verb.example, verb.summary));
  app.formatter(std::make_shared<HelpFormatter>());
  CLI::App options(app);
  const Action action = declare(verb, app, options);
  app.name("npubench " + name);
  try {
    app.parse(argc, argv);
  } catch (const ::CLI::CallForHelp&) {
    const std::string help = verb.commands.empty() ? app.help() : short_help(verb, app);
    say("{}", wrapped_help(without_double_blanks(help), sentence_width()));
    return kExitOk;
  } catch (const ::CLI::ParseError& error) {
    app.name(name);
    return usage_error(verb, app, error);
  }
  for (const std::string& spelling : options.newer_spellings())
    say_on_stderr(fmt::format("npubench: {} (the old spelling ends with 0.2)\n", spelling));
  if (const std::string option = option_without_value(app); !option.empty())
    return fail({ErrorCode::kBadInput,
                 fmt::format("{}: its value is empty ({} --help)", option, app.get_name())});
  if (const std::string mode = options.text_of(kColour); !mode.empty())
    if (const auto known = use_colour(mode); !known) return fail(known.error());
  if (const auto ready = apply_compute_options(options); !ready) return fail(ready.error());
  return action();
}

int print_overview() {
  std::size_t width = 0;
  for (const Verb& verb : verbs()) width = std::max(width, verb.name.size());
  std::string text =
      "Example: npubench run suites/smoke.json\n\n"
      "Trains, evaluates and compares small GPTs on emulated NPUs and GPUs.\n\nVerbs:\n";
  for (const Verb& verb : verbs())
    text += fmt::format("  {:<{}}  {}\n", verb.name, width, verb.summary);
  text +=
      "\nnpubench help <verb> says more. Also: --version, --completion bash|zsh|fish, --man, "
      "--color auto|always|never.\n";
  say("{}", wrapped_help(text, sentence_width()));
  return kExitOk;
}

CommandInfo described(const Verb& verb) {
  ::CLI::App app(std::string(verb.summary));
  CLI::App options(app);
  declare(verb, app, options);
  return info_of(app);
}

// What completions and the man page are made of.
std::vector<CommandInfo> described_verbs() {
  std::vector<CommandInfo> commands;
  for (const Verb& verb : verbs()) {
    commands.push_back(described(verb));
    for (const Verb& command : verb.commands)
      commands.back().commands.push_back(described(command));
  }
  return commands;
}

int print_completion(const std::string& shell) {
  const auto script = completion_script(shell, described_verbs());
  if (!script) return fail(script.error());
  put_on_stdout(*script);
  return kExitOk;
}

int run_named(const std::string& name, int argc, char** argv) {
  if (is_in_job() && name != "run")
    return fail({ErrorCode::kBadInput,
                 fmt::format("{}: only `npubench run` is done by several processes; start it "
                             "without mpirun",
                             name)});
  for (const Verb& verb : verbs()) {
    if (verb.name != name) continue;
    for (const Verb& command : verb.commands)
      if (argc > 1 && command.name == argv[1])
        return run_verb(command, name + " " + argv[1], argc - 1, argv + 1);
    return run_verb(verb, name, argc, argv);
  }
  return unknown_verb(name);
}

// npubench help compare: as npubench compare --help; without a verb the overview.
int print_help(int argc, char** argv) {
  if (argc < 3) return print_overview();
  std::string help = "--help";
  std::vector<char*> words = {argv[2]};
  for (int i = 3; i < argc; ++i) words.push_back(argv[i]);
  words.push_back(help.data());
  return run_named(argv[2], static_cast<int>(words.size()), words.data());
}

// --color WHEN before the verb: how many words it takes.
Result<int> apply_colour(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  const std::string with_value = std::string(kColour) + "=";
  if (first == kColour && argc > 2) {
    NB_TRY_VOID(use_colour(argv[2]));
    return 2;
  }
  if (first == kColour) return bad_input("--color needs a value");
  if (first.starts_with(with_value)) {
    NB_TRY_VOID(use_colour(first.substr(with_value.size())));
    return 1;
  }
  NB_TRY_VOID(use_colour("auto"));
  return 0;
}

int main_verb(int argc, char** argv) {
  const auto used = apply_colour(argc, argv);
  if (!used) return fail(used.error());
  argc -= *used;
  argv += *used;
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "--version") {
    if (const auto level = select_simd_level(); !level) return fail(level.error());
    say("{}", version_text());
    return kExitOk;
  }
  if (first == "--help" || first == "-h") return print_overview();
  if (first == "help") return print_help(argc, argv);
  if (first == "--man") {
    put_on_stdout(man_page(described_verbs()));
    return kExitOk;
  }
  if (first == "--completion") return print_completion(argc > 2 ? argv[2] : "");
  if (first.empty()) {
    print_overview();
    return kExitUsage;
  }
  return run_named(first, argc - 1, argv + 1);
}

}  // namespace
}  // namespace nb::cli

int main(int argc, char** argv) {
  if (!nb::end_with_parent()) return nb::cli::kExitInterrupted;
  nb::cli::occupy_closed_streams();
  // Beyond `ulimit -f` a write then fails with a sentence instead of ending the process.
  std::signal(SIGXFSZ, SIG_IGN);
  if (const std::string limits = nb::cli::too_small_limits(); !limits.empty())
    return nb::cli::fail({nb::ErrorCode::kRun, limits});
  std::signal(SIGINT, nb::cli::on_interrupt);
  std::signal(SIGTERM, nb::cli::on_interrupt);
  // What several processes do together one of them says.
  if (nb::is_follower_of_job() && !nb::close_outputs()) return nb::cli::kExitRun;
  try {
    const int exit_code = nb::cli::main_verb(argc, argv);
    // A full disk or a closed pipe behind stdout must not pass for success.
    if ((std::fflush(stdout) != 0 || std::ferror(stdout) != 0) && exit_code == 0)
      return nb::cli::fail({nb::ErrorCode::kRun, "cannot write to stdout"});
    return exit_code;
  } catch (const std::exception& error) {
    return nb::cli::fail({nb::ErrorCode::kRun, error.what()});
  }
}
