# cmake -DOUTPUT=x.cpp "-DTABLES=a.json;b.json" -P embed_published.cmake: tables as string literals, sorted by name.
list(SORT TABLES)
set(rows)
foreach(table ${TABLES})
  get_filename_component(name ${table} NAME_WE)
  file(READ ${table} text)
  string(APPEND rows "    {\"${name}\", R\"nb_json(${text})nb_json\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"results/audit/published.hpp\"

namespace nb {
namespace {

constexpr PublishedFile kFiles[] = {
${rows}};

}  // namespace

std::span<const PublishedFile> published_files() { return kFiles; }

}  // namespace nb
")
