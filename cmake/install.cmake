# `cmake --install` and find_package(tarn). The shared library's file needs nothing found on the user's machine; the
# static one (find_package(tarn COMPONENTS static)) needs the libraries that it links.
include(CMakePackageConfigHelpers)
set(tarn_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tarn)

install(TARGETS tarn_static EXPORT tarn-static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT tarn-static NAMESPACE tarn:: FILE tarn-static.cmake DESTINATION ${tarn_package_dir})
if(TARN_BUILD_SHARED)
  install(TARGETS tarn EXPORT tarn-shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT tarn-shared NAMESPACE tarn:: FILE tarn-shared.cmake DESTINATION ${tarn_package_dir})
endif()

install(DIRECTORY core autograd nn optim data serialize compile distributed
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tarn
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*.inc" PATTERN "core/cpu" EXCLUDE PATTERN "core/fault.h" EXCLUDE)
file(GLOB tarn_root_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/*.h)
install(FILES ${tarn_root_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tarn)

configure_package_config_file(cmake/tarnConfig.cmake.in ${PROJECT_BINARY_DIR}/tarnConfig.cmake
  INSTALL_DESTINATION ${tarn_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tarnConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tarnConfig.cmake ${PROJECT_BINARY_DIR}/tarnConfigVersion.cmake
  cmake/FindoneDNN.cmake DESTINATION ${tarn_package_dir})
