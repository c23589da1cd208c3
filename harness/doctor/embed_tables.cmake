# cmake -DOUTPUT=x.cpp "-DTABLES=a.csv;b.csv" -P embed_tables.cmake: tables as string literals, sorted by name. A literal
# holds at most 64 KiB in standard C++, so that longer ones are written as several that stand side by side.
list(SORT TABLES)
set(rows)
foreach(table ${TABLES})
  get_filename_component(name ${table} NAME_WE)
  file(READ ${table} hex HEX)
  string(REGEX REPLACE "(................................................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" hex "${hex}")
  string(REGEX REPLACE "\n" "\"\n     \"" hex "${hex}")
  string(APPEND rows "    {\"${name}\",\n     \"${hex}\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"harness/doctor/tables.hpp\"

namespace nb::doctor {
namespace {

constexpr TableText kTables[] = {
${rows}};

}  // namespace

std::span<const TableText> table_texts() { return kTables; }

}  // namespace nb::doctor
")
