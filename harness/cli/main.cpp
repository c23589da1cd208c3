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
#include "harness/cli/common.hpp"
#include "harness/cli/verb.hpp"
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

// "no command "verfy"; did you mean "verify"?": of a verb that has commands of its own.
std::string no_command(const ::CLI::App& app) {
  std::vector<std::string> names;
  for (const ::CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
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
    return message.substr(0, at) + ": its value is missing";
  return message;
}

// CLI11's words for what is wrong, with the nearest flag where one is unknown.
int usage_error(const ::CLI::App& app, const ::CLI::ParseError& error) {
  std::string message = plain_words(error.what());
  std::vector<std::string> flags;
  add_flags(app, flags);
  for (const ::CLI::App* command : app.get_subcommands()) add_flags(*command, flags);
  const bool has_commands = !app.get_subcommands({}).empty();
  if (has_commands && app.get_subcommands().empty()) message = no_command(app);
  if (dynamic_cast<const ::CLI::ExtrasError*>(&error) != nullptr)
    for (const std::string& extra : app.remaining(/*recurse=*/true))
      if (extra.starts_with("-")) {
        message += did_you_mean(extra.substr(0, extra.find('=')), flags);
        break;
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

int run_verb(const Verb& verb, int argc, char** argv) {
  ::CLI::App app(fmt::format("Example: {}\n\n{}.", verb.example, verb.summary));
  app.name("npubench " + std::string(verb.name));
  app.set_help_flag("--help", "this text");
  CLI::App options(app);
  const Action action = verb.add(options);
  try {
    app.parse(argc, argv);
  } catch (const ::CLI::CallForHelp&) {
    say("{}", wrapped_help(app.help()));
    return kExitOk;
  } catch (const ::CLI::ParseError& error) {
    app.name(std::string(verb.name));
    return usage_error(app, error);
  }
  if (const std::string option = option_without_value(app); !option.empty())
    return fail({ErrorCode::kBadInput,
                 fmt::format("{}: its value is empty ({} --help)", option, app.get_name())});
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
  text += "\nnpubench <verb> --help says more. npubench --version.\n";
  say("{}", wrapped_help(text));
  return kExitOk;
}

int main_verb(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "--version") {
    if (const auto level = select_simd_level(); !level) return fail(level.error());
    say("{}", version_text());
    return kExitOk;
  }
  if (first == "--help" || first == "-h" || first == "help") return print_overview();
  if (first.empty()) {
    print_overview();
    return kExitUsage;
  }
  for (const Verb& verb : verbs()) {
    if (verb.name != first) continue;
    return run_verb(verb, argc - 1, argv + 1);
  }
  return unknown_verb(first);
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
