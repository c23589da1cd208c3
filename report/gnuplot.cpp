// The only file that includes gnuplot-iostream (heavy to compile).
#include <fmt/format.h>
#include <gnuplot-iostream.h>
#include <stdlib.h>

#include <cerrno>
#include <csignal>
#include <cstring>
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

// Cairo writes the time into a PDF: two reports of one run would differ. Blanks in its place leave
// every offset of the file right.
std::string without_date(std::string pdf) {
  for (const std::string_view key : {"/CreationDate (", "/ModDate ("})
    if (const std::size_t at = pdf.find(key); at != std::string::npos)
      if (const std::size_t end = pdf.find(')', at); end != std::string::npos)
        pdf.replace(at, end + 1 - at, end + 1 - at, ' ');
  return pdf;
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

Result<PlotFormat> plot_format_of(const fs::path& file) {
  if (file.extension() == ".svg") return PlotFormat::kSvg;
  if (file.extension() == ".pdf") return PlotFormat::kPdf;
  return bad_input(fmt::format("{}: a plot is an .svg or a .pdf; name it so", file.string()));
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
    PlotScript hovering = script;
    add_hover(hovering, plot);
    send(plot, hovering, PlotFormat::kSvg, svg_path, gnuplot);
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
  NB_TRY_VOID(write_file(pdf_path, without_date(*pdf)));
  return write_file(svg_path, svg_with_titles(svg_with_hover(*svg, plot), plot));
}

Result<void> draw_plot_file(const Plot& plot, const fs::path& file, const std::string& program) {
  NB_TRY(const PlotFormat format, plot_format_of(file));
  if (!has_gnuplot(program))
    return run_error(fmt::format("{}: not drawn: {} is not installed (apt-get install gnuplot-nox)",
                                 file.string(), program));
  std::string folder = (fs::temp_directory_path() / "npubench-plot-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr)
    return run_error(fmt::format("{}: not drawn: cannot make {}: {}", file.string(), folder,
                                 std::strerror(errno)));
  const fs::path stem = fs::path(folder) / "plot";
  auto drawn = draw_plot(plot, stem, program);
  Result<std::string> bytes =
      read_file(stem.string() + (format == PlotFormat::kSvg ? ".svg" : ".pdf"));
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  if (!drawn) return drawn;
  NB_TRY_VOID(bytes);
  return write_file(file, *bytes);
}

}  // namespace nb
