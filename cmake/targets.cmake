# The few functions with which the CMakeLists.txt files say what there is to build.

# A room is a folder of src/: headway_room(<name> [ONE_THREAD] DEPS <rooms>... LIBS
# <third-party targets>...)
#   *_test.cc            the GoogleTest program <name>_test, one ctest entry labelled `unit`
#   <program>_main.cc    a program each, in bin/
#   every other *.cc     the static library headway_<name>
# A room without files is skipped, and so is a dependency on one. Where there is but one thread, as
# tools/check_layers sees to, there is nothing for the thread sanitizer: such tests are left out.
function(headway_room room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ONE_THREAD" "" "DEPS;LIBS")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${room}/*.cc)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${room}/*.h)
  if(NOT sources AND NOT headers)
    return()
  endif()
  set(tests ${sources})
  set(mains ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER mains INCLUDE REGEX "_main\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_(test|main)\\.cc$")

  set(library headway_${room})
  if(sources)
    add_library(${library} STATIC ${sources} ${headers})
    set(scope PUBLIC)
    headway_unity(${library} ${sources})
    target_link_libraries(${library} PRIVATE ${arg_LIBS})
    target_compile_definitions(${library} PRIVATE HEADWAY_VERSION="${PROJECT_VERSION}")
  else()
    add_library(${library} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_compile_features(${library} ${scope} cxx_std_20)
  target_include_directories(${library} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  foreach(dep IN LISTS arg_DEPS)
    if(TARGET headway_${dep})
      target_link_libraries(${library} ${scope} headway_${dep})
    endif()
  endforeach()

  foreach(main IN LISTS mains)
    cmake_path(GET main STEM program)
    string(REGEX REPLACE "_main$" "" program ${program})
    add_executable(${program} ${main})
    target_link_libraries(${program} PRIVATE ${library} ${arg_LIBS})
    target_compile_definitions(${program} PRIVATE HEADWAY_VERSION="${PROJECT_VERSION}")
  endforeach()
  if(tests AND HEADWAY_TESTS AND NOT (arg_ONE_THREAD AND HEADWAY_SANITIZE STREQUAL "thread"))
    headway_gtest(${room}_test LABEL unit SOURCES ${tests} LIBS ${library} ${arg_LIBS})
  endif()
endfunction()

# With HEADWAY_UNITY, compiles the files of a target in groups: headway_unity(<target> <files>...)
# tools/unity_groups says which; they are chosen anew whenever CMake runs.
function(headway_unity target)
  if(NOT HEADWAY_UNITY)
    return()
  endif()
  execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/unity_groups ${ARGN}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE lines
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" lines "${lines}")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^([0-9]+) (.*)$" line "${line}")
    set_source_files_properties(${CMAKE_MATCH_2} PROPERTIES
      UNITY_GROUP ${target}_${CMAKE_MATCH_1})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# A GoogleTest program: headway_gtest(<name> LABEL <tier> SOURCES <files>... LIBS <targets>...)
# Paths in a test are relative to the root of the repository. The target <tier>_tests builds all of
# a tier.
function(headway_gtest name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL" "SOURCES;LIBS")
  find_package(GTest REQUIRED)
  add_executable(${name} ${arg_SOURCES})
  headway_unity(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${arg_LIBS} GTest::gtest_main)
  if(NOT TARGET ${arg_LABEL}_tests)
    add_custom_target(${arg_LABEL}_tests)
  endif()
  add_dependencies(${arg_LABEL}_tests ${name})
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL}
    ENVIRONMENT "GTEST_OUTPUT=xml:${PROJECT_BINARY_DIR}/test-results/${name}.xml")
endfunction()

# Any other test: headway_script_test(<name> LABEL <tier> COMMAND <command>...)
# It finds the programs of this build on PATH and their folder in HEADWAY_BIN. Exit code 77 means
# skipped; a last line `N passed, N failed[, N skipped]` (or pytest's) counts as so many tests.
function(headway_script_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL" "COMMAND")
  add_test(NAME ${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} SKIP_RETURN_CODE 77
    ENVIRONMENT "HEADWAY_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}"
    ENVIRONMENT_MODIFICATION "PATH=path_list_prepend:${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
endfunction()

# A ctest entry for each test_*.py of this directory: headway_pytests(<prefix> LABEL <tier>)
# The package is imported from this build.
function(headway_pytests prefix)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL" "")
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/test_*.py)
  foreach(file IN LISTS files)
    cmake_path(GET file STEM name)
    string(REGEX REPLACE "^test_" "${prefix}_" name ${name})
    headway_script_test(${name} LABEL ${arg_LABEL} COMMAND
      ${Python3_EXECUTABLE} -m pytest -q -p no:cacheprovider -o faulthandler_timeout=200 ${file})
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT_MODIFICATION
      "PYTHONPATH=path_list_prepend:${PROJECT_BINARY_DIR}/python"
      "PYTHONDONTWRITEBYTECODE=set:1")
  endforeach()
endfunction()

# Starts tests before all others: what takes a minute must not be what all else waits for at the end.
function(headway_long_tests)
  set_tests_properties(${ARGN} PROPERTIES COST 60)
endfunction()

# A google-benchmark program in bench/: headway_bench(<name> SOURCES <files>... LIBS <targets>...)
function(headway_bench name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  find_package(benchmark REQUIRED)
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
  target_link_libraries(${name} PRIVATE ${arg_LIBS} benchmark::benchmark_main)
endfunction()

# A libFuzzer program in fuzz/: headway_fuzzer(<name> SOURCES <files>... LIBS <targets>...)
# Seeds lie in fuzz/corpus/<name>/.
function(headway_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzzers)
  target_link_libraries(${name} PRIVATE ${arg_LIBS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endfunction()
