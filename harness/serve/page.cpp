#include "harness/serve/page.hpp"

#include <fmt/format.h>

#include "harness/base/base64.hpp"
#include "harness/base/hash.hpp"

namespace nb {
namespace {

// What stands between two marks of the page.
std::string_view between(std::string_view from, std::string_view to) {
  const std::string_view page = page_html();
  const std::size_t begin = page.find(from) + from.size();
  return page.substr(begin, page.find(to, begin) - begin);
}

std::string hash_source(std::string_view text) {
  std::string bytes;
  const std::string hex = sha256_hex(text);
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return "'sha256-" + base64_encode(bytes) + "'";
}

}  // namespace

std::string page_policy() {
  static const std::string policy = fmt::format(
      "default-src 'none'; script-src {}; style-src {}; connect-src 'self'; img-src 'self'; "
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      hash_source(between("<script>", "</script>")), hash_source(between("<style>", "</style>")));
  return policy;
}

std::string_view logo_svg() {
  return R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#3b5bdb"/><path d="M8 9h16v11H15l-5 4v-4H8z" fill="#fff"/><path d="M12 14.5h8" stroke="#3b5bdb" stroke-width="2"/></svg>
)";
}

}  // namespace nb
