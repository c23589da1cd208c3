// What the build's hardening (harness/cmake/nb.cmake) leaves in the program: no path of the
// checkout, a place of its own at every start, linker tables that cannot be written once it runs, a
// stack that cannot be run, and returns that are checked.

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>

#include "harness/base/fs.hpp"

namespace nb::test {
namespace {

std::string program() { return read_file(fs::path(NB_BINARY_DIR) / "npubench").value(); }

template <class T>
T at(const std::string& file, std::size_t offset) {
  T value;
  std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

std::optional<Elf64_Phdr> segment(const std::string& file, std::uint32_t type) {
  const auto header = at<Elf64_Ehdr>(file, 0);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const auto one = at<Elf64_Phdr>(file, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (one.p_type == type) return one;
  }
  return std::nullopt;
}

TEST(Hardening, TheProgramNamesNoPathOfTheCheckout) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "skipped: a sanitizer's reports name the sources where they are";
#endif
  EXPECT_EQ(program().find(NB_SOURCE_DIR "/"), std::string::npos);
}

TEST(Hardening, ItsTablesAreSealedAndItsStackCannotBeRun) {
  const std::string file = program();
  EXPECT_EQ(at<Elf64_Ehdr>(file, 0).e_type, ET_DYN) << "not position-independent";
  EXPECT_TRUE(segment(file, PT_GNU_RELRO)) << "no -z relro";
  const auto stack = segment(file, PT_GNU_STACK);
  ASSERT_TRUE(stack);
  EXPECT_EQ(stack->p_flags & PF_X, 0u) << "the stack can be run";
  const auto dynamic = segment(file, PT_DYNAMIC);
  ASSERT_TRUE(dynamic);
  bool is_bound = false;
  for (std::size_t i = 0; i < dynamic->p_filesz / sizeof(Elf64_Dyn); ++i) {
    const auto entry = at<Elf64_Dyn>(file, dynamic->p_offset + i * sizeof(Elf64_Dyn));
    is_bound |= entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_NOW) != 0;
  }
  EXPECT_TRUE(is_bound) << "no -z now";
}

TEST(Hardening, ItsFunctionsCheckTheirStack) {
  EXPECT_NE(program().find("__stack_chk_fail"), std::string::npos);
}

}  // namespace
}  // namespace nb::test
