#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Results are kept where nobody else can put or change them: an entry of another user, in a shared
# XDG_CACHE_HOME say, is refused in one sentence, and so is one that others may write, by the entry,
# its files or a folder above. cache.t has damaged entries. Another user is played where we are root.
. "$(dirname "$0")/lib.sh"

LIB=/usr/share/qflow/tech/osu018/osu018_stdcells.lib
if [ ! -r $LIB ] || ! command -v "${YOSYS:-yosys}" >/dev/null; then
  skip "owners" "needs yosys and $LIB (package qflow-tech-osu018)"
  finish
fi
export SQSIM_HOME=$W/prefix/share/sqsim XDG_CACHE_HOME=$W/cache
mkdir -p "$SQSIM_HOME"
ln -s "$ROOT/rtl" "$ROOT/sim" "$ROOT/traces" "$SQSIM_HOME"
area=(area --json --block mul --a-bits 2 --b-bits 2)

umask 002
accept "a cache is made" "${area[@]}"
cp "$W.out" "$W/want"
entry=$(echo "$W"/cache/sqsim/synth/sq_mul-*)
ok "for the user alone: cache, folder and entry have mode 0700" \
  [ "$(stat -c %a "$W/cache" "$W/cache/sqsim" "$W/cache/sqsim/synth" "$entry" | xargs)" = "700 700 700 700" ]
umask 022

# refused_as PATTERN: the run is refused; and works once more when the path is as it was.
refused_as() {
  [ "$RC" = 2 ] && [ "$(wc -l <"$W.err")" = 1 ] && [ ! -s "$W.out" ] && grep -q -- "$1" "$W.err" && return
  echo "# exit $RC, want: $1"; sed 's/^/# stderr: /' "$W.err"
  return 1
}
for path in "$entry" "$W/cache/sqsim/synth" "$W/cache/sqsim" "$W/cache"; do
  chmod o+w "$path"
  sq "${area[@]}"
  ok "others can write to ${path#"$W"/}: refused" refused_as "others can write to '.*${path##*/}' (mode 0702)"
  chmod o-w "$path"
done
chmod 0755 "$entry"
chmod o+w "$entry/result.json"
sq "${area[@]}"
ok "others can write to a file of an entry that they can enter: refused" refused_as "others can write to '.*result.json'"
chmod o-w "$entry/result.json"
accept "an entry that others can read" "${area[@]}"
mv "$entry/result.json" "$W/elsewhere.json"
ln -s "$W/elsewhere.json" "$entry/result.json"
sq "${area[@]}"
ok "a link in an entry: refused" refused_as "result.json' is no regular file"
rm "$entry/result.json"
mv "$W/elsewhere.json" "$entry/result.json"

mkdir -m 1777 "$W/shared"
XDG_CACHE_HOME=$W/shared accept "a cache in a folder that is shared as /tmp is" "${area[@]}"
ok "... is for the user alone" [ "$(stat -c %a "$W/shared/sqsim")" = 700 ]
if [ "$(id -u)" = 0 ]; then
  for path in "$entry" "$W/shared/sqsim" "$entry/result.json"; do
    chown 65534 "$path"
    XDG_CACHE_HOME=${path%/sqsim*} sq "${area[@]}"
    ok "${path##*/} of another user: refused" refused_as "belongs to user 65534"
    chown 0 "$path"
  done
  ln -s "$W/cache/sqsim" "$W/link"
  chown -h 65534 "$W/link"
  mkdir "$W/by_link"
  ln -s "$W/link" "$W/by_link/sqsim"
  XDG_CACHE_HOME=$W/by_link sq "${area[@]}"
  ok "a link of another user on the way: refused" refused_as "link' belongs to user 65534"
  chown -h 0 "$W/link"
  XDG_CACHE_HOME=$W/by_link accept "a link of one's own" "${area[@]}"
else
  skip "entries of another user" "only root can play another user"
fi
# The digest beside an entry is that of its name, too.
other=(area --json --block mul --a-bits 2 --b-bits 3)
accept "another job" "${other[@]}"
cp "$W.out" "$W/other"
path=$(ls -d "$W"/cache/sqsim/synth/sq_mul-* | grep -vxF "$entry")
rm -rf "$path"
cp -a "$entry" "$path"
sq "${other[@]}"
ok "an entry under the name of another: made anew" [ "$RC" = 0 -a -z "$(cmp "$W/other" "$W.out")" ]
accept "as it was: used" "${area[@]}"
ok "the same result" cmp -s "$W/want" "$W.out"

finish
