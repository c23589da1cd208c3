#include "harness/doctor/smi.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "harness/base/fs.hpp"
#include "model/device/profile.hpp"
#include "tests/support/temp_dir.hpp"

namespace nb {
namespace {

// Lines of npu-smi 25.3.rc1 on a 910B3, from vllm-ascend's bug reports.
TEST(Smi, LooksAsNpuSmiDoes) {
  SmiView view;
  SmiChip busy{.name = "910B3",
               .bus_id = "0000:C1:00.0",
               .power_w = 94.3,
               .temperature_c = 53,
               .used_mb = 4487,
               .capacity_mb = 65536,
               .processes = {{111, "python", 37974}}};
  SmiChip idle = busy;
  idle.processes.clear();
  view.chips = {busy, idle};
  EXPECT_EQ(
      smi_text(view),
      R"(+------------------------------------------------------------------------------------------------+
| npu-smi 25.3.rc1                 Version: 25.3.rc1                                             |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     910B3               | OK            | 94.3        53                0    / 0             |
| 0                         | 0000:C1:00.0  | 0           0    / 0          4487 / 65536         |
+===========================+===============+====================================================+
| 1     910B3               | OK            | 94.3        53                0    / 0             |
| 0                         | 0000:C1:00.0  | 0           0    / 0          4487 / 65536         |
+===========================+===============+====================================================+
+---------------------------+---------------+----------------------------------------------------+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===========================+===============+====================================================+
| 0       0                 | 111           | python                   | 37974                   |
+===========================+===============+====================================================+
| No running processes found in NPU 1                                                            |
+===========================+===============+====================================================+
)");
}

TEST(Smi, ADoublePackageHasTwoChipsACardAndTheirPhysicalIds) {
  const auto view = smi_view(*load_profile("ascend_910c"), {});
  ASSERT_TRUE(view.has_value()) << view.error().message;
  ASSERT_EQ(view->chips.size(), 16U);
  const std::string text = smi_text(*view);
  EXPECT_NE(text.find("| Chip  Phy-ID              |"), text.npos) << text;
  EXPECT_NE(text.find("| 1     Ascend910           |"), text.npos) << text;
  EXPECT_NE(text.find("| 1     3                   |"), text.npos) << text;
  EXPECT_EQ(text.find("NPU 8"), text.npos) << text;
}

TEST(Smi, EveryLineIsAsWideAsTheFirst) {
  for (const char* device : {"ascend_910b3", "ascend_910c"}) {
    const auto view = smi_view(*load_profile(device), {{4194304, "npubench", 61234}});
    ASSERT_TRUE(view.has_value());
    const std::string text = smi_text(*view);
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find('\n', begin);
      EXPECT_EQ(end - begin, 98U) << text.substr(begin, end - begin);
      begin = end + 1;
    }
  }
}

TEST(Smi, AGraphicsCardIsNoNpu) {
  const auto view = smi_view(*load_profile("h100_sxm"), {});
  ASSERT_FALSE(view.has_value());
  EXPECT_EQ(view.error().message,
            "smi shows Ascend cards as npu-smi does; h100_sxm is a gpu (npubench list devices)");
}

TEST(Smi, ARunningNodeIsAProcessWithTheMemoryOfItsLastStep) {
  const test::TempDir folder;
  const auto suite = folder.path() / "smoke";
  ASSERT_TRUE(write_file(suite / ".locks" / "1a2b", "process 4711 on host\n").has_value());
  ASSERT_TRUE(
      write_file(suite / "1a2b" / "steps.csv", "step,peak_memory_bytes\n0,1048576\n1,2097152\n2,\n")
          .has_value());
  EXPECT_TRUE(running_nodes(folder.path()).empty()) << "nobody holds the lock";
  const int lock = ::open((suite / ".locks" / "1a2b").c_str(), O_RDWR);
  ASSERT_GE(lock, 0);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  const auto running = running_nodes(folder.path());
  ::close(lock);
  ASSERT_EQ(running.size(), 1U);
  EXPECT_EQ(running[0].process_id, 4711);
  EXPECT_EQ(running[0].memory_mb, 2);
}

TEST(Smi, WithoutAResultsFolderNothingRuns) {
  EXPECT_TRUE(running_nodes("no/such/folder").empty());
}

}  // namespace
}  // namespace nb
