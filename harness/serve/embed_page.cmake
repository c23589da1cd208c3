# cmake -DOUTPUT=x.cpp -DPAGE=page.html -P embed_page.cmake: the page as a string literal of fewer than 64 KiB.
file(READ ${PAGE} hex HEX)
string(LENGTH "${hex}" digits)
if(digits GREATER 131000)
  message(FATAL_ERROR "${PAGE} is too long for one literal of standard C++")
endif()
string(REGEX REPLACE "(................................................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" hex "${hex}")
string(REGEX REPLACE "\n" "\"\n    \"" hex "${hex}")
file(WRITE ${OUTPUT} "#include \"harness/serve/page.hpp\"

namespace nb {
namespace {

constexpr std::string_view kPage =
    \"${hex}\";

}  // namespace

std::string_view page_html() { return kPage; }

}  // namespace nb
")
