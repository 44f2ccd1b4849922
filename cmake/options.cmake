# How everything is compiled and linked.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

add_compile_options(-Wall -Wextra -Wshadow -Wconversion -ffunction-sections -fdata-sections
                    -fno-omit-frame-pointer)
add_link_options(-Wl,--gc-sections -Wl,--as-needed)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options(-Wno-restrict)  # false alarms in std::string operator+, GCC bug 105651
endif()
if(HEADWAY_WERROR)
  add_compile_options(-Werror)
endif()
if(HEADWAY_SANITIZE)
  # -g1: a report names functions and lines, and nothing more of the debug information is read.
  add_compile_options(-fsanitize=${HEADWAY_SANITIZE} -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=${HEADWAY_SANITIZE})
endif()

if(HEADWAY_UNITY)
  find_package(Python3 3.10 REQUIRED COMPONENTS Interpreter)
endif()

find_program(HEADWAY_CCACHE ccache)
if(HEADWAY_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${HEADWAY_CCACHE})
endif()
find_program(HEADWAY_MOLD mold)
if(HEADWAY_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
