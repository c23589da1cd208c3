#include "harness/profiler/read_ascend.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "harness/profiler/add_time.hpp"
#include "harness/profiler/csv_rows.hpp"
#include "harness/profiler/time_text.hpp"

namespace nb::profiler {
namespace {

float share_of(std::string_view text) {
  const auto value = number_of(text);
  return value ? static_cast<float>(*value) : kUnknownShare;
}
std::int64_t whole_of(std::string_view text) {
  const auto value = number_of(text);
  return value && *value > -1e15 && *value < 1e15 ? static_cast<std::int64_t>(*value) : 0;
}
std::int64_t time_or_0(std::string_view text) { return ns_of(text).value_or(0); }

void note_ragged(Profile& profile, const std::string& where, const CsvRead& read) {
  if (read.ragged == 0) return;
  profile.notes.push_back(
      {"note.ragged",
       {where, std::to_string(read.first_ragged_line), std::to_string(read.first_ragged_cells),
        std::to_string(read.width), std::to_string(read.ragged)}});
}

void note_untimed(Profile& profile, const std::string& where, std::size_t count) {
  if (count > 0) profile.notes.push_back({"note.untimed", {where, std::to_string(count)}});
}

// kernel_details.csv and op_summary.csv: the same table under other names of columns.
Result<void> read_kernels(std::istream& bytes, const std::string& where, Profile& profile,
                          Rank& rank) {
  std::size_t untimed = 0;
  NB_TRY(
      const CsvRead read, read_csv_rows(bytes, where, {}, [&](const CsvRow& row) {
        const auto start = ns_of(row.any({"Start Time(us)", "Task Start Time(us)"}));
        const auto duration = ns_of(row.any({"Duration(us)", "Task Duration(us)"}));
        if (!start || !duration || *duration < 0 || *start < 0) {
          ++untimed;
          return;
        }
        Kernel kernel;
        kernel.start_ns = *start;
        kernel.duration_ns = *duration;
        const std::string_view name = row.any({"Name", "Op Name"});
        std::string_view type = row.any({"Type", "OP Type"});
        if (type == "0") type = {};
        const std::string_view core = row.any({"Accelerator Core", "Task Type"});
        kernel.op_class = class_of_npu_kernel(name, type, core);
        kernel.name = profile.texts.id_of(name);
        kernel.type = profile.texts.id_of(type);
        kernel.core = profile.texts.id_of(core);
        kernel.step = profile.texts.id_of(row["Step Id"]);
        const auto plain = [&](std::string_view column) {
          std::string text(row[std::string(column)]);
          std::erase(text, '"');
          return profile.texts.id_of(text);
        };
        kernel.input_shapes = plain("Input Shapes");
        kernel.output_shapes = plain("Output Shapes");
        kernel.data_types = plain("Input Data Types");
        kernel.block_dim = static_cast<std::int32_t>(whole_of(row.any({"Block Dim", "Block Num"})));
        // The share of whichever unit was busier: cube kernels have zeros of the vector core.
        kernel.mac = share_of(row["aic_mac_ratio"]);
        kernel.mte2 = std::max(share_of(row["aic_mte2_ratio"]), share_of(row["aiv_mte2_ratio"]));
        kernel.vector = share_of(row["aiv_vec_ratio"]);
        rank.kernels.push_back(kernel);
      }));
  note_ragged(profile, where, read);
  note_untimed(profile, where, untimed);
  return {};
}

StepRow step_row_of(const CsvRow& row) {
  StepRow step;
  step.step = row["Step"];
  step.computing_ns = time_or_0(row["Computing"]);
  step.not_overlapped_ns = time_or_0(row["Communication(Not Overlapped)"]);
  step.overlapped_ns = time_or_0(row["Overlapped"]);
  step.communication_ns = time_or_0(row["Communication"]);
  step.free_ns = time_or_0(row["Free"]);
  step.stage_ns = time_or_0(row["Stage"]);
  step.bubble_ns = time_or_0(row["Bubble"]);
  step.preparing_ns = ns_of(row["Preparing"]);
  return step;
}

Result<void> read_steps(std::istream& bytes, const std::string& where, Profile& profile,
                        Rank& rank) {
  NB_TRY(const CsvRead read,
         read_csv_rows(bytes, where, {"Step", "Computing", "Free", "Stage"},
                       [&](const CsvRow& row) { rank.step_rows.push_back(step_row_of(row)); }));
  note_ragged(profile, where, read);
  return {};
}

Result<void> read_op_statistic(std::istream& bytes, const std::string& where, Profile& profile,
                               Rank& rank) {
  NB_TRY(const CsvRead read,
         read_csv_rows(bytes, where, {"OP Type", "Total Time(us)"}, [&](const CsvRow& row) {
           add_time(rank.op_statistic_ns[std::string(row["OP Type"])],
                    time_or_0(row["Total Time(us)"]));
         }));
  note_ragged(profile, where, read);
  return {};
}

Result<void> read_operator_memory(std::istream& bytes, const std::string& where, Profile& profile,
                                  Rank& rank) {
  NB_TRY(const CsvRead read,
         read_csv_rows(
             bytes, where, {"Name", "Size(KB)", "Allocation Time(us)"}, [&](const CsvRow& row) {
               const auto start = ns_of(row["Allocation Time(us)"]);
               if (!start) return;
               Allocation one;
               one.name = profile.texts.id_of(row["Name"]);
               one.kilobytes = number_of(row["Size(KB)"]).value_or(0);
               one.start_ns = *start;
               one.release_ns = ns_of(row["Release Time(us)"]).value_or(kUnknownTime);
               one.allocated_mb = number_of(row["Allocation Total Allocated(MB)"]).value_or(0);
               one.reserved_mb = number_of(row["Allocation Total Reserved(MB)"]).value_or(0);
               rank.allocations.push_back(one);
             }));
  note_ragged(profile, where, read);
  return {};
}

Result<void> read_memory_record(std::istream& bytes, const std::string& where, Profile& profile,
                                Rank& rank) {
  NB_TRY(const CsvRead read,
         read_csv_rows(bytes, where, {"Component", "Total Reserved(MB)"}, [&](const CsvRow& row) {
           Component& one = rank.components[std::string(row["Component"])];
           one.allocated_mb =
               std::max(one.allocated_mb, number_of(row["Total Allocated(MB)"]).value_or(0));
           one.reserved_mb =
               std::max(one.reserved_mb, number_of(row["Total Reserved(MB)"]).value_or(0));
         }));
  note_ragged(profile, where, read);
  return {};
}

Result<void> read_module_memory(std::istream& bytes, const std::string& where, Profile& profile,
                                Rank& rank) {
  NB_TRY(const CsvRead read,
         read_csv_rows(bytes, where, {"Component", "Total Reserved(MB)"}, [&](const CsvRow& row) {
           double& peak = rank.module_mb[std::string(row["Component"])];
           peak = std::max(peak, number_of(row["Total Reserved(MB)"]).value_or(0));
         }));
  note_ragged(profile, where, read);
  return {};
}

Result<void> read_api_statistic(std::istream& bytes, const std::string& where, Profile& profile,
                                Rank& rank) {
  NB_TRY(const CsvRead read,
         read_csv_rows(bytes, where, {"API Name", "Time(us)", "Count"}, [&](const CsvRow& row) {
           HostCall& call = rank.apis[std::string(row["API Name"])];
           add_time(call.total_ns, time_or_0(row["Time(us)"]));
           call.count += whole_of(row["Count"]);
           call.longest_ns = std::max(call.longest_ns, time_or_0(row.any({"Max(us)", "Max"})));
         }));
  note_ragged(profile, where, read);
  return {};
}

Result<void> read_operator_details(std::istream& bytes, const std::string& where, Profile& profile,
                                   Rank& rank) {
  NB_TRY(const CsvRead read,
         read_csv_rows(bytes, where, {"Name", "Host Self Duration(us)"}, [&](const CsvRow& row) {
           HostCall& call = rank.operators[std::string(row["Name"])];
           const std::int64_t time = time_or_0(row["Host Self Duration(us)"]);
           add_time(call.total_ns, time);
           call.longest_ns = std::max(call.longest_ns, time);
           ++call.count;
         }));
  note_ragged(profile, where, read);
  return {};
}

// Rows stand in the order of kernel_details.csv's kernels of that name.
Result<void> read_l2_cache(std::istream& bytes, const std::string& where, Profile& profile,
                           Rank& rank) {
  std::map<std::string, std::vector<float>, std::less<>> rates;
  NB_TRY(const CsvRead read,
         read_csv_rows(bytes, where, {"Hit Rate", "Op Name"}, [&](const CsvRow& row) {
           rates[std::string(row["Op Name"])].push_back(share_of(row["Hit Rate"]));
         }));
  note_ragged(profile, where, read);
  std::map<TextId, std::size_t> seen;
  for (Kernel& kernel : rank.kernels) {
    const auto found = rates.find(profile.texts[kernel.name]);
    if (found == rates.end()) continue;
    const std::size_t at = seen[kernel.name]++;
    if (at < found->second.size()) kernel.l2_hit = found->second[at];
  }
  return {};
}

// Device_id, Mode, Max, Min, Average (hccs) or Avg (pcie): MB/s, latencies in us (msprof's user
// guide, profile_data_file_references).
Result<void> read_link_summary(const char* link, std::istream& bytes, const std::string& where,
                               Profile& profile, Rank& rank) {
  NB_TRY(const CsvRead read,
         read_csv_rows(bytes, where, {"Mode", "Max", "Min"}, [&](const CsvRow& row) {
           const auto low = number_of(row["Min"]), high = number_of(row["Max"]);
           const auto mean = number_of(row.any({"Average", "Avg"}));
           if (low && high && mean)
             rank.traffic.push_back({link, std::string(row["Mode"]), *low, *high, *mean, 0});
         }));
  note_ragged(profile, where, read);
  return {};
}
// nic.csv and roce.csv: a row a point of time.
Result<void> read_port(const char* link, std::istream& bytes, const std::string& where,
                       Profile& profile, Rank& rank) {
  constexpr std::array kColumns = {
      "Bandwidth(MB/s)",   "Rx Bandwidth efficiency(%)", "rxError rate(%)",
      "rxDropped rate(%)", "Tx Bandwidth efficiency(%)", "txError rate(%)",
      "txDropped rate(%)"};
  std::array<Traffic, kColumns.size()> sums;
  NB_TRY(const CsvRead read,
         read_csv_rows(bytes, where, {"Timestamp(us)", "Bandwidth(MB/s)"}, [&](const CsvRow& row) {
           for (std::size_t i = 0; i < kColumns.size(); ++i) {
             const auto value = number_of(row[kColumns[i]]);
             if (!value) continue;
             Traffic& sum = sums[i];
             sum.lowest = sum.samples == 0 ? *value : std::min(sum.lowest, *value);
             sum.highest = sum.samples == 0 ? *value : std::max(sum.highest, *value);
             ++sum.samples;
             sum.mean += (*value - sum.mean) / static_cast<double>(sum.samples);
           }
         }));
  note_ragged(profile, where, read);
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    if (sums[i].samples == 0) continue;
    sums[i].link = link;
    sums[i].mode = kColumns[i];
    rank.traffic.push_back(std::move(sums[i]));
  }
  return {};
}
template <auto read, const char* link>
Result<void> read_link(std::istream& bytes, const std::string& where, Profile& profile,
                       Rank& rank) {
  return read(link, bytes, where, profile, rank);
}
constexpr char kHccs[] = "HCCS", kPcie[] = "PCIE", kNic[] = "NIC", kRoce[] = "RoCE";

constexpr std::array kTables = {
    AscendTable{"step_trace_time", read_steps},
    AscendTable{"kernel_details", read_kernels},
    AscendTable{"op_summary", read_kernels},
    AscendTable{"op_statistic", read_op_statistic},
    AscendTable{"operator_memory", read_operator_memory},
    AscendTable{"memory_record", read_memory_record},
    AscendTable{"npu_module_mem", read_module_memory},
    AscendTable{"api_statistic", read_api_statistic},
    AscendTable{"operator_details", read_operator_details},
    AscendTable{"l2_cache", read_l2_cache},
    AscendTable{"hccs", read_link<read_link_summary, kHccs>},
    AscendTable{"pcie", read_link<read_link_summary, kPcie>},
    AscendTable{"nic", read_link<read_port, kNic>},
    AscendTable{"roce", read_link<read_port, kRoce>},
};

struct HeaderRow {
  std::string_view column, table;
};
// A column that only this table has.
constexpr std::array kHeaders = {
    HeaderRow{"Communication(Not Overlapped)", "step_trace_time"},
    HeaderRow{"Accelerator Core,", "kernel_details"},
    HeaderRow{"Task Start Time(us)", "op_summary"},
    HeaderRow{"Avg Time(us)", "op_statistic"},
    HeaderRow{"Allocation Total Allocated(MB)", "operator_memory"},
    HeaderRow{"Component,Timestamp(us),Total Allocated(MB)", "memory_record"},
    HeaderRow{"Component,Timestamp(us),Total Reserved(MB)", "npu_module_mem"},
    HeaderRow{"API Name", "api_statistic"},
    HeaderRow{"Host Self Duration(us)", "operator_details"},
    HeaderRow{"Victim Rate", "l2_cache"},
    HeaderRow{"Mode,Max,Min,Average", "hccs"},
    HeaderRow{"Mode,Min,Max,Avg", "pcie"},
    HeaderRow{"Rx Bandwidth efficiency(%)", "nic"},
};

const AscendTable* table_named(std::string_view name) {
  for (const AscendTable& table : kTables)
    if (table.name == name) return &table;
  return nullptr;
}

}  // namespace

const AscendTable* ascend_table_of(std::string_view file_name) {
  if (!file_name.ends_with(".csv")) return nullptr;
  file_name.remove_suffix(4);
  for (const AscendTable& table : kTables) {
    if (!file_name.starts_with(table.name)) continue;
    const std::string_view stamp = file_name.substr(table.name.size());
    if (std::ranges::all_of(stamp, [](char c) { return c == '_' || (c >= '0' && c <= '9'); }))
      return &table;
  }
  return nullptr;
}

const AscendTable* ascend_table_with(std::string_view header_line) {
  for (const HeaderRow& row : kHeaders)
    if (header_line.find(row.column) != header_line.npos) return table_named(row.table);
  return nullptr;
}

Result<void> read_cluster_steps(std::istream& bytes, const std::string& where, Profile& profile) {
  NB_TRY(
      const CsvRead read,
      read_csv_rows(
          bytes, where, {"Step", "Type", "Index", "Computing", "Stage"}, [&](const CsvRow& row) {
            if (row["Type"] != "rank") return;  // a stage is the largest of its ranks
            rank_of(profile, whole_of(row["Index"]), where).step_rows.push_back(step_row_of(row));
          }));
  note_ragged(profile, where, read);
  profile.notes.push_back(
      {"note.cluster_rows",
       {where, std::to_string(read.rows), std::to_string(profile.ranks.size())}});
  return {};
}

}  // namespace nb::profiler
