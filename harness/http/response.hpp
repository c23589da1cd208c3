// A response as a handler makes it, and its way onto a socket: whole, or streamed in chunks.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/http/request.hpp"

namespace nb {

// Where a streamed response goes. Not thread-safe.
class HttpStream {
 public:
  virtual ~HttpStream() = default;
  // Waits until the client takes it; false: it went away, and nothing more will arrive.
  virtual bool write(std::string_view bytes) = 0;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  // In place of body: called on the connection's thread, ends when the response does.
  std::function<void(HttpStream&)> stream = {};
};

// "Not Found"; "Error" for a status that is not listed.
std::string_view http_reason(int status);

// To the socket. request: nullptr: what came was none. closes: the connection ends behind it; set
// where the response's end can be told in no other way. False: the client went away, or took
// nothing for `seconds`.
bool write_response(int fd, const HttpResponse& response, const HttpRequest* request, bool& closes,
                    double seconds);

}  // namespace nb
