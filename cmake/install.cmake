# What `cmake --install` puts where, and what find_package(headway) finds.
include(CMakePackageConfigHelpers)

if(TARGET headway)
  # SKBUILD_SCRIPTS_DIR is set while a Python wheel is built: its folder for commands.
  if(DEFINED SKBUILD_SCRIPTS_DIR)
    install(TARGETS headway DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python)
    # Whoever installs a wheel has no libsimdjson of this release: it comes along, with its licence.
    get_target_property(simdjson_type simdjson::simdjson TYPE)
    if(simdjson_type STREQUAL SHARED_LIBRARY)
      set_target_properties(headway PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/headway")
      install(FILES $<TARGET_FILE:simdjson::simdjson>
              RENAME $<TARGET_SONAME_FILE_NAME:simdjson::simdjson>
              DESTINATION ${SKBUILD_DATA_DIR}/lib/headway COMPONENT python)
      install(FILES /usr/share/doc/libsimdjson-dev/copyright RENAME simdjson-copyright
              DESTINATION ${SKBUILD_DATA_DIR}/share/doc/headway COMPONENT python OPTIONAL)
    endif()
  else()
    install(TARGETS headway COMPONENT programs)
    if(TARGET headwayd)
      install(TARGETS headwayd COMPONENT programs)
    endif()
  endif()
endif()
if(TARGET headway_native)
  install(TARGETS headway_native DESTINATION headway COMPONENT python EXCLUDE_FROM_ALL)
endif()

if(EXISTS ${PROJECT_SOURCE_DIR}/include/headway)
  install(DIRECTORY include/headway DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
endif()
# The ledger's interface is its own headers: <headway/ledger/ledger.h> and what that includes. They
# name each other from below src/, installed ones from below headway/.
if(TARGET headway_ledger)
  install(CODE "
    set(target \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/headway\")
    foreach(header IN ITEMS base/status.h model/category.h model/name_table.h model/record.h
            model/report.h model/run_records.h ledger/pages.h ledger/step_history.h ledger/time_split.h
            ledger/ledger.h)
      message(STATUS \"Installing: \${target}/\${header}\")
      file(READ \"${PROJECT_SOURCE_DIR}/src/\${header}\" text)
      string(REGEX REPLACE \"#include \\\"(base|model|ledger)/\"
             \"#include \\\"headway/\\\\1/\" text \"\${text}\")
      file(WRITE \"\${target}/\${header}\" \"\${text}\")
      list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${target}/\${header}\")
    endforeach()" COMPONENT development)
endif()
set(exported)
if(TARGET headway_recorder_shared)
  list(APPEND exported headway_recorder_shared)
endif()
if(TARGET headway_ledger)
  foreach(room IN ITEMS base model ledger)
    if(TARGET headway_${room})
      set_target_properties(headway_${room} PROPERTIES EXPORT_NAME ${room})
      list(APPEND exported headway_${room})
    endif()
  endforeach()
endif()
if(exported)
  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/headway)
  install(TARGETS ${exported} EXPORT headwayTargets COMPONENT development)
  install(EXPORT headwayTargets NAMESPACE headway:: FILE headwayConfig.cmake
          DESTINATION ${package_dir} COMPONENT development)
  # find_package(headway) with this build as its prefix, for those who have not installed it.
  export(EXPORT headwayTargets NAMESPACE headway:: FILE ${PROJECT_BINARY_DIR}/headwayConfig.cmake)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/headwayConfigVersion.cmake
                                   COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/headwayConfigVersion.cmake
          DESTINATION ${package_dir} COMPONENT development)
endif()
