#!/bin/sh
# list_cases.sh PROGRAM ROOM OUTPUT: writes a ctest script with one test for each TEST_CASE of a Catch2 program.
# A case tagged [slow], [fuzz], [isa] or [rooms] gets that word as a second label; [!mayfail] and the like are Catch2's business.
# A case that prints "not in this build: " (tests/absent.h) counts as skipped.
set -eu
program=$1 room=$2 output=$3

# Version 2 has a switch for bare names, and exits with their number; 3 has a verbosity.
if "$program" --help | grep -q -- --list-test-names-only; then
  names() { "$program" --list-test-names-only "$@" || true; }
else
  names() { "$program" --list-tests --verbosity quiet "$@"; }
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for tag in slow fuzz isa rooms; do names "[$tag]" | sed "s/^/$tag /"; done >"$work/tagged"
names >"$work/all"

awk -v program="$program" -v room="$room" '
  { sub(/\r$/, "") }
  FILENAME == ARGV[1] { tag = $1; sub(/^[a-z]+ +/, ""); labels[$0] = labels[$0] ";" tag; next }
  { sub(/^ +/, ""); gsub(/^"|"$/, "") }
  $0 == "" || seen[$0]++ { next }
  {
    pattern = $0
    gsub(/[][,\\]/, "\\\\&", pattern)
    name = room ": " $0
    printf "add_test([==[%s]==] [==[%s]==] [==[%s]==])\n", name, program, pattern
    # Ranks wait for each other, some not for long: they get the machine to themselves.
    alone = room == "distributed" ? " RUN_SERIAL TRUE" : ""
    printf "set_tests_properties([==[%s]==] PROPERTIES LABELS \"%s%s\" TIMEOUT 600 SKIP_REGULAR_EXPRESSION \"not in this build: \"%s)\n", name, room, labels[$0], alone
  }' "$work/tagged" "$work/all" >"$output.new"
[ -s "$output.new" ] || { echo "list_cases: $program lists no test case" >&2; exit 1; }
mv "$output.new" "$output"
