// The only file that includes gnuplot-iostream (heavy to compile).
#include <gnuplot-iostream.h>

#include <csignal>
#include <tuple>

#include "harness/base/check.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/subprocess.hpp"
#include "report/plot.hpp"

namespace nb {
namespace {

// A gnuplot that dies while we write must not take us with it.
class IgnoreBrokenPipe {
 public:
  IgnoreBrokenPipe() {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &old_);
  }
  ~IgnoreBrokenPipe() { sigaction(SIGPIPE, &old_, nullptr); }
  IgnoreBrokenPipe(const IgnoreBrokenPipe&) = delete;
  IgnoreBrokenPipe& operator=(const IgnoreBrokenPipe&) = delete;

 private:
  struct sigaction old_ = {};
};

// For the shell that gnuplot-iostream's popen starts, and inside gnuplot's own single quotes.
std::string shell_quoted(const std::string& text) {
  std::string safe = "'";
  for (const char c : text) safe += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return safe + "'";
}
std::string gnuplot_quoted(const std::string& text) {
  std::string safe = "'";
  for (const char c : text) safe += c == '\'' ? std::string("''") : std::string(1, c);
  return safe + "'";
}

using Row = std::tuple<double, double, double, double, double, double>;

void send(const PlotScript& script, const fs::path& output, const std::string& command) {
  gnuplotio::Gnuplot gnuplot(command);
  gnuplot << "set output " << gnuplot_quoted(output.string()) << "\n" << script.commands;
  for (const auto& rows : script.data) {
    std::vector<Row> tuples;
    tuples.reserve(rows.size());
    for (const auto& r : rows) tuples.emplace_back(r[0], r[1], r[2], r[3], r[4], r[5]);
    gnuplot.send1d(tuples);
  }
  gnuplot << "unset output\n";
}

std::string first_line(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \n");
  return begin == std::string::npos ? "no message"
                                    : text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

bool has_gnuplot(const std::string& program) {
  SubprocessOptions options;
  options.time_limit = std::chrono::seconds(20);
  const auto result = run_subprocess({program, "--version"}, options);
  return result && result->exit_code == 0 && result->out.starts_with("gnuplot");
}

Result<void> draw_svg(const Plot& plot, const fs::path& path, const std::string& program) {
  const PlotScript script = plot_script(plot);
  NB_CHECK(!script.data.empty(), "[plot] {} has no values to draw", plot.name);
  NB_TRY_VOID(make_folders(path.parent_path()));
  const fs::path messages = path.string() + ".messages";
  std::error_code ignored;
  fs::remove(path, ignored);
  {
    const IgnoreBrokenPipe guard;
    // LC_ALL=C: numbers on the axes and in the file with a point.
    send(script, path,
         "LC_ALL=C " + shell_quoted(program) + " 2> " + shell_quoted(messages.string()));
  }
  const auto said = read_file(messages);
  fs::remove(messages, ignored);
  const auto svg = read_file(path);
  if (!svg || svg->find("</svg>") == std::string::npos) {
    fs::remove(path, ignored);
    return run_error("plot " + plot.name + ": " + program +
                     " did not draw it: " + first_line(said ? *said : std::string()));
  }
  return {};
}

}  // namespace nb
