#!/bin/sh
# list_cases.sh PROGRAM ROOM OUTPUT: writes a ctest script with one test for each TEST_CASE of a Catch2 program.
# A case tagged [slow], [fuzz] or [isa] gets that word as a second label; [!mayfail] and the like are Catch2's business.
set -eu
program=$1 room=$2 output=$3

# A case that asserts nothing fails, and so does a name that matches nothing (version 3 does that unasked).
# Version 2 has a switch for bare names, and exits with their number; 3 has a verbosity.
warn="-w NoAssertions"
if "$program" --help | grep -q -- --list-test-names-only; then
  warn="$warn -w NoTests"
  names() { "$program" --list-test-names-only "$@" || true; }
else
  names() { "$program" --list-tests --verbosity quiet "$@"; }
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for tag in slow fuzz isa; do names "[$tag]" | sed "s/^/$tag /"; done >"$work/tagged"
names >"$work/all"

awk -v program="$program" -v room="$room" -v warn="$warn" '
  { sub(/\r$/, "") }
  FNR == NR { tag = $1; sub(/^[a-z]+ +/, ""); labels[$0] = labels[$0] ";" tag; next }
  { sub(/^ +/, ""); gsub(/^"|"$/, "") }
  $0 == "" || seen[$0]++ { next }
  {
    pattern = $0
    gsub(/[][,\\]/, "\\\\&", pattern)
    name = room ": " $0
    printf "add_test([==[%s]==] [==[%s]==] [==[%s]==] %s)\n", name, program, pattern, warn
    printf "set_tests_properties([==[%s]==] PROPERTIES LABELS \"%s%s\" TIMEOUT 600)\n", name, room, labels[$0]
  }' "$work/tagged" "$work/all" >"$output.new"
mv "$output.new" "$output"
