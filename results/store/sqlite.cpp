#include "results/store/sqlite.hpp"

#include <sqlite3.h>

#include <cstring>

#include "harness/base/check.hpp"

namespace nb {
namespace {

void must(int result, sqlite3* database) {
  NB_CHECK(result == SQLITE_OK, "[sqlite] {}", ::sqlite3_errmsg(database));
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  ::sqlite3_finalize(statement);
}

void Statement::bind(int place, std::int64_t value) {
  must(::sqlite3_bind_int64(statement_.get(), place, value), ::sqlite3_db_handle(statement_.get()));
}
void Statement::bind(int place, double value) {
  must(::sqlite3_bind_double(statement_.get(), place, value),
       ::sqlite3_db_handle(statement_.get()));
}
void Statement::bind(int place, std::string_view text) {
  // An empty view has no pointer, which SQLite would take for NULL.
  must(::sqlite3_bind_text(statement_.get(), place, text.empty() ? "" : text.data(),
                           static_cast<int>(text.size()), SQLITE_TRANSIENT),
       ::sqlite3_db_handle(statement_.get()));
}
void Statement::bind_null(int place) {
  must(::sqlite3_bind_null(statement_.get(), place), ::sqlite3_db_handle(statement_.get()));
}

bool Statement::step() {
  const int result = ::sqlite3_step(statement_.get());
  NB_CHECK(result == SQLITE_ROW || result == SQLITE_DONE, "[sqlite] {}",
           ::sqlite3_errmsg(::sqlite3_db_handle(statement_.get())));
  return result == SQLITE_ROW;
}
void Statement::reset() { ::sqlite3_reset(statement_.get()); }

bool Statement::is_null(int column) const {
  return ::sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}
std::int64_t Statement::integer(int column) const {
  return ::sqlite3_column_int64(statement_.get(), column);
}
double Statement::number(int column) const {
  return ::sqlite3_column_double(statement_.get(), column);
}
std::string Statement::text(int column) const {
  const void* text = ::sqlite3_column_blob(statement_.get(), column);
  const int size = ::sqlite3_column_bytes(statement_.get(), column);
  return text == nullptr
             ? std::string()
             : std::string(static_cast<const char*>(text), static_cast<std::size_t>(size));
}

void Database::Close::operator()(sqlite3* database) const { ::sqlite3_close_v2(database); }

Database::Database() {
  sqlite3* opened = nullptr;
  const int result =
      ::sqlite3_open_v2(":memory:", &opened,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  database_.reset(opened);
  must(result, opened);
}

Database::Database(std::string_view bytes) : Database() {
  void* const copy = ::sqlite3_malloc64(bytes.size());
  NB_CHECK(copy != nullptr, "[sqlite] {} bytes do not fit into memory", bytes.size());
  std::memcpy(copy, bytes.data(), bytes.size());
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  must(::sqlite3_deserialize(database_.get(), "main", static_cast<unsigned char*>(copy), size, size,
                             SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE),
       database_.get());
  for (const int option : {SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW,
                           SQLITE_DBCONFIG_TRUSTED_SCHEMA})
    must(::sqlite3_db_config(database_.get(), option, 0, nullptr), database_.get());
  must(::sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr),
       database_.get());
}

std::optional<std::string> Database::ask(const char* sql) {
  std::string rows;
  const auto add = [](void* to, int columns, char** values, char**) {
    auto& text = *static_cast<std::string*>(to);
    if (!text.empty()) text += '\n';
    for (int i = 0; i < columns; ++i) {
      if (i > 0) text += '\t';
      text += values[i] == nullptr ? "" : values[i];
    }
    return 0;
  };
  if (::sqlite3_exec(database_.get(), sql, add, &rows, nullptr) != SQLITE_OK) return std::nullopt;
  return rows;
}

void Database::run(const char* sql) {
  must(::sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr), database_.get());
}

Statement Database::prepare(std::string_view sql) {
  sqlite3_stmt* prepared = nullptr;
  must(::sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &prepared,
                            nullptr),
       database_.get());
  Statement statement;
  statement.statement_.reset(prepared);
  return statement;
}

std::string Database::bytes() {
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, void (*)(void*)> copy(
      ::sqlite3_serialize(database_.get(), "main", &size, 0), ::sqlite3_free);
  NB_CHECK(copy != nullptr, "[sqlite] a database of {} bytes does not fit into memory", size);
  return {reinterpret_cast<const char*>(copy.get()), static_cast<std::size_t>(size)};
}

}  // namespace nb
