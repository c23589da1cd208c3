// nanochat's page, its stream and its limits.
#include <gtest/gtest.h>

#include "harness/serve/page.hpp"
#include "tests/serve/served.hpp"

namespace nb::test {
namespace {

Json chat(const std::string& content, const std::string& role = "user") {
  return {{"messages", {{{"role", role}, {"content", content}}}}};
}

TEST(ChatWeb, TextComesInPiecesOfValidUtf8) {
  const auto served = reciter("gr\xC3\xBC\xC3\x9F dich", 6);
  RawClient client(served->port());
  Json body = chat("hi");
  body["temperature"] = 0;
  client.send(post_bytes("/chat/completions", body.dump()));
  const auto events = events_of(client.receive("\r\n0\r\n\r\n"));
  std::string text;
  for (const Json& event : events) {
    if (event.contains("token")) {
      text += event["token"].get<std::string>();
      EXPECT_EQ(event["gpu"], 0);
    }
  }
  EXPECT_EQ(text, "gr\xC3\xBC\xC3\x9F dich");
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back()["done"], true);
}

TEST(ChatWeb, LimitsAreNanochats) {
  const auto served = reciter("x", 1);
  const auto refused = [&](const Json& body) {
    const Json answer = served->posted("/chat/completions", body, 400);
    EXPECT_TRUE(answer["detail"].is_string()) << answer;
    return answer["detail"].get<std::string>();
  };
  refused({{"messages", Json::array()}});
  refused(chat(""));
  refused(chat(std::string(8001, 'x')));
  refused(chat("x", "system"));
  Json many;
  for (int i = 0; i < 501; ++i) many["messages"].push_back({{"role", "user"}, {"content", "x"}});
  refused(many);
  Json long_one;
  for (int i = 0; i < 5; ++i)
    long_one["messages"].push_back({{"role", "user"}, {"content", std::string(7000, 'x')}});
  refused(long_one);
  for (const auto& [name, value] : {std::pair<const char*, Json>("temperature", 2.1),
                                    {"top_k", 201},
                                    {"max_tokens", 4097},
                                    {"max_tokens", 0},
                                    {"gpu", 1}}) {
    Json body = chat("x");
    body[name] = value;
    EXPECT_NE(refused(body).find(name), std::string::npos);
  }
}

TEST(ChatWeb, HealthAndStatsAreInTheFormThatClientsKnow) {
  const auto served = small_decoder();
  const Json health = Json::parse(body_of(served->get("/health")));
  EXPECT_EQ(health,
            Json({{"status", "ok"}, {"ready", true}, {"num_gpus", 1}, {"available_workers", 1}}));
  const Json stats = Json::parse(body_of(served->get("/stats")));
  EXPECT_EQ(stats["total_workers"], 1);
  EXPECT_EQ(stats["busy_workers"], 0);
  EXPECT_EQ(stats["workers"], Json::array({{{"gpu_id", 0}, {"device", "ascend_910b3"}}}));
}

TEST(ChatWeb, ThePageNeedsNothingFromElsewhereAndSetsNoHtml) {
  const std::string_view page = page_html();
  for (const char* word : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write",
                           "eval(", "http://", "https://", " style=", " onclick="})
    EXPECT_EQ(page.find(word), std::string_view::npos) << word;
  const auto served = small_decoder();
  const std::string response = served->get("/");
  EXPECT_EQ(status_of(response), 200);
  const std::size_t policy =
      response.find("Content-Security-Policy: default-src 'none'; script-src 'sha256-");
  EXPECT_NE(policy, std::string::npos) << response.substr(0, 800);
  EXPECT_EQ(body_of(response), page);
  EXPECT_EQ(status_of(served->get("/logo.svg")), 200);
}

}  // namespace
}  // namespace nb::test
