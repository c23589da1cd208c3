#include "harness/http/server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "tests/harness/http/raw_client.hpp"

namespace nb::test {
namespace {

using std::chrono::milliseconds;

// Answers with the path; /slow waits until it is let go or its client is gone, /stream counts.
class Server {
 public:
  explicit Server(HttpServerOptions options = {}) {
    auto started = HttpServer::start(
        options,
        [this](const HttpRequest& request, const HttpPeer& peer) { return answer(request, peer); },
        [](int status, std::string_view message, std::string_view) {
          return HttpResponse{status, "text/plain", {}, std::string(message)};
        });
    EXPECT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
  }

  HttpServer* operator->() { return server_.get(); }
  int port() const { return server_->port(); }
  std::atomic<bool> let_go = false;
  std::atomic<int> gone = 0, slow = 0;

 private:
  HttpResponse answer(const HttpRequest& request, const HttpPeer& peer) {
    HttpResponse response;
    response.body = request.method + " " + request.path + " " + request.body;
    if (request.path == "/throw") throw std::runtime_error("secret");
    if (request.path == "/slow") {
      ++slow;
      while (!let_go && !peer.is_gone()) std::this_thread::sleep_for(milliseconds(2));
      gone += peer.is_gone() ? 1 : 0;
    }
    if (request.path == "/stream")
      response.stream = [this](HttpStream& out) {
        for (int i = 0; i < 3; ++i) out.write("part " + std::to_string(i) + "\n");
        while (!let_go) std::this_thread::sleep_for(milliseconds(2));
        out.write("last\n");
      };
    return response;
  }
  std::unique_ptr<HttpServer> server_;
};

constexpr const char* kGet = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr const char* kSlow = "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n";

template <class Condition>
bool soon(Condition condition) {
  for (int i = 0; i < 5000; ++i) {
    if (condition()) return true;  // asked once more it may be false: it takes what it asks for
    std::this_thread::sleep_for(milliseconds(2));
  }
  return false;
}

TEST(HttpServer, AConnectionIsAskedAgainAndAgain) {
  Server server;
  RawClient client(server.port());
  for (int i = 0; i < 50; ++i) {
    client.send(post_bytes("/a", "body " + std::to_string(i)));
    EXPECT_EQ(body_of(client.receive_response()), "POST /a body " + std::to_string(i));
  }
  client.send(std::string(kGet) + kGet + "GET /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string three = client.receive();
  EXPECT_NE(three.find("GET /b "), std::string::npos) << three;
  EXPECT_NE(three.find("Connection: close"), std::string::npos) << three;
  EXPECT_EQ(status_of(ask(server.port(), "nonsense\r\n\r\n")), 400);
}

TEST(HttpServer, AHandlerThatThrowsSaysNothingOfWhy) {
  Server server;
  const std::string response = ask(server.port(), "GET /throw HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(status_of(response), 500);
  EXPECT_EQ(response.find("secret"), std::string::npos) << response;
}

TEST(HttpServer, AStreamArrivesInPartsAndEndsWhereItsVersionSays) {
  Server server;
  RawClient client(server.port());
  client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(client.receive("part 2").find("Transfer-Encoding: chunked"), std::string::npos);
  server.let_go = true;
  EXPECT_NE(client.receive("\r\n0\r\n\r\n").find("5\r\nlast\n\r\n0\r\n\r\n"), std::string::npos);
  RawClient old(server.port());
  old.send("GET /stream HTTP/1.0\r\n\r\n");
  const std::string all = old.receive();
  EXPECT_EQ(all.find("chunked"), std::string::npos);
  EXPECT_EQ(body_of(all), "part 0\npart 1\npart 2\nlast\n");
}

TEST(HttpServer, ALargeBodyIsRefusedWhileItComes) {
  Server server;
  RawClient client(server.port());
  client.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 17000000\r\n\r\n");
  client.send(std::string(1 << 20, 'x'));
  EXPECT_EQ(status_of(client.receive_response()), 413);
  RawClient polite(server.port());
  polite.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_NE(polite.receive("\r\n\r\n").find("100 Continue"), std::string::npos);
  polite.send("ok");
  EXPECT_EQ(body_of(polite.receive_response()), "POST /a ok");
}

TEST(HttpServer, ASlowRequestIsCutWhileOthersAreServed) {
  HttpServerOptions options;
  options.request_seconds = 0.5;
  Server server(options);
  std::vector<RawClient> slow;
  for (int i = 0; i < 50; ++i) slow.emplace_back(server.port());
  std::atomic<bool> done = false;
  std::thread drips([&] {
    while (!done) {
      for (auto& client : slow) client.send("G");
      std::this_thread::sleep_for(milliseconds(50));
    }
  });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(status_of(ask(server.port(), kGet)), 200);
  for (auto& client : slow) EXPECT_EQ(status_of(client.receive("\r\n\r\n")), 408);
  done = true;
  drips.join();
}

TEST(HttpServer, IdleConnectionsKeepNobodyOut) {
  HttpServerOptions options;
  options.max_connections = 20;
  Server server(options);
  std::vector<RawClient> idle;
  for (int i = 0; i < 20; ++i) {
    idle.emplace_back(server.port());
    idle.back().send(kGet);
    EXPECT_EQ(status_of(idle.back().receive_response()), 200);
  }
  EXPECT_TRUE(soon([&] { return status_of(ask(server.port(), kGet)) == 200; }));
  EXPECT_LE(server->counts().connections, 21);
}

TEST(HttpServer, BusyConnectionsMakeItSay503) {
  HttpServerOptions options;
  options.max_connections = 10;
  Server server(options);
  std::vector<RawClient> busy;
  for (int i = 0; i < 10; ++i) {
    busy.emplace_back(server.port());
    busy.back().send(kSlow);
  }
  ASSERT_TRUE(soon([&] { return server.slow == 10; }));
  const std::string refused = ask(server.port(), kGet);
  EXPECT_EQ(status_of(refused), 503);
  EXPECT_NE(refused.find("Retry-After: 1"), std::string::npos);
  EXPECT_GE(server->counts().turned_away, 1);
  server.let_go = true;
  for (auto& client : busy) EXPECT_EQ(status_of(client.receive_response()), 200);
  EXPECT_TRUE(soon([&] { return status_of(ask(server.port(), kGet)) == 200; }));
}

TEST(HttpServer, AClientThatHangsUpIsNoticed) {
  Server server;
  {
    RawClient client(server.port());
    client.send(kSlow);
    ASSERT_TRUE(soon([&] { return server.slow == 1; }));
  }
  EXPECT_TRUE(soon([&] { return server.gone == 1; }));
}

TEST(HttpServer, StopEndsWhatRunsAndRefusesWhatComes) {
  Server server;
  RawClient running(server.port()), idle(server.port()), late(server.port());
  idle.send(kGet);
  EXPECT_EQ(status_of(idle.receive_response()), 200);
  running.send(kSlow);
  ASSERT_TRUE(soon([&] { return server.slow == 1; }));
  auto stopped = std::async(std::launch::async, [&] { return server->stop(); });
  EXPECT_EQ(idle.receive(), "");  // closed
  EXPECT_EQ(status_of(ask(server.port(), kGet)), 503);
  server.let_go = true;
  EXPECT_EQ(status_of(running.receive_response()), 200);
  EXPECT_TRUE(stopped.get());
  EXPECT_FALSE(RawClient(server.port()).is_open());
}

TEST(HttpServer, StopCutsWhatDoesNotEndInTime) {
  HttpServerOptions options;
  options.drain_seconds = 0.3;
  Server server(options);
  RawClient client(server.port());
  client.send(kSlow);
  ASSERT_TRUE(soon([&] { return server.slow == 1; }));
  EXPECT_FALSE(server->stop());
  EXPECT_EQ(server.gone, 1);
}

TEST(HttpServer, ATakenPortIsOneSentence) {
  Server server;
  HttpServerOptions options;
  options.port = server.port();
  const auto second = HttpServer::start(options, {}, {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kRun);
  EXPECT_NE(second.error().message.find("is taken by another program"), std::string::npos);
  options.address = "256.1.1.1";
  const auto nowhere = HttpServer::start(options, {}, {});
  ASSERT_FALSE(nowhere);
}

TEST(HttpServer, ManyAskAtOnce) {
  Server server;
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int t = 0; t < 200; ++t)
    threads.emplace_back([&] {
      RawClient client(server.port());
      for (int i = 0; i < 20; ++i) {
        client.send(kGet);
        good += status_of(client.receive_response()) == 200 ? 1 : 0;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good, 4000);
}

}  // namespace
}  // namespace nb::test
