#include "tests/model/kernels/shapes/lists.hpp"

namespace nb::test {

std::vector<ProductShape> product_shapes() {
  std::vector<ProductShape> shapes;
  // Tails of the register tiles: rows, then columns.
  for (const int m :
       {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 17, 23, 24, 25, 29, 36, 47, 61, 97})
    shapes.push_back({m, 33, 18});
  for (const int n :
       {0, 1, 2, 7, 8, 15, 16, 17, 24, 31, 32, 47, 48, 49, 63, 64, 65, 80, 96, 97, 129})
    shapes.push_back({7, n, 35});
  // Chains: empty, half a pair, whole and broken vectors, and across blocks of any likely length.
  for (const int k :
       {0,   1,   2,   3,   4,   5,   15,  16,  17,  31,  32,  33,   63,   64,   65,   127,  129,
        191, 255, 256, 257, 383, 384, 385, 511, 512, 513, 767, 1023, 1024, 1025, 1535, 2047, 2049})
    shapes.push_back({5, 19, k});
  // Decoding: one to eight rows against a weight.
  for (int m = 1; m <= 8; ++m) {
    shapes.push_back({m, 128, 64});
    shapes.push_back({m, 67, 63});
    shapes.push_back({m, 1, 100});
  }
  // Blocks of rows and columns.
  for (const ProductShape& shape : {ProductShape{95, 40, 9},
                                    {96, 48, 16},
                                    {120, 33, 31},
                                    {121, 31, 32},
                                    {128, 64, 33},
                                    {145, 17, 20},
                                    {193, 65, 10},
                                    {257, 33, 7},
                                    {14, 513, 12},
                                    {13, 1025, 6},
                                    {24, 96, 300},
                                    {61, 61, 61}})
    shapes.push_back(shape);
  return shapes;
}

std::vector<RowShape> row_shapes() {
  std::vector<RowShape> shapes;
  for (const int cols :
       {1,  2,  3,  7,  8,   9,   15,  16,  17,  31,  32,  33,  47,  48,   49,   63,   64,
        65, 95, 96, 97, 127, 128, 129, 255, 256, 384, 511, 512, 513, 1000, 1024, 1025, 4097})
    shapes.push_back({5, cols});
  for (const int rows : {0, 1, 2, 63, 64, 65, 300}) shapes.push_back({rows, 37});
  shapes.push_back({3, 0});
  return shapes;
}

std::vector<RowShape> vocabulary_shapes() {
  std::vector<RowShape> shapes;
  for (const int vocabulary : {1,   2,   3,   8,   15,  16,  17,  31,   32,   33,   48,   64,  100,
                               127, 128, 129, 255, 257, 320, 512, 1000, 1023, 1025, 4096, 5001})
    shapes.push_back({4, vocabulary});
  for (const int rows : {0, 1, 2, 7, 33, 70}) shapes.push_back({rows, 50});
  return shapes;
}

std::vector<RowShape> muon_shapes() {
  return {{1, 1},   {1, 2},   {2, 1},   {1, 33},  {17, 1},  {2, 2},    {3, 5},   {5, 3},
          {7, 7},   {8, 16},  {15, 16}, {16, 15}, {16, 16}, {17, 17},  {12, 48}, {48, 12},
          {31, 33}, {33, 31}, {32, 64}, {65, 20}, {49, 97}, {100, 25}, {64, 64}, {61, 127}};
}

std::vector<RotaryCase> rotary_cases() {
  std::vector<RotaryCase> cases;
  for (const int head_dim : {2, 4, 6, 8, 14, 16, 18, 30, 32, 34, 48, 64, 66, 96, 128, 256})
    cases.push_back({2, 5, 3, head_dim, 2});
  cases.push_back({0, 1, 1, 8, 0});
  cases.push_back({1, 1, 1, 2, 0});
  cases.push_back({1, 70, 1, 32, 0});
  cases.push_back({70, 1, 2, 32, 9});
  return cases;
}

std::vector<kernels::AttentionShape> training_attention_shapes() {
  std::vector<kernels::AttentionShape> shapes;
  const auto add = [&](int batch, int time, int heads, int kv_heads, int head_dim) {
    shapes.push_back({.batch = batch,
                      .queries = time,
                      .keys = time,
                      .heads = heads,
                      .kv_heads = kv_heads,
                      .head_dim = head_dim});
  };
  for (const int time :
       {1, 2, 3, 7, 8, 11, 12, 13, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 97, 129})
    add(1, time, 2, 1, 16);
  for (const int head_dim : {1, 2, 3, 8, 15, 17, 31, 32, 33, 40, 64, 65, 128})
    add(1, 21, 1, 1, head_dim);
  for (const int heads : {1, 2, 3, 4, 6}) add(2, 19, heads, 1, 8);
  add(2, 19, 6, 2, 8);
  add(2, 19, 6, 3, 8);
  add(3, 19, 3, 3, 24);
  add(0, 5, 2, 2, 8);
  add(1, 257, 1, 1, 8);
  add(1, 520, 1, 1, 4);
  return shapes;
}

std::vector<kernels::AttentionShape> chunk_attention_shapes() {
  std::vector<kernels::AttentionShape> shapes;
  for (const int first : {1, 2, 15, 16, 17, 31, 47, 63, 64, 127, 200})
    for (const int queries : {1, 2, 5, 16})
      shapes.push_back({.batch = 2,
                        .queries = queries,
                        .keys = first + queries,
                        .heads = 2,
                        .kv_heads = 1,
                        .head_dim = 20,
                        .first_position = first,
                        .key_rows = first + queries + 3});
  return shapes;
}

std::vector<RaggedCase> ragged_cases() {
  return {
      {1, 1, 8, {{0, 1, 1}}},
      {1, 1, 1, {{0, 0, 1}, {0, 3, 1}}},
      {2, 1, 16, {{5, 1, 2}, {0, 7, 1}, {31, 2, 3}}},
      {2, 2, 33, {{16, 1, 1}, {17, 1, 2}, {15, 1, 3}, {1, 1, 1}}},
      {4, 2, 12, {{100, 1, 4}, {64, 16, 2}, {0, 50, 1}}},
      {3, 3, 32, {{63, 2, 7}, {0, 1, 1}}},
      {6, 2, 64, {{20, 3, 2}, {90, 1, 5}}},
      {2, 1, 128, {{33, 1, 2}, {33, 1, 1}, {33, 1, 33}}},
      {1, 1, 20, {{255, 1, 2}, {256, 1, 2}, {257, 1, 2}, {511, 2, 3}}},
      {8, 1, 8, {{12, 13, 2}, {13, 12, 3}}},
  };
}

std::vector<std::size_t> flat_sizes() {
  return {0,    1,    2,    3,    7,    8,    9,    15,   16,   17,    31,    32,   33,  47,
          48,   49,   63,   64,   65,   100,  127,  128,  129,  255,   256,   257,  511, 513,
          1000, 1023, 1025, 2047, 4095, 4096, 4097, 8191, 8193, 16384, 20011, 40000};
}

}  // namespace nb::test
