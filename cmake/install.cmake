# `cmake --install` and find_package(tarn). The shared library's file needs nothing found on the user's machine; the
# static one (find_package(tarn COMPONENTS static)) needs the libraries that it links.
include(CMakePackageConfigHelpers)
set(tarn_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tarn)

if(TARN_BUILD_SHARED)
  install(TARGETS tarn tarn_torch EXPORT tarn-shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT tarn-shared NAMESPACE tarn:: FILE tarn-shared.cmake DESTINATION ${tarn_package_dir})
else()
  install(TARGETS tarn_torch EXPORT tarn-static)
endif()
install(TARGETS tarn_static EXPORT tarn-static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT tarn-static NAMESPACE tarn:: FILE tarn-static.cmake DESTINATION ${tarn_package_dir})

# Public headers: all but those of the back ends and the headers that include it (or the build's options), which serve our .cpp files.
file(GLOB_RECURSE tarn_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  core/*.h core/*.def autograd/*.h nn/*.h optim/*.h data/*.h serialize/*.h compile/*.h distributed/*.h compat/*.h)
file(GLOB tarn_root_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} *.h)
list(FILTER tarn_headers EXCLUDE REGEX "^core/(cpu|cuda|emu)/")
foreach(header ${tarn_headers} ${tarn_root_headers})
  file(STRINGS ${header} private REGEX "^#include (<tarn/core/(cpu|cuda|emu)/|\"tarn_config.h\")")
  if(NOT private)
    cmake_path(GET header PARENT_PATH folder)
    install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tarn/${folder})
  endif()
endforeach()

configure_package_config_file(cmake/tarnConfig.cmake.in ${PROJECT_BINARY_DIR}/tarnConfig.cmake
  INSTALL_DESTINATION ${tarn_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tarnConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tarnConfig.cmake ${PROJECT_BINARY_DIR}/tarnConfigVersion.cmake
  cmake/FindoneDNN.cmake cmake/FindGloo.cmake cmake/FindLibZip.cmake DESTINATION ${tarn_package_dir})
