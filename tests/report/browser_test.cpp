// Reports in a real browser, where there is one (browser.sh).
#include <gtest/gtest.h>

#include "harness/base/subprocess.hpp"
#include "report/report.hpp"
#include "tests/results/fake_run.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

TEST(Browser, PagesHaveNoErrorNoHiddenColumnAndAFilterThatFilters) {
  test::FakeRun run;
  const auto odd = [](int i) { return i % 2 == 1; };
  for (const char* device : {"ascend_910b3", "h100_sxm"}) {
    const bool first = device[0] == 'a';
    run.add_training(device, 1, first ? 1.884 : 1.880, first ? 1e-4 : 0);
    run.add_evaluation(device, 1, device,
                       {{"mw/agreement", 60, first ? test::even : +odd},
                        {"mw/facts", 60, test::even},
                        {"mw/gsm8k", 60, first ? test::even : +odd, {}, [](int i) {
                           return "</script> & \"" + std::to_string(i) + "\"";
                         }}});
    run.add_prediction(device, first ? 912345678 : 712345678, 51e9);
  }
  const RunRecords records = run.read();
  ReportInput input{"smoke", &records, device_comparisons(records), gate(records, records), {}};
  input.add_texts = [](ItemList& list) {
    for (Flip& flip : list.flips) {
      flip.text.question = "Which number is \"" + flip.id + "\"?\n</script><b>\nSay it.";
      flip.text.choices = {"<i>one</i>", "two"};
      flip.text.reference = "two";
    }
  };
  const test::TempDir dir;
  std::vector<std::string> argv{"bash", NB_SOURCE_DIR "/tests/report/browser.sh"};
  for (const Language language : {Language::kEn, Language::kZh}) {
    const auto files =
        write_report(input, dir / std::string(name(language)), {language, true, "gnuplot"});
    ASSERT_TRUE(files) << files.error().message;
    argv.push_back(files->html.string());
  }
  SubprocessOptions options;
  options.time_limit = std::chrono::minutes(5);
  const auto result = run_subprocess(argv, options);
  ASSERT_TRUE(result) << result.error().message;
  if (result->exit_code == 77) GTEST_SKIP() << result->out;
  EXPECT_EQ(result->exit_code, 0) << result->out << result->err;
}

}  // namespace
}  // namespace nb
