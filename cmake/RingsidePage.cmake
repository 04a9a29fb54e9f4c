# SPDX-License-Identifier: Apache-2.0
# Puts the report's page, with all that it needs, into a source file.

# ringside_embed_page(TARGET DIRECTORY): page.html of DIRECTORY, with its styles, its scripts, D3 and
# D3's licence in place of the names in double braces, becomes part of TARGET: what is before the
# data, and what is behind it.
function(ringside_embed_page target directory)
  set(source "${CMAKE_CURRENT_SOURCE_DIR}/${directory}")
  set(output "${CMAKE_CURRENT_BINARY_DIR}/page_text.cc")
  set(modules address bandwidth_chart chart element format heat_map iterations_chart
      network_chart one_rank rows sections shares_chart table wait_map)
  list(TRANSFORM modules REPLACE "(.+)" "${source}/\\1.js" OUTPUT_VARIABLE files)
  add_custom_command(
    OUTPUT "${output}"
    COMMAND ${CMAKE_COMMAND} "-DSOURCE=${source}" "-DMODULES=${modules}" "-DD3=${RINGSIDE_D3}"
            "-DLICENCE=${RINGSIDE_D3_LICENCE}" "-DOUTPUT=${output}"
            -P "${PROJECT_SOURCE_DIR}/cmake/EmbedPage.cmake"
    DEPENDS ${files} "${source}/page.js" "${source}/page.html" "${source}/page.css" "${RINGSIDE_D3}"
            "${RINGSIDE_D3_LICENCE}" "${PROJECT_SOURCE_DIR}/cmake/EmbedPage.cmake"
    VERBATIM)
  target_sources(${target} PRIVATE "${output}")
  # By itself: who looks at the sources without building has no such file.
  set_source_files_properties("${output}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
