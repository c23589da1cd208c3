#include "harness/http/request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "harness/base/ascii.hpp"

namespace nb {
namespace {

constexpr std::size_t kReadBytes = 16384;
constexpr std::size_t kMaxChunkLine = 256;

tl::unexpected<HttpRefusal> refuse(int status, std::string message) {
  return tl::unexpected<HttpRefusal>(HttpRefusal{status, std::move(message)});
}

constexpr std::string_view kBlanks = " \t";  // RFC 9110, 5.6.3

// RFC 9110, 5.6.2.
bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= '0' && c <= '9') || (lower_case(c) >= 'a' && lower_case(c) <= 'z') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

bool has_controls(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < ' ' && byte != '\t') || byte == 0x7f;
  });
}

bool has_item(std::string_view list, std::string_view wanted) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (lowered(trimmed(list.substr(0, comma), kBlanks)) == wanted) return true;
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  return false;
}

std::optional<std::uint64_t> number_of(std::string_view digits, int base) {
  std::uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, value, base);
  if (digits.empty() || error != std::errc() || at != end) return std::nullopt;
  return value;
}

HttpRefusal too_large(std::size_t limit) {
  return {413, fmt::format("a body above {} MiB: send less at a time", limit >> 20)};
}

}  // namespace

std::string_view HttpRequest::header(const std::string& lower_name) const {
  const auto found = headers.find(lower_name);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

bool HttpRequest::keeps_alive() const {
  const std::string_view connection = header("connection");
  if (has_item(connection, "close")) return false;
  return minor_version >= 1 || has_item(connection, "keep-alive");
}

tl::expected<HttpRequest, HttpRefusal> parse_http_head(std::string_view head,
                                                       const HttpRequestLimits& limits) {
  const auto next_line = [&]() -> std::string_view {
    const std::size_t end = head.find('\n');
    std::string_view line = head.substr(0, end);
    head = end == std::string_view::npos ? std::string_view() : head.substr(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  };
  HttpRequest request;
  const std::string_view line = next_line();
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last)
    return refuse(400, "the request line is not METHOD PATH HTTP/1.1");
  const std::string_view version = line.substr(last + 1);
  std::string_view target = line.substr(first + 1, last - first - 1);
  if (!is_token(line.substr(0, first)))
    return refuse(400, "the request line does not begin with a method");
  if (!version.starts_with("HTTP/"))
    return refuse(400, "the request line does not end with HTTP/1.1");
  if (version != "HTTP/1.1" && version != "HTTP/1.0")
    return refuse(505, "this server speaks HTTP/1.1");
  if (target.starts_with("http://")) {  // as a proxy is asked
    const std::size_t slash = target.find('/', 7);
    target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
  }
  if (!target.starts_with('/') || has_controls(target) || target.find(' ') != target.npos)
    return refuse(400, "the path does not begin with /, or has spaces");
  request.method = line.substr(0, first);
  request.minor_version = version.back() - '0';
  target = target.substr(0, target.find('#'));
  const std::size_t question = target.find('?');
  request.path = target.substr(0, question);
  if (question != std::string_view::npos) request.query = target.substr(question + 1);

  std::size_t count = 0;
  while (!head.empty()) {
    const std::string_view header = next_line();
    if (++count > limits.max_headers)
      return refuse(431, fmt::format("more than {} headers", limits.max_headers));
    const std::size_t colon = header.find(':');
    if (colon == std::string_view::npos || !is_token(header.substr(0, colon)))
      return refuse(400, fmt::format("header {} has no name before a colon", count));
    const std::string_view value = trimmed(header.substr(colon + 1), kBlanks);
    if (has_controls(value))
      return refuse(400, fmt::format("header {} holds control characters", count));
    const auto [place, is_new] =
        request.headers.emplace(lowered(header.substr(0, colon)), std::string(value));
    // Two lengths that differ: where the next request begins would be a matter of taste.
    if (!is_new && place->first == "content-length" && place->second != value)
      return refuse(400, "two Content-Length that differ");
    if (!is_new && place->first != "content-length") {
      place->second += ", ";
      place->second += value;
    }
  }
  if (request.minor_version == 1 && !request.headers.contains("host"))
    return refuse(400, "HTTP/1.1 without a Host header");
  if (request.headers.contains("transfer-encoding")) {
    if (request.headers.contains("content-length"))
      return refuse(400, "both Content-Length and Transfer-Encoding");
    if (lowered(request.header("transfer-encoding")) != "chunked")
      return refuse(501, "no transfer encoding but chunked is known");
  }
  if (const std::string encoding = lowered(request.header("content-encoding"));
      !encoding.empty() && encoding != "identity")
    return refuse(415, "a compressed body: send it as it is");
  return request;
}

tl::expected<void, HttpRefusal> HttpRequestReader::read_more(std::string_view part) {
  if (begin_ > 0) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  const std::size_t before = buffer_.size();
  buffer_.resize(before + kReadBytes);
  const long got = source_(buffer_.data() + before, kReadBytes);
  buffer_.resize(before + static_cast<std::size_t>(std::max(got, 0L)));
  if (got < 0) return refuse(408, fmt::format("{} did not come in time", part));
  if (got == 0) return refuse(400, fmt::format("the connection ended before {} was there", part));
  return {};
}

tl::expected<std::string, HttpRefusal> HttpRequestReader::read_line(std::size_t max_bytes,
                                                                    std::string_view part) {
  while (true) {
    const std::size_t end = buffer_.find('\n', begin_);
    if (std::min(end, buffer_.size()) - begin_ > max_bytes)
      return refuse(431,
                    fmt::format("{} has lines above {} KiB", part, limits_.max_head_bytes >> 10));
    if (end != std::string::npos) {
      std::string line = buffer_.substr(begin_, end - begin_);
      begin_ = end + 1;
      if (line.ends_with('\r')) line.pop_back();
      return line;
    }
    if (auto more = read_more(part); !more) return tl::unexpected<HttpRefusal>(more.error());
  }
}

tl::expected<std::string, HttpRefusal> HttpRequestReader::read_head() {
  std::string head;
  while (true) {
    const auto line =
        read_line(limits_.max_head_bytes - std::min(head.size(), limits_.max_head_bytes),
                  "the head of the request");
    if (!line) {
      const bool has_begun = !head.empty() || has_bytes();
      return has_begun ? tl::unexpected<HttpRefusal>(line.error()) : refuse(0, "");
    }
    if (line->empty() && !head.empty()) return head;
    if (!line->empty()) head += *line + "\n";  // empty ones before it: some clients' end of a body
  }
}

tl::expected<void, HttpRefusal> HttpRequestReader::read_bytes(std::size_t size, std::string& to) {
  while (size > 0) {
    const std::size_t part = std::min(size, buffer_.size() - begin_);
    to.append(buffer_, begin_, part);
    begin_ += part;
    size -= part;
    if (size == 0) break;
    if (auto more = read_more("the body"); !more) return more;
  }
  return {};
}

tl::expected<void, HttpRefusal> HttpRequestReader::read_chunks(std::string& body) {
  while (true) {
    const auto line = read_line(kMaxChunkLine, "the body");
    if (!line) return tl::unexpected<HttpRefusal>(line.error());
    const auto size =
        number_of(trimmed(std::string_view(*line).substr(0, line->find(';')), kBlanks), 16);
    if (!size) return refuse(400, "a chunk of the body without a size");
    if (*size > limits_.max_body_bytes - body.size())
      return tl::unexpected<HttpRefusal>(too_large(limits_.max_body_bytes));
    if (*size == 0) break;
    if (auto read = read_bytes(static_cast<std::size_t>(*size), body); !read) return read;
    const auto end = read_line(kMaxChunkLine, "the body");
    if (!end) return tl::unexpected<HttpRefusal>(end.error());
    if (!end->empty()) return refuse(400, "a chunk of the body is longer than its size");
  }
  for (std::size_t trailers = 0; trailers <= limits_.max_headers; ++trailers) {
    const auto line = read_line(limits_.max_head_bytes, "the body");
    if (!line) return tl::unexpected<HttpRefusal>(line.error());
    if (line->empty()) return {};
  }
  return refuse(431, "too many trailers");
}

tl::expected<HttpRequest, HttpRefusal> HttpRequestReader::next(
    const std::function<void()>& say_continue) {
  const auto head = read_head();
  if (!head) return tl::unexpected<HttpRefusal>(head.error());
  auto request = parse_http_head(*head, limits_);
  if (!request) return request;
  const bool is_chunked = request->headers.contains("transfer-encoding");
  std::uint64_t length = 0;
  if (const auto found = request->headers.find("content-length"); found != request->headers.end()) {
    const auto number = number_of(found->second, 10);
    if (!number) return refuse(400, "Content-Length is no number");
    length = *number;
  }
  if (length > limits_.max_body_bytes)
    return tl::unexpected<HttpRefusal>(too_large(limits_.max_body_bytes));
  if (say_continue && (is_chunked || length > 0) && !has_bytes() &&
      lowered(request->header("expect")) == "100-continue")
    say_continue();
  if (auto read = is_chunked ? read_chunks(request->body)
                             : read_bytes(static_cast<std::size_t>(length), request->body);
      !read)
    return tl::unexpected<HttpRefusal>(read.error());
  return request;
}

}  // namespace nb
