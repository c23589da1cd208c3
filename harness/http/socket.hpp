// Sockets of a server: listening, waiting with a deadline, sending. Not here: what the bytes mean.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "harness/base/result.hpp"

namespace nb {

using SocketClock = std::chrono::steady_clock;

SocketClock::time_point after(double seconds);  // from now, a million at most

// A listening socket that does not block. address: IPv4 or IPv6, or a name of this host; port 0:
// any that is free. Error: kRun, one sentence: the port is taken, or the address is none of this
// host.
Result<int> listen_on(const std::string& address, int port);
int port_of(int fd);  // 0: not known

// poll() of one descriptor until something is there; false: not in time.
bool wait_for(int fd, short events, SocketClock::time_point end);
// All of it; false: the other side went away, or took nothing for so long.
bool send_all(int fd, std::string_view bytes, double seconds);
// Ends the sending, and reads what the other side still sends, for a second: what was sent is lost
// when a socket is closed with unread bytes.
void linger(int fd);

// Name of an address that only this host can reach: 127.0.0.0/8, ::1, localhost.
bool is_loopback(std::string_view address);

}  // namespace nb
