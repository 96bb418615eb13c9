#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# loader.sh LIBDIR SONAME: what is to be done before programs find the library installed there; nothing
# where they do.
PATH=$PATH:/sbin:/usr/sbin
ldconfig -p 2>/dev/null | grep -qF "$2 (" && ldconfig -p | grep -qF "=> $1/$2" && exit 0
if ldconfig -v -N -X 2>/dev/null | grep -q "^$1:"; then
  echo "install: before programs find $2: ldconfig, as root"
else
  echo "install: the loader does not look into $1; before programs find $2: export LD_LIBRARY_PATH=$1"
fi
