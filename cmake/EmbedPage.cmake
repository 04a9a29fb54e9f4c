# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT: the text of the page before and behind its data (see RingsidePage.cmake).
cmake_minimum_required(VERSION 3.22)

file(READ "${SOURCE}/page.html" page)
file(READ "${SOURCE}/page.css" style)
file(READ "${D3}" library)
file(READ "${LICENCE}" licence)
# A module that others import gets an address that is its own text: a page that is opened from disk
# can import nothing else.
set(modules "")
foreach(name IN LISTS MODULES)
  file(READ "${SOURCE}/${name}.js" text)
  string(REPLACE "%" "%25" text "${text}")
  string(REPLACE "\\" "%5C" text "${text}")
  string(REPLACE "\"" "%22" text "${text}")
  string(REPLACE "#" "%23" text "${text}")
  string(REPLACE "<" "%3C" text "${text}")
  string(REPLACE "\n" "%0A" text "${text}")
  string(APPEND modules "${comma}\"page/${name}\": \"data:text/javascript;charset=utf-8,${text}\"")
  set(comma ",\n")
endforeach()
file(READ "${SOURCE}/page.js" script)
string(REPLACE "&" "&amp;" licence "${licence}")
string(REPLACE "<" "&lt;" licence "${licence}")
foreach(name style library modules script licence)
  # The end of a script within a script would end it.
  string(TOLOWER "${${name}}" lower)
  string(FIND "${lower}" "</script" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "the ${name} of the page holds </script")
  endif()
  string(REPLACE "{{${name}}}" "${${name}}" page "${page}")
endforeach()

string(FIND "${page}" "{{data}}" place)
if(place EQUAL -1)
  message(FATAL_ERROR "page.html has no place for the data")
endif()
string(SUBSTRING "${page}" 0 ${place} before)
math(EXPR place "${place} + 8")
string(SUBSTRING "${page}" ${place} -1 after)
file(WRITE "${OUTPUT}"
     "#include \"analyzer/report/page/page_text.h\"\n\n"
     "namespace ringside::report {\n"
     "const std::string_view kPageBefore = R\"ringside(${before})ringside\";\n"
     "const std::string_view kPageAfter = R\"ringside(${after})ringside\";\n"
     "}  // namespace ringside::report\n")
