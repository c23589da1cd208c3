// HCCL's rank table (RANK_TABLE_FILE): which card of which server has which rank (hicann/hccl docs
// rank_table_config_a2, _a3, rank_table_load_fail). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"

namespace nb::doctor {

struct RankTableDevice {
  long long device_id = 0, rank_id = 0;
  std::string server_id, address;  // address: empty where the table has none
};
struct RankTable {
  std::string version;
  std::vector<RankTableDevice> devices;
  std::size_t servers = 0;
};

// The first rule that the table breaks, as one sentence that begins with `where`.
Result<RankTable> read_rank_table(std::string_view text, const std::string& where);
// It is meant to be one, sound or not.
bool looks_like_rank_table(std::string_view text);

}  // namespace nb::doctor
