// OpenAI's protocol over a connection: what two harnesses send, and what every client relies on.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "harness/base/rng.hpp"
#include "tests/serve/served.hpp"

namespace nb::test {
namespace {

Json ids(std::initializer_list<int> list) { return Json(std::vector<int>(list)); }

float as_float(const Json& value) { return static_cast<float>(value.get<double>()); }

// lm-evaluation-harness: token_logprobs[ctxlen:-1], and greedy where its own log-prob is the
// largest of the dictionary, exactly.
TEST(ServeOpenAi, LmEvalsScoresAreThoseOfTheModel) {
  const auto served = small_decoder();
  const Json answer = served->complete(
      {{"model", "tiny"},
       {"prompt", Json::array({ids({256, 72, 105, 33, 200, 10}), ids({256, 65, 66})})},
       {"temperature", 0},
       {"max_tokens", 1},
       {"logprobs", 1},
       {"seed", 1234},
       {"echo", true}});
  ASSERT_EQ(answer["choices"].size(), 2U);
  EXPECT_EQ(answer["object"], "text_completion");
  for (const auto& [index, prompt] : {std::pair(0, std::vector<int>{256, 72, 105, 33, 200, 10}),
                                      std::pair(1, std::vector<int>{256, 65, 66})}) {
    const Json& choice = answer["choices"][static_cast<std::size_t>(index)];
    EXPECT_EQ(choice["index"], index);
    const Json& part = choice["logprobs"];
    EXPECT_TRUE(part["token_logprobs"][0].is_null());
    const ScoreRequest request{prompt, 1, prompt.size(), 1};
    const auto scored = served->model().score({&request, 1}).at(0);
    const bool has_token = choice["finish_reason"] == "length";
    ASSERT_EQ(part["tokens"].size(), prompt.size() + (has_token ? 1 : 0));
    for (std::size_t i = 1; i < prompt.size(); ++i) {
      EXPECT_EQ(as_float(part["token_logprobs"][i]), scored.log_probs[i - 1]);
      double largest = -1e9;
      for (const auto& [text, value] : part["top_logprobs"][i].items())
        largest = std::max(largest, value.get<double>());
      EXPECT_EQ(part["token_logprobs"][i].get<double>() == largest,
                scored.log_probs[i - 1] == scored.top[i - 1][0].log_prob);
    }
    // The token behind the prompt is the one that would be generated.
    GenerateRequest wish;
    wish.prompt = prompt;
    wish.max_tokens = 1;
    wish.temperature = 0;
    wish.tools = false;
    wish.log_probs = true;
    wish.top = 1;
    const auto generated = served->model().generate({&wish, 1}).at(0).samples.at(0);
    if (has_token) {
      EXPECT_EQ(as_float(part["token_logprobs"].back()), generated.log_probs.at(0));
    } else {
      EXPECT_TRUE(generated.tokens.empty());
    }
  }
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 9);
  EXPECT_GT(answer["usage"]["npubench"]["simulated_prefill_ms"], 0);
}

TEST(ServeOpenAi, PromptLogProbsByIdsBeginWhereTheyAreWanted) {
  const auto served = small_decoder();
  const std::vector<int> prompt = {256, 72, 105, 33, 10};
  const Json answer = served->complete({{"prompt", prompt},
                                        {"max_tokens", 0},
                                        {"prompt_logprobs", 1},
                                        {"logprob_start_len", 3},
                                        {"return_token_ids", true}});
  const Json& choice = answer["choices"][0];
  ASSERT_EQ(choice["prompt_logprobs"].size(), 5U);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(choice["prompt_logprobs"][i].is_null());
  const ScoreRequest request{prompt, 3, 5, 1};
  const auto scored = served->model().score({&request, 1}).at(0);
  for (std::size_t i = 3; i < 5; ++i) {
    const Json& entry = choice["prompt_logprobs"][i];
    EXPECT_EQ(as_float(entry[std::to_string(prompt[i])]["logprob"]), scored.log_probs[i - 3]);
    EXPECT_TRUE(entry.contains(std::to_string(scored.argmax[i - 3])));
  }
  EXPECT_EQ(choice["token_ids"], Json::array());
  EXPECT_EQ(choice["prompt_token_ids"], Json(prompt));
  EXPECT_EQ(choice["text"], "");
}

TEST(ServeOpenAi, SixtyFourEqualRequestsHaveEqualBytes) {
  const auto served = small_decoder();
  const Json body{{"prompt", "Hello"},  {"max_tokens", 6}, {"seed", 9}, {"n", 2},
                  {"temperature", 0.9}, {"logprobs", 5}};
  const std::string alone = served->complete(body)["choices"].dump();
  std::vector<std::string> all(64);
  std::vector<std::thread> threads;
  for (auto& one : all)
    threads.emplace_back([&] {
      one = Json::parse(body_of(served->post("/v1/completions", body.dump())))["choices"].dump();
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()), std::set<std::string>{alone});
}

TEST(ServeOpenAi, SamplesDifferAndTheirIndexIsPromptTimesN) {
  const auto served = small_decoder();
  const Json answer = served->complete({{"prompt", {"Hello", "Hullo"}},
                                        {"max_tokens", 6},
                                        {"n", 3},
                                        {"seed", 1},
                                        {"ignore_eos", true},
                                        {"return_token_ids", true}});
  ASSERT_EQ(answer["choices"].size(), 6U);
  std::set<std::string> texts;
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(answer["choices"][i]["index"], i);
    EXPECT_EQ(answer["choices"][i]["token_ids"].size(), 6U);
    texts.insert(answer["choices"][i]["token_ids"].dump());
  }
  EXPECT_GT(texts.size(), 3U);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 36);
}

TEST(ServeOpenAi, AStopStringAcrossTokensEndsTheText) {
  const auto served = reciter("one two STOP three", 1);
  Json body{{"prompt", ids({65})}, {"temperature", 0}, {"max_tokens", 50}, {"stop", "STOP"}};
  Json answer = served->complete(body);
  EXPECT_EQ(answer["choices"][0]["text"], "one two ");
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(answer["choices"][0]["stop_reason"], "STOP");
  body["include_stop_str_in_output"] = true;
  EXPECT_EQ(served->complete(body)["choices"][0]["text"], "one two STOP");
  body["stop"] = {"absent", "w"};
  EXPECT_EQ(served->complete(body)["choices"][0]["text"], "one tw");
  body.erase("stop");
  answer = served->complete(body);
  EXPECT_EQ(answer["choices"][0]["text"], "one two STOP three");
  EXPECT_TRUE(answer["choices"][0]["stop_reason"].is_null());
  body["stop_token_ids"] = {'t'};
  answer = served->complete(body);
  EXPECT_EQ(answer["choices"][0]["text"], "one ");
  EXPECT_EQ(answer["choices"][0]["stop_reason"], 't');
  body["max_tokens"] = 2;
  EXPECT_EQ(served->complete(body)["choices"][0]["finish_reason"], "length");
}

TEST(ServeOpenAi, AStreamSaysTheSameAsAWholeAnswer) {
  const auto served = reciter("gr\xC3\xBC\xC3\x9F Gott, STOP und mehr", 1);
  Json body{{"prompt", ids({65})}, {"temperature", 0}, {"max_tokens", 50},
            {"stop", {"STOP"}},    {"logprobs", 2},    {"n", 2}};
  const Json whole = served->complete(body);
  body["stream"] = true;
  body["stream_options"] = {{"include_usage", true}};
  RawClient client(served->port());
  client.send(post_bytes("/v1/completions", body.dump()));
  const auto all = events_of(client.receive("[DONE]\n\n\r\n0\r\n\r\n"));
  ASSERT_GT(all.size(), 10U);
  EXPECT_EQ(all.back(), "[DONE]");
  const Json& usage = all[all.size() - 2];
  EXPECT_EQ(usage["choices"], Json::array());
  EXPECT_EQ(usage["usage"]["completion_tokens"], whole["usage"]["completion_tokens"]);
  for (int s = 0; s < 2; ++s) {
    std::string text, reason;
    Json tokens = Json::array(), log_probs = Json::array();
    for (const Json& event : all) {
      if (!event.is_object() || event["choices"].empty() || event["choices"][0]["index"] != s)
        continue;
      const Json& choice = event["choices"][0];
      text += choice["text"].get<std::string>();
      if (choice["logprobs"].is_object())
        for (std::size_t i = 0; i < choice["logprobs"]["tokens"].size(); ++i) {
          tokens.push_back(choice["logprobs"]["tokens"][i]);
          log_probs.push_back(choice["logprobs"]["token_logprobs"][i]);
        }
      if (choice["finish_reason"].is_string()) reason = choice["finish_reason"];
    }
    const Json& same = whole["choices"][static_cast<std::size_t>(s)];
    EXPECT_EQ(text, same["text"]);
    EXPECT_EQ(text, "gr\xC3\xBC\xC3\x9F Gott, ");
    EXPECT_EQ(tokens, same["logprobs"]["tokens"]);
    EXPECT_EQ(log_probs, same["logprobs"]["token_logprobs"]);
    EXPECT_EQ(reason, "stop");
  }
}

TEST(ServeOpenAi, EchoAndOffsetsCountCodePoints) {
  const auto served = reciter("!?", 4);
  const Json answer = served->complete({{"prompt", "h\xC3\xA9y"},
                                        {"add_special_tokens", false},
                                        {"temperature", 0},
                                        {"max_tokens", 2},
                                        {"echo", true},
                                        {"logprobs", 0}});
  const Json& choice = answer["choices"][0];
  EXPECT_EQ(choice["text"], "h\xC3\xA9y!?");
  EXPECT_EQ(choice["logprobs"]["tokens"], Json({"h", "bytes:\\xc3", "bytes:\\xa9", "y", "!", "?"}));
  EXPECT_EQ(choice["logprobs"]["text_offset"], Json({0, 1, 1, 2, 3, 4}));
  EXPECT_EQ(choice["logprobs"]["top_logprobs"][1].size(), 1U);
}

TEST(ServeOpenAi, BosAlwaysHidesWhatItAdds) {
  ServiceOptions options;
  options.bos = BosRule::kAlways;
  const auto served = small_decoder(options);
  const Json answer = served->complete({{"prompt", ids({72, 105})},
                                        {"max_tokens", 0},
                                        {"echo", true},
                                        {"logprobs", 1},
                                        {"prompt_logprobs", 0}});
  const Json& choice = answer["choices"][0];
  EXPECT_EQ(choice["text"], "Hi");
  ASSERT_EQ(choice["logprobs"]["tokens"], Json({"H", "i"}));
  const ScoreRequest request{{256, 72, 105}, 1, 3, 0};
  const auto scored = served->model().score({&request, 1}).at(0);
  EXPECT_EQ(as_float(choice["logprobs"]["token_logprobs"][0]), scored.log_probs[0]);
  EXPECT_EQ(as_float(choice["logprobs"]["token_logprobs"][1]), scored.log_probs[1]);
}

TEST(ServeOpenAi, AllowedIdsAndBiasHoldTheAnswer) {
  const auto served = small_decoder();
  Json body{{"prompt", "x"}, {"max_tokens", 4}, {"temperature", 0}, {"return_token_ids", true}};
  body["allowed_token_ids"] = {65, 66};
  const Json allowed = served->complete(body);
  for (const Json& id : allowed["choices"][0]["token_ids"]) EXPECT_TRUE(id == 65 || id == 66);
  body.erase("allowed_token_ids");
  body["logit_bias"] = {{"67", 100}};
  EXPECT_EQ(served->complete(body)["choices"][0]["text"], "CCCC");
}

TEST(ServeOpenAi, ChatAnswersInItsOwnForm) {
  const auto served = reciter("Hello!", 11);  // bos, user_start, "hey you", user_end, start
  const Json body{{"messages", {{{"role", "user"}, {"content", "hey you"}}}},
                  {"temperature", 0},
                  {"logprobs", true},
                  {"top_logprobs", 2}};
  const Json answer = served->posted("/v1/chat/completions", body);
  const Json& choice = answer["choices"][0];
  EXPECT_EQ(answer["object"], "chat.completion");
  EXPECT_EQ(choice["message"]["content"], "Hello!");
  EXPECT_EQ(choice["finish_reason"], "stop");
  ASSERT_EQ(choice["logprobs"]["content"].size(), 6U);
  EXPECT_EQ(choice["logprobs"]["content"][0]["token"], "H");
  EXPECT_EQ(choice["logprobs"]["content"][0]["bytes"], Json({72}));
  EXPECT_EQ(choice["logprobs"]["content"][0]["top_logprobs"].size(), 2U);
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 11);
  // A system message goes before the first one of the user.
  EXPECT_EQ(served->posted("/tokenize", {{"messages",
                                          {{{"role", "system"}, {"content", "s"}},
                                           {{"role", "user"}, {"content", "u"}}}}})["tokens"],
            Json({256, 257, 's', '\n', '\n', 'u', 258, 259}));
  served->posted("/v1/chat/completions",
                 {{"messages", {{{"role", "tool"}, {"content", "hey you"}}}}}, 400);
}

// evalscope: chats only, as streams or not; needs id, model, choices and usage.
TEST(ServeOpenAi, EvalscopesChatsAreAnswered) {
  const auto served = reciter("The answer is B.", 8);
  Json body{{"model", "tiny"},   {"messages", {{{"role", "user"}, {"content", "A?B?"}}}},
            {"max_tokens", 100}, {"temperature", 0.0},
            {"top_p", 1.0},      {"n", 1},
            {"seed", 42},        {"stop", nullptr},
            {"stream", false}};
  const Json whole = served->posted("/v1/chat/completions", body);
  EXPECT_TRUE(whole["id"].is_string());
  EXPECT_EQ(whole["model"], "tiny");
  EXPECT_EQ(whole["choices"][0]["message"]["content"], "The answer is B.");
  EXPECT_EQ(whole["choices"][0]["message"]["role"], "assistant");
  EXPECT_EQ(whole["usage"]["total_tokens"], 8 + 16);
  body["stream"] = true;
  body["stream_options"] = {{"include_usage", true}};
  RawClient client(served->port());
  client.send(post_bytes("/v1/chat/completions", body.dump()));
  std::string text, reason;
  Json usage;
  for (const Json& event : events_of(client.receive("[DONE]\n\n\r\n0\r\n\r\n"))) {
    if (!event.is_object()) continue;
    EXPECT_EQ(event["object"], "chat.completion.chunk");
    if (event.contains("usage")) usage = event["usage"];
    if (event["choices"].empty()) continue;
    const Json& choice = event["choices"][0];
    text += choice["delta"].value("content", "");
    if (choice["finish_reason"].is_string()) reason = choice["finish_reason"];
  }
  EXPECT_EQ(text, "The answer is B.");
  EXPECT_EQ(reason, "stop");
  EXPECT_EQ(usage["completion_tokens"], 16);
}

TEST(ServeOpenAi, WhatIsTooLongSaysHowLongItMayBe) {
  const auto served = small_decoder();
  const std::int64_t context = served->model().context_length();
  const Json error = served->complete(
      {{"prompt", std::string(static_cast<std::size_t>(context), 'x')}}, 400)["error"];
  EXPECT_EQ(error["code"], "context_length_exceeded");
  EXPECT_NE(error["message"].get<std::string>().find("maximum context length is " +
                                                     std::to_string(context)),
            std::string::npos);
}

TEST(ServeOpenAi, UnknownMembersAreNamedAndUnknownRulesRefused) {
  const auto served = small_decoder();
  const std::string response =
      served->post("/v1/completions", R"({"prompt":"x","max_tokens":1,"user":"me","Zzz":1})");
  EXPECT_EQ(status_of(response), 200) << response;
  EXPECT_NE(response.find("x-npubench-ignored: Zzz,user\r\n"), std::string::npos) << response;
  for (const char* rule :
       {R"("guided_regex":"a")", R"("best_of":3)", R"("suffix":"z")",
        R"("response_format":{"type":"json_object"})", R"("n":0)", R"("temperature":3)",
        R"("top_p":0)", R"("logprobs":21)", R"("stop":[""])", R"("max_tokens":-1)",
        R"("temperature":"hot")", R"("logit_bias":{"999999":1})", R"("stop_token_ids":[-1])"}) {
    const std::string refused =
        served->post("/v1/completions", std::string(R"({"prompt":"x",)") + rule + "}");
    EXPECT_EQ(status_of(refused), 400) << rule << refused;
    const Json error = Json::parse(body_of(refused))["error"];
    EXPECT_EQ(error["type"], "invalid_request_error");
    EXPECT_FALSE(error["message"].get<std::string>().empty());
  }
  served->complete({{"prompt", std::vector<std::string>(100, "x")}, {"n", 11}}, 400);
  served->complete({{"prompt", std::vector<std::string>(1025, "x")}}, 400);
  EXPECT_EQ(served->complete({{"prompt", "x"}, {"model", "other"}}, 404)["error"]["code"],
            "model_not_found");
}

TEST(ServeOpenAi, TokenizersQuestionsAreAnswered) {
  const auto served = small_decoder();
  const Json tokens =
      served->posted("/tokenize", {{"prompt", "h\xC3\xA9"}, {"add_special_tokens", false}});
  EXPECT_EQ(tokens["tokens"], Json({104, 195, 169}));
  EXPECT_EQ(served->posted("/tokenize", {{"prompt", "h"}})["tokens"], Json({256, 104}));
  EXPECT_EQ(served->posted("/detokenize", {{"tokens", {104, 195, 169}}})["prompt"], "h\xC3\xA9");
  const Json info = Json::parse(body_of(served->get("/tokenizer_info")));
  EXPECT_EQ(info["eos_token"], "<|bos|>");
  EXPECT_EQ(info["special_tokens"].size(), 9U);
  EXPECT_EQ(info["special_tokens"]["<|user_start|>"], 257);
  const Json models = Json::parse(body_of(served->get("/v1/models")));
  EXPECT_EQ(models["data"][0]["owned_by"], "npubench");
  EXPECT_EQ(models["data"][0]["max_model_len"], served->model().context_length());
  EXPECT_EQ(Json::parse(body_of(served->get("/v1/models/tiny"))), models["data"][0]);
  EXPECT_EQ(status_of(served->get("/v1/models/tin%79")), 200);
  EXPECT_EQ(status_of(served->get("/v1/models/other")), 404);
  EXPECT_EQ(status_of(served->get("/nowhere")), 404);
  EXPECT_EQ(status_of(served->get("/v1/completions")), 405);
  const std::string metrics = served->get("/metrics");
  EXPECT_NE(metrics.find("# TYPE npubench_requests_total counter\n"), std::string::npos);
}

TEST(ServeOpenAi, AKeyIsAskedForAndForeignPagesAreRefused) {
  ServiceOptions options;
  options.keys = {"first", "second"};
  const auto served = small_decoder(options);
  EXPECT_EQ(status_of(served->get("/v1/models")), 401);
  EXPECT_EQ(status_of(served->get("/v1/models", "Authorization: Bearer third\r\n")), 401);
  EXPECT_EQ(status_of(served->get("/v1/models", "Authorization: Bearer second\r\n")), 200);
  EXPECT_EQ(status_of(served->get("/v1/models", "X-API-Key: first\r\n")), 200);
  EXPECT_EQ(status_of(served->get("/health")), 200);
  const auto open = small_decoder();
  EXPECT_EQ(status_of(open->get("/v1/models", "Origin: http://evil.example\r\n")), 403);
  EXPECT_EQ(status_of(open->get("/v1/models", "Origin: http://x\r\n")), 200);
}

TEST(ServeOpenAi, AClientThatHangsUpFreesItsPlace) {
  const auto served = reciter(std::string(3000, 'x'), 1, std::chrono::milliseconds(1));
  for (const char* stream : {"true", "false"}) {
    RawClient client(served->port());
    client.send(
        post_bytes("/v1/completions",
                   std::string(R"({"prompt":[65],"temperature":0,"max_tokens":3000,"stream":)") +
                       stream + "}"));
    for (int i = 0; i < 5000 && served->engine().stats().running == 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_EQ(served->engine().stats().running, 1);
    client.close();
    const Json next =
        served->complete({{"prompt", ids({65})}, {"temperature", 0}, {"max_tokens", 2}});
    EXPECT_EQ(next["choices"][0]["text"], "xx");
  }
  EXPECT_EQ(served->engine().stats().cancelled, 2);
  EXPECT_LT(served->engine().stats().generated_tokens, 3000);
}

// Good bodies with what clients get wrong: cut, other types, NaN, nested, other bytes.
std::string mutated(std::string body, const Rng& rng, std::uint64_t i) {
  const auto draw = [&](std::uint64_t n, std::uint64_t below) {
    return static_cast<std::size_t>(rng.uniform(i * 8 + n) * static_cast<double>(below));
  };
  const std::size_t at = draw(1, body.size());
  constexpr const char* kParts[] = {"NaN",  "null", "-1",   "1e999",   "\"",
                                    "[[[[", "{}",   "\xff", "\\ud800", "9999999999999999999999",
                                    "true", ",",    "0.5",  "[]"};
  switch (draw(0, 6)) {
    case 0:
      return body.substr(0, at);
    case 1:
      return body.replace(at, 1, kParts[draw(2, std::size(kParts))]);
    case 2:
      return body.insert(at, kParts[draw(2, std::size(kParts))]);
    case 3:
      body[at] = static_cast<char>(draw(2, 256));
      return body;
    case 4: {  // another value behind a colon
      const std::size_t colon = body.find(':', at);
      if (colon == std::string::npos) return body + body;
      const std::size_t end = body.find_first_of(",}", colon);
      return body.replace(colon + 1, end - colon - 1, kParts[draw(2, std::size(kParts))]);
    }
    default:
      return body.insert(at, std::string(1 + draw(2, 2000), draw(3, 2) == 0 ? '[' : '{'));
  }
}

long resident_kib() {
  std::ifstream in("/proc/self/statm");
  long size = 0, resident = 0;
  in >> size >> resident;
  return resident * 4;
}

TEST(ServeOpenAi, MalformedBodiesAreRefusedAndLeaveNothingBehind) {
  const auto served = reciter("ok", 1);
  const std::pair<const char*, std::string> good[] = {
      {"/v1/completions",
       R"({"model":"tiny","prompt":[[65,66],[67]],"temperature":0,"max_tokens":1,"logprobs":1,"seed":1234,"echo":true})"},
      {"/v1/completions",
       R"({"prompt":"hi","max_tokens":2,"top_k":4,"top_p":0.9,"min_p":0.1,"stop":["a","b"],"logit_bias":{"65":1.5},"n":2,"prompt_logprobs":2,"stop_token_ids":[3]})"},
      {"/v1/chat/completions",
       R"({"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"max_tokens":2,"logprobs":true,"top_logprobs":3,"stream_options":{"include_usage":true}})"},
      {"/chat/completions",
       R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":2,"top_k":5})"},
      {"/tokenize", R"({"prompt":"hi","add_special_tokens":false})"},
      {"/detokenize", R"({"tokens":[65,66]})"}};
  const Rng rng(11, "malformed");
  std::map<int, int> statuses;
  [[maybe_unused]] long before = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    if (i == 2000) before = resident_kib();
    const auto& [path, body] = good[i % std::size(good)];
    const std::string bad = mutated(body, rng, i);
    HttpResponse response = served->direct(path, bad);
    struct Sink : HttpStream {
      bool write(std::string_view) override { return true; }
    } sink;
    if (response.stream) response.stream(sink);
    ++statuses[response.status];
    EXPECT_TRUE(response.status == 200 || (response.status >= 400 && response.status < 500))
        << response.status << " " << bad << "\n"
        << response.body;
    EXPECT_TRUE(response.status == 200 || Json::accept(response.body)) << response.body;
  }
  EXPECT_GT(statuses[400], 5000);
#ifndef __SANITIZE_ADDRESS__  // it keeps what is freed
  EXPECT_LT(resident_kib() - before, 16 * 1024);
#endif
  // The same over connections.
  for (std::uint64_t i = 0; i < 300; ++i) {
    const auto& [path, body] = good[i % std::size(good)];
    const int status = status_of(served->post(path, mutated(body, rng, 20'000 + i)));
    EXPECT_TRUE(status == 200 || (status >= 400 && status < 500)) << status;
  }
  EXPECT_EQ(status_of(served->post("/v1/completions", std::string(1'000'000, '['))), 400);
}

}  // namespace
}  // namespace nb::test
