// A record as the rows of the index, and back. For index.cpp only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/store/index.hpp"
#include "results/store/sqlite.hpp"

namespace nb {

// Raised when the tables or what stands in them changes: an index of another version is made anew.
inline constexpr int kIndexVersion = 1;

// Where a record lies and how its file looked before it was read.
struct RecordPlace {
  std::string run, node;
  std::filesystem::path folder;
  FileStamp stamp;
};
struct RecordRows {
  IndexedRecord record;
  std::vector<IndexedMetric> metrics;
};

// Reads the record; one that cannot be read has its damage and nothing else.
RecordRows rows_of(const RecordPlace& place);

void create_tables(Database& database);
// Of a database with anything in it: this version's tables and nothing else, whole, with values
// that insert_rows could have put there. What follows may then rely on it.
bool is_sound(Database& database);
void remove_rows(Database& database, std::span<const std::int64_t> records);
// Places and rows stand at equal positions.
void insert_rows(Database& database, std::span<const RecordPlace> places,
                 std::span<const RecordRows> rows);

}  // namespace nb
