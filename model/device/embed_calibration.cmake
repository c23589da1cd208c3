# cmake -DOUTPUT=x.cpp "-DTABLES=a.csv;b.csv" -P embed_calibration.cmake: tables as string literals, sorted by name.
list(SORT TABLES)
set(entries "")
foreach(table ${TABLES})
  get_filename_component(name ${table} NAME_WE)
  file(READ ${table} text)
  string(APPEND entries "    {\"${name}\", R\"nb_csv(${text})nb_csv\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"model/device/embedded_calibration.hpp\"

namespace nb {
namespace {

constexpr EmbeddedCalibration kTables[] = {
${entries}};

}  // namespace

std::span<const EmbeddedCalibration> embedded_calibration() { return kTables; }

}  // namespace nb
")
