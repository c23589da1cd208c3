// The Content-Security-Policy of a report: what it lets run is what the renderer wrote, known by
// its hash.
#include <gtest/gtest.h>

#include "harness/base/fs.hpp"
#include "report/html.hpp"
#include "report/report.hpp"
#include "tests/report/has.hpp"
#include "tests/results/fake_run.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

using test::has;

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) return {};
  return text.substr(at + begin.size(), text.find(end, at) - at - begin.size());
}

std::string policy_of(const std::string& html) {
  return between(html, "Content-Security-Policy\" content=\"", "\">");
}

// Two devices whose answers differ: the page has plots, tables, items and their script.
std::string page_with_items(const fs::path& folder) {
  test::FakeRun run;
  const auto even = [](int i) { return i % 2 == 0; };
  const auto odd = [](int i) { return i % 2 == 1; };
  run.add_evaluation("ascend_910b3", 1, "a", {{"mw/facts", 60, even}});
  run.add_evaluation("h100_sxm", 1, "b", {{"mw/facts", 60, odd}});
  const RunRecords records = run.read();
  const ReportInput input{"x", &records, device_comparisons(records), {}, {}};
  const auto files = write_report(input, folder, {Language::kEn, true, "gnuplot"});
  EXPECT_TRUE(files) << files.error().message;
  return files ? *read_file(files->html) : std::string();
}

TEST(HtmlPolicy, HashesAreThoseOfTheStandard) {
  // The example of CSP level 2, section 4.2.5, and another of openssl dgst -sha256 -binary |
  // base64.
  EXPECT_EQ(html_policy("a{}", "alert('Hello, world.');"),
            "default-src 'none'; style-src 'sha256-X1RutGBrXCt9KkSaXMK7tHftWiRscFHOhxsS8tv8hBk='; "
            "script-src 'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='; img-src data:; "
            "base-uri 'none'; form-action 'none'");
  EXPECT_TRUE(has(html_policy("a{}", ""), "script-src 'none'"));
}

TEST(HtmlPolicy, NamesEveryInlineBlockOfThePageAndNothingElse) {
  const test::TempDir dir;
  const std::string html = page_with_items(dir / "r");
  const std::string policy = policy_of(html);
  EXPECT_FALSE(has(html, "unsafe-"));
  const std::string style = between(html, "<style>", "</style>");
  const std::string script = between(html, "<script>", "</script>");
  ASSERT_FALSE(style.empty());
  ASSERT_FALSE(script.empty());
  EXPECT_EQ(policy, html_policy(style, script));
  EXPECT_EQ(html.find("<style", html.find("<style") + 1), std::string::npos) << "a second sheet";
  EXPECT_EQ(html.find("<script>", html.find("<script>") + 1), std::string::npos);
}

TEST(HtmlPolicy, APageWithoutItemsRunsNoScript) {
  const std::string html = render_html({"t", Words(), {{"s", "S", {Paragraph{"p"}}, false}}});
  EXPECT_TRUE(has(policy_of(html), "script-src 'none';"));
  EXPECT_FALSE(has(html, "<script"));
}

// A policy of hashes switches these off, so a page that used them would look or work differently.
TEST(HtmlPolicy, NoElementHasAStyleAttributeOrAnEventHandler) {
  const test::TempDir dir;
  const std::string html = page_with_items(dir / "r");
  for (std::size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    if (html.compare(at, 7, "<script") == 0) at = html.find("</script", at);
    const std::string tag = html.substr(at, html.find('>', at) - at);
    for (const char* attribute : {" style=", " onclick=", " onload=", " oninput=", " onchange="})
      EXPECT_FALSE(has(tag, attribute)) << tag;
  }
}

TEST(HtmlPolicy, AHeaderCannotChangeTheHashOfTheStyle) {
  Document document{"t", Words(), {}};
  document.sections = {{"s",
                        "S",
                        {TableBlock{"", {{"a\r\nb", "c\rd", "\x01", "e"}, {{"1", "2", "3", "4"}}}}},
                        false}};
  const std::string html = render_html(document);
  const std::string style = between(html, "<style>", "</style>");
  EXPECT_EQ(style.find('\r'), std::string::npos) << "a browser reads it as a line feed";
  EXPECT_TRUE(has(style, "--name:\"a\\5c x0d\\20 b\"")) << style.substr(style.size() - 400);
  EXPECT_EQ(policy_of(html), html_policy(style, ""));
}

}  // namespace
}  // namespace nb
