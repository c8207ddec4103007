# Gloo::Gloo from its header and library: its package's own config names them `gloo`, as an add_subdirectory would.
find_path(Gloo_INCLUDE_DIR gloo/context.h)
find_library(Gloo_LIBRARY gloo)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Gloo REQUIRED_VARS Gloo_LIBRARY Gloo_INCLUDE_DIR)
mark_as_advanced(Gloo_INCLUDE_DIR Gloo_LIBRARY)
if(Gloo_FOUND AND NOT TARGET Gloo::Gloo)
  add_library(Gloo::Gloo UNKNOWN IMPORTED)
  set_target_properties(Gloo::Gloo PROPERTIES
    IMPORTED_LOCATION ${Gloo_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${Gloo_INCLUDE_DIR})
endif()
