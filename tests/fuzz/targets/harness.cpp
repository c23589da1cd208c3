// harness: suites and recipes, models and tokenizers of other programs, work under way.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/check.hpp"
#include "harness/base/fs.hpp"
#include "harness/http/client.hpp"
#include "harness/http/request.hpp"
#include "harness/remote/answers.hpp"
#include "harness/remote/retry.hpp"
#include "harness/run/foreign_file.hpp"
#include "harness/run/partial_items.hpp"
#include "harness/run/tensor_comparison.hpp"
#include "harness/serve/completion_request.hpp"
#include "harness/suite/load.hpp"
#include "model/tokenizer/byte_tokenizer.hpp"
#include "model/train/safetensors.hpp"
#include "tests/fuzz/scratch.hpp"
#include "tests/fuzz/seals.hpp"
#include "tests/fuzz/seeds.hpp"
#include "tests/fuzz/target.hpp"

namespace nb::test {
namespace {

Result<void> fuzz_suite(std::string_view bytes) {
  const fs::path path = scratch_file("suite/smoke.json", bytes);
  NB_TRY(const Suite suite, load_suite(path));
  return {};
}

std::vector<std::string> suite_seeds() {
  std::vector<std::string> seeds;
  for (const auto& entry : fs::directory_iterator(fs::path(NB_SOURCE_DIR) / "suites"))
    if (entry.path().extension() == ".json") seeds.push_back(must(read_file(entry.path())));
  std::ranges::sort(seeds);
  return seeds;
}

// "/pointer=value" on a sound suite.
Result<void> fuzz_override(std::string_view bytes) {
  static const Json kSuite =
      parse_json(R"({"name": "s", "devices": ["tiny"], "corpus": {"microworld": {}},
                     "stages": {"base": {"depth": 1}}})",
                 "s")
          .value();
  NB_TRY(const Override change, parse_override(std::string(bytes)));
  NB_TRY(Json json, with_overrides(kSuite, {&change, 1}, "s"));
  NB_TRY(const Suite suite, parse_suite(std::move(json), "s"));
  return {};
}

// What a path is that is no model or tokenizer of ours, by its first bytes.
Result<void> fuzz_foreign_file(std::string_view bytes) {
  kind_of_bytes(bytes);
  const fs::path path = scratch_file("foreign_file/f", bytes);
  const auto tokenizer = check_tokenizer_path(path);
  return check_model_path(path);
}

std::string llama2c_header() {
  std::string bytes;
  for (const std::int32_t size : {4, 4, 1, 2, 1, 3, 2})
    bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
  return bytes;
}

Result<void> fuzz_partial_items(std::string_view bytes) {
  const PartialItems partial(scratch_folder() / "partial_items", "key", 0, 1,
                             [](const std::string&) {});
  std::string lines;
  for (std::size_t begin = 0, end = 0; begin < bytes.size(); begin = end + 1) {
    end = std::min(bytes.find('\n', begin), bytes.size());
    const std::string_view line = bytes.substr(begin, end - begin);
    lines += fmt::format("{} {}\n", partial.checksum("mw/facts", line), line);
  }
  scratch_file("partial_items/partial/mw_facts.0-of-1.jsonl", lines);
  NB_TRY(const auto items, partial.read("mw/facts"));
  ItemRecord next;
  next.id = "ffffffffffffffff";
  NB_TRY_VOID(partial.append("mw/facts", next));
  NB_TRY(const auto more, partial.read("mw/facts"));
  NB_CHECK(more.size() >= items.size(), "[partial_items] fewer items after one more");
  return {};
}

// Any answer of a server, taken for each thing that it may be.
Result<void> fuzz_server_answer(std::string_view bytes) {
  static const Tokenizer kTokenizer = byte_tokenizer();
  static const std::vector<int> kPrompt = {256, 65, 66};
  const std::string message = message_of(bytes);
  NB_CHECK(message.find_first_of("[{\"") == std::string::npos, "[message] {}", message);
  NB_TRY(const Json json, parse_answer(bytes));
  bool is_taken = parse_models(json).has_value() || parse_tokens(json).has_value() ||
                  parse_generated(json).has_value();
  for (const Dialect dialect : {Dialect::kPromptLogprobs, Dialect::kEcho, Dialect::kSglang})
    for (const std::size_t first : {std::size_t{1}, std::size_t{2}})
      if (const auto scores = parse_scores(dialect, json, kPrompt, kTokenizer, first)) {
        NB_CHECK(scores->size() == kPrompt.size() - 1, "[scores] {}", scores->size());
        is_taken = true;
      }
  return is_taken ? Result<void>() : Result<void>(run_error("an answer of no known form"));
}

std::vector<std::string> server_answer_seeds() {
  return {
      R"({"object": "list", "data": [{"id": "m", "owned_by": "vllm", "max_model_len": 2048}]})",
      R"({"tokens": [65, 66], "count": 2})",
      R"({"choices": [{"index": 0, "text": "x", "token_ids": [120], "finish_reason": "length",
          "prompt_logprobs": [null, {"65": {"logprob": -2.5, "rank": 9}, "70": {"logprob": -0.5}},
                              {"66": {"logprob": -0.25, "rank": 1}}]}],
          "usage": {"prompt_tokens": 3}})",
      R"({"choices": [{"index": 0, "text": "ABx", "logprobs": {"tokens": ["<|bos|>", "A", "B", "x"],
          "token_logprobs": [null, -2.5, -Infinity, -1],
          "top_logprobs": [null, {"F": -0.5, "A": -2.5}, {"B": NaN}, {"token_id:7": -1}]}}]})",
      R"({"text": "", "meta_info": {"input_token_logprobs": [[null, 256, null], [-2.5, 65, null],
          [-0.25, 66, null]], "input_top_logprobs": [null, [[-0.5, 70, null]], [[-0.25, 66, null]]]}})"};
}

Result<void> fuzz_server_url(std::string_view bytes) {
  (void)retry_after_seconds(bytes, 0);
  NB_TRY(const HttpUrl url, parse_http_url(bytes));
  NB_TRY(const HttpUrl again, parse_http_url(url.origin() + url.path));
  NB_CHECK(again.origin() == url.origin() && again.path == url.path, "[url] {}", url.origin());
  return {};
}

// Requests of one connection, as `serve` reads them: what HTTP is, then what a body asks for.
Result<void> fuzz_server_request(std::string_view bytes) {
  static const Tokenizer kTokenizer = byte_tokenizer();
  const ServedLimits limits{&kTokenizer, 128, BosRule::kAuto};
  std::size_t at = 0;
  HttpRequestReader reader(
      [&](char* to, std::size_t size) {
        const std::size_t count = std::min(size, bytes.size() - at);
        std::copy_n(bytes.data() + at, count, to);
        at += count;
        return static_cast<long>(count);
      },
      {});
  Result<void> outcome = bad_input("no request");
  while (true) {
    const auto request = reader.next();
    if (!request) {
      if (request.error().status == 0) return outcome;
      return bad_input(request.error().message);
    }
    const auto parse =
        request->path == "/v1/chat/completions" ? parse_chat_completion : parse_completion;
    const auto parsed = parse(request->body, limits);
    if (!parsed) return bad_input(parsed.error().message);
    for (const ServedPrompt& prompt : parsed->prompts)
      NB_CHECK(std::ssize(prompt.tokens) + parsed->max_tokens <= limits.context_length,
               "[request] {} tokens and {} new", prompt.tokens.size(), parsed->max_tokens);
    outcome = {};
  }
}

std::vector<std::string> server_request_seeds() {
  const auto post = [](const std::string& path, const std::string& body) {
    return fmt::format("POST {} HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{}", path,
                       body.size(), body);
  };
  const std::string scored =
      R"({"model":"m","prompt":[[65,66],[67]],"temperature":0,"max_tokens":1,"logprobs":1,"seed":1234,"echo":true})";
  const std::string sampled =
      R"({"prompt":"hi","max_tokens":2,"top_k":4,"top_p":0.9,"min_p":0.1,"stop":["a","b"],"logit_bias":{"65":1.5},"n":2,"prompt_logprobs":2,"stop_token_ids":[3],"allowed_token_ids":[3,4]})";
  const std::string chat =
      R"({"messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"hi"}]}],"max_tokens":2,"logprobs":true,"top_logprobs":3,"stream":true,"stream_options":{"include_usage":true}})";
  return {post("/v1/completions", scored), post("/v1/completions", sampled),
          post("/v1/chat/completions", chat),
          fmt::format("POST /v1/completions?x=1 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
                      "chunked\r\n\r\n{:x};a=b\r\n{}\r\n0\r\nT: t\r\n\r\n",
                      scored.size(), scored) +
              post("/v1/completions", sampled)};
}

std::vector<std::string> tensor_seeds() {
  const std::vector<std::int64_t> tokens = {1, 2, 3};
  const std::vector<float> values = {1, -2.5F, 3};
  SafetensorsWriter writer;
  writer.add("step 0/tokens", {3}, tokens);
  writer.add("step 0/x", DType::kBf16, {3}, values);
  writer.add("step 0/y", DType::kFp32, {1, 3}, values);
  writer.add_text("order", R"(["step 0/tokens", "step 0/x", "step 0/y"])");
  const fs::path path = scratch_folder() / "tensor_seed";
  must(writer.write(path));
  return {must(read_file(path))};
}

// What a capture wrote on real hardware, beside itself and beside other values.
Result<void> fuzz_tensors(std::string_view bytes) {
  static const fs::path kOther = scratch_file("tensors/b.safetensors", tensor_seeds().front());
  const fs::path path = scratch_file("tensors/a.safetensors", with_file_digest(std::string(bytes)));
  NB_TRY(const auto comparisons, compare_tensors(path, kOther, {}));
  for (const TensorComparison& comparison : comparisons) {
    NB_CHECK(!tensor_text(comparison, {}).empty(), "[tensors] no text");
    NB_TRY(const std::string text, dump_json(tensor_json(comparison)));
  }
  return {};
}

}  // namespace

void add_harness_targets(FuzzTargets& targets) {
  targets.push_back({"suite", "suites and recipes", "", fuzz_suite, suite_seeds});
  targets.push_back({"override", "--set /pointer=value", "", fuzz_override, [] {
                       return std::vector<std::string>{"/stages/base/depth=2",
                                                       "/devices=[\"tiny\", \"cpu_ref\"]"};
                     }});
  targets.push_back({"foreign_file", "models and tokenizers of other programs", "",
                     fuzz_foreign_file, [] { return std::vector{llama2c_header()}; }});
  targets.push_back({"partial_items", "items of an evaluation under way", "checksums computed anew",
                     fuzz_partial_items, [] {
                       return std::vector<std::string>{
                           "{\"g\":\"1\",\"i\":\"0123456789abcdef\",\"o\":1,\"p\":\"1\"}\n"};
                     }});
  targets.push_back({"server_answer", "answers of servers that are evaluated", "",
                     fuzz_server_answer, server_answer_seeds});
  targets.push_back({"server_request", "requests to npubench serve", "", fuzz_server_request,
                     server_request_seeds});
  targets.push_back({"server_url", "--server URL, and Retry-After", "", fuzz_server_url, [] {
                       return std::vector<std::string>{"http://gpu:8000/v1", "https://[::1]/v1/"};
                     }});
  targets.push_back({"tensors", "tensors of captured runs", "file_sha256 computed anew",
                     fuzz_tensors, tensor_seeds});
}

}  // namespace nb::test
