#!/bin/sh
# embed.sh FOLDER OUTPUT: writes a Swift source that holds the files of FOLDER as base64.
# String literals compile in no time; array literals of this size take minutes.
set -eu
cd "$1"
{
  echo 'let publicFiles: [(path: String, base64: String)] = ['
  find . -type f ! -path '*/.*' | LC_ALL=C sort | while IFS= read -r file; do
    printf '  ("%s", "' "${file#.}"
    base64 <"$file" | tr -d '\n'
    printf '"),\n'
  done
  echo ']'
} >"$2"
