#include "evals/sandbox/guard_wire.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "harness/base/check.hpp"

namespace nb::sandbox {

namespace {

constexpr char kStart = 's', kKill = 'k';
constexpr std::size_t kMostDescriptors = 2 + std::tuple_size_v<ChildDescriptors>;

template <class Value>
void put(std::string& out, const Value& value) {
  static_assert(std::is_trivially_copyable_v<Value>);
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void put_text(std::string& out, std::string_view text) {
  put(out, text.size());
  out += text;
}

void put_texts(std::string& out, const std::vector<std::string>& texts) {
  put(out, texts.size());
  for (const std::string& text : texts) put_text(out, text);
}

class Taker {
 public:
  explicit Taker(std::string_view text) : text_(text) {}
  std::string_view bytes(std::size_t count) {
    NB_CHECK(count <= text_.size(), "[sandbox] a request that ends too early");
    const std::string_view taken = text_.substr(0, count);
    text_.remove_prefix(count);
    return taken;
  }
  template <class Value>
  Value value() {
    Value taken{};
    std::memcpy(&taken, bytes(sizeof(Value)).data(), sizeof(Value));
    return taken;
  }
  std::string text() { return std::string(bytes(value<std::size_t>())); }
  std::vector<std::string> texts() {
    std::vector<std::string> list(value<std::size_t>());
    for (std::string& one : list) one = text();
    return list;
  }

 private:
  std::string_view text_;
};

// Room for the descriptors of one message, aligned as the kernel wants it.
union Control {
  cmsghdr header;
  std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> bytes;
};

}  // namespace

std::string packed(const StartRequest& request) {
  const LaunchPlan& plan = request.plan;
  std::string out(1, kStart);
  put_texts(out, plan.argv);
  put_texts(out, plan.environment);
  put(out, plan.limits.size());
  for (const ResourceLimit& limit : plan.limits) put(out, limit);
  put(out, plan.becomes_nobody);
  put(out, plan.has_rules);
  put(out, plan.has_folder);
  put_text(out, plan.filter);
  put(out, request.has_descriptor);
  return out;
}

std::string packed(const KillRequest& request) {
  std::string out(1, kKill);
  put(out, request);
  return out;
}

Request unpacked(std::string_view message) {
  Taker taker(message);
  Request request;
  if (taker.value<char>() == kKill) {
    request.kill = taker.value<KillRequest>();
    return request;
  }
  StartRequest start;
  start.plan.argv = taker.texts();
  start.plan.environment = taker.texts();
  start.plan.limits.resize(taker.value<std::size_t>());
  for (ResourceLimit& limit : start.plan.limits) limit = taker.value<ResourceLimit>();
  start.plan.becomes_nobody = taker.value<bool>();
  start.plan.has_rules = taker.value<bool>();
  start.plan.has_folder = taker.value<bool>();
  start.plan.filter = taker.text();
  start.has_descriptor = taker.value<decltype(start.has_descriptor)>();
  request.start = std::move(start);
  return request;
}

int send_message(int socket, std::string_view message, const std::vector<int>& descriptors) {
  NB_CHECK(descriptors.size() <= kMostDescriptors, "[sandbox] {} descriptors in a message",
           descriptors.size());
  iovec piece{const_cast<char*>(message.data()), message.size()};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  Control control{};
  if (!descriptors.empty()) {
    const std::size_t size = descriptors.size() * sizeof(int);
    header.msg_control = &control;
    header.msg_controllen = CMSG_SPACE(size);
    cmsghdr* const part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(part), descriptors.data(), size);
  }
  for (;;) {
    if (::sendmsg(socket, &header, MSG_NOSIGNAL) >= 0) return 0;
    if (errno != EINTR) return errno;
  }
}

std::optional<Message> receive_message(int socket) {
  ssize_t size = 0;
  do {
    size = ::recv(socket, nullptr, 0, MSG_PEEK | MSG_TRUNC);
  } while (size < 0 && errno == EINTR);
  if (size <= 0) return std::nullopt;
  Message message;
  message.text.resize(static_cast<std::size_t>(size));
  iovec piece{message.text.data(), message.text.size()};
  Control control{};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  header.msg_control = &control;
  header.msg_controllen = sizeof(control);
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return std::nullopt;
  message.text.resize(static_cast<std::size_t>(got));
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      message.descriptors.emplace_back(number);
    }
  }
  return message;
}

}  // namespace nb::sandbox
