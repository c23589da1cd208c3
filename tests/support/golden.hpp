// Compares text with a committed file under tests/golden/. NB_ACCEPT=1 rewrites the file instead:
// look at the difference before committing it.
#pragma once

#include <string>
#include <string_view>

namespace nb::test {

// Empty when equal (or accepted); else one message with the first line that differs on each side.
std::string golden_difference(const std::string& name, std::string_view text);

}  // namespace nb::test

#define NB_EXPECT_GOLDEN(name, text) EXPECT_EQ("", ::nb::test::golden_difference(name, text))
