// SQLite in memory, for results/store/index.cpp only: a database is made from a file's bytes and
// becomes bytes again, so that files are read and written as all others here. What SQLite refuses
// is our own mistake (NB_CHECK), but for ask(). Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace nb {

class Statement {
 public:
  // Places count from 1; texts are copied.
  void bind(int place, std::int64_t value);
  void bind(int place, double value);
  void bind(int place, std::string_view text);
  void bind_null(int place);
  bool step();   // is there a row?
  void reset();  // values stay bound

  // Columns count from 0; of the row that step() found.
  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double number(int column) const;
  std::string text(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  Database();  // empty
  // Bytes of bytes(); whoever is not sure of that asks before anything else is done with it. No SQL
  // that stands in it is run.
  explicit Database(std::string_view bytes);
  // The rows of a query of a database that may be anything: columns joined by tabs, rows by line
  // ends. Nothing: SQLite refuses the query or the database.
  std::optional<std::string> ask(const char* sql);
  void run(const char* sql);  // one or more statements without rows
  Statement prepare(std::string_view sql);
  std::string bytes();

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace nb
