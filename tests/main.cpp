// Catch2 version 2's main. Version 3 brings its own.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
