# The Python package as it will be imported: build/python/headway/, with links to the sources in
# python/headway/ and the extension module beside them. The module uses the limited API only, so
# that one build serves every CPython from 3.10 on.

set(python_source ${PROJECT_SOURCE_DIR}/python/headway)
set(python_output ${PROJECT_BINARY_DIR}/python/headway)
file(GLOB_RECURSE native_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/src/*.cc)
file(GLOB_RECURSE python_files CONFIGURE_DEPENDS RELATIVE ${python_source}
     ${python_source}/*.py ${python_source}/*.pyi ${python_source}/py.typed)

file(GLOB_RECURSE stale ${python_output}/*)
foreach(link IN LISTS stale)
  if(IS_SYMLINK ${link} AND NOT EXISTS ${link})
    file(REMOVE ${link})
  endif()
endforeach()
foreach(name IN LISTS python_files)
  cmake_path(GET name PARENT_PATH folder)
  file(MAKE_DIRECTORY ${python_output}/${folder})
  file(CREATE_LINK ${python_source}/${name} ${python_output}/${name} SYMBOLIC)
endforeach()

if(native_sources)
  find_package(Python3 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
  set(exports ${PROJECT_SOURCE_DIR}/cmake/native.map)
  add_library(headway_native MODULE ${native_sources})
  set_target_properties(headway_native PROPERTIES PREFIX "" OUTPUT_NAME _native SUFFIX .abi3.so
    LIBRARY_OUTPUT_DIRECTORY ${python_output} LINK_DEPENDS ${exports})
  target_compile_definitions(headway_native PRIVATE Py_LIMITED_API=0x030A0000
                             HEADWAY_VERSION="${PROJECT_VERSION}")
  target_include_directories(headway_native SYSTEM PRIVATE ${Python3_INCLUDE_DIRS})
  foreach(room IN ITEMS recorder ledger runs)
    if(TARGET headway_${room})
      target_link_libraries(headway_native PRIVATE headway_${room})
    endif()
  endforeach()
  target_link_options(headway_native PRIVATE
    -Wl,--version-script=${exports} -Wl,--exclude-libs,ALL
    -Wl,-z,nodelete)  # its exit and signal hooks outlive dlclose()
  if(HEADWAY_TESTS)
    headway_script_test(native_exports LABEL unit COMMAND
      ${PROJECT_SOURCE_DIR}/tools/check_exports PyInit__native $<TARGET_FILE:headway_native>)
  endif()
endif()
