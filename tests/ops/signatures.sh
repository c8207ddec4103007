#!/bin/sh
# usage: signatures.sh OUTPUT HEADER...
# Writes a line TARN_SIGNATURE(name, (result), (parameters)) for each TARN_API function of the headers that takes or returns
# tensors, so that the fuzzer calls every op there is. Namespace detail, comments, templates and macros are left out.
output=$1
shift
for header in "$@"; do
  sed -e 's://.*$::' -e ':join' -e '/\\$/{N;s/\\\n//;b join' -e '}' "$header" | grep -v '^#' | tr '\n' ' ' | awk '
  # The text up to the next `;` or `{`, outside of namespace detail.
  function parameters(text,   i, c, depth, part, out) {
    depth = 0; part = ""; out = ""
    for (i = 1; i <= length(text); ++i) {
      c = substr(text, i, 1)
      if (c ~ /[<({]/) ++depth
      if (c ~ /[>)}]/) --depth
      if (c == "," && depth == 0) { out = out ", " type_of(part); part = "" } else part = part c
    }
    if (part !~ /^ *$/) out = out ", " type_of(part)
    return out
  }
  # A parameter without its default value and its name.
  function type_of(part) {
    sub(/=.*$/, "", part); gsub(/^ +| +$/, "", part)
    sub(/[a-zA-Z0-9_]+$/, "", part); gsub(/ +$/, "", part)
    return part
  }
  {
    text = $0
    while (match(text, /namespace [a-z0-9: ]*detail *\{/)) {
      start = RSTART; depth = 1
      for (i = RSTART + RLENGTH; i <= length(text) && depth > 0; ++i) {
        c = substr(text, i, 1)
        if (c == "{") ++depth
        if (c == "}") --depth
      }
      text = substr(text, 1, start - 1) substr(text, i)
    }
    while (match(text, /TARN_API +[^;{(]*\(/)) {
      head = substr(text, RSTART, RLENGTH); text = substr(text, RSTART + RLENGTH)
      depth = 1
      for (i = 1; i <= length(text) && depth > 0; ++i) {
        c = substr(text, i, 1)
        if (c == "(") ++depth
        if (c == ")") --depth
      }
      inside = substr(text, 1, i - 2); text = substr(text, i)
      sub(/TARN_API +/, "", head); sub(/\($/, "", head)
      if (head !~ /Tensor/ && inside !~ /Tensor/) continue
      if (head ~ /operator|class |struct |##|\\/ || inside ~ /TARN_DEFAULT/) continue
      if (!match(head, /[a-z_][a-z0-9_]*$/)) continue
      name = substr(head, RSTART); result = substr(head, 1, RSTART - 1)
      gsub(/^ +| +$/, "", result)
      print "TARN_SIGNATURE(" name ", (" result "), (" substr(parameters(inside), 3) "))"
    }
  }'
done >"$output"
