# SPDX-License-Identifier: Apache-2.0
# awk -v keys="block,=osu018,area_um2" -f fields.awk: of each line of `sqsim area --json` that has all keys, their values with commas
# between them; null is empty. A word behind `=` stands there as it is. A key is one of the line itself or the first of that name in it.
BEGIN { n = split(keys, key, ",") }
{
  out = ""
  for (i = 1; i <= n; i++) {
    value = substr(key[i], 2)
    if (key[i] !~ /^=/) {
      if (!match($0, "\"" key[i] "\":(\"[^\"]*\"|[^,}\"]*)")) next
      value = substr($0, RSTART + length(key[i]) + 3, RLENGTH - length(key[i]) - 3)
      gsub(/"/, "", value)
      if (value == "null") value = ""
    }
    out = out (i > 1 ? "," : "") value
  }
  print out
}
