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

void send(const Plot& plot, const PlotScript& script, PlotFormat format, const fs::path& output,
          gnuplotio::Gnuplot& gnuplot) {
  gnuplot << plot_terminal(plot, format) << "set output " << gnuplot_quoted(output.string()) << "\n"
          << script.commands;
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

Result<void> draw_plot(const Plot& plot, const fs::path& stem, const std::string& program) {
  const PlotScript script = plot_script(plot);
  NB_CHECK(!script.data.empty(), "[plot] {} has no values to draw", plot.name);
  NB_TRY_VOID(make_folders(stem.parent_path()));
  const fs::path svg_path = stem.string() + ".svg", pdf_path = stem.string() + ".pdf";
  const fs::path messages = stem.string() + ".messages";
  std::error_code ignored;
  fs::remove(svg_path, ignored);
  fs::remove(pdf_path, ignored);
  {
    const IgnoreBrokenPipe guard;
    // LC_ALL: numbers on the axes and in the file with a point, names in any script.
    gnuplotio::Gnuplot gnuplot("LC_ALL=C.UTF-8 " + shell_quoted(program) + " 2> " +
                               shell_quoted(messages.string()));
    send(plot, script, PlotFormat::kSvg, svg_path, gnuplot);
    send(plot, script, PlotFormat::kPdf, pdf_path, gnuplot);
  }
  const auto said = read_file(messages);
  fs::remove(messages, ignored);
  const auto svg = read_file(svg_path), pdf = read_file(pdf_path);
  const bool drawn = svg && svg->find("</svg>") != std::string::npos && pdf &&
                     pdf->find("%%EOF") != std::string::npos;
  if (!drawn) {
    fs::remove(svg_path, ignored);
    fs::remove(pdf_path, ignored);
    return run_error("plot " + plot.name + ": " + program +
                     " did not draw it: " + first_line(said ? *said : std::string()));
  }
  return write_file(svg_path, svg_with_titles(*svg, plot));
}

}  // namespace nb
