// Symbol visibility. Everything is built hidden; what users may link against carries TARN_API.
#pragma once

#define TARN_API __attribute__((visibility("default")))
