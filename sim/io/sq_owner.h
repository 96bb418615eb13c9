// SPDX-License-Identifier: Apache-2.0
// Whether somebody else could have made, or can change, what a path names. What the program loads
// as code or believes without a look (sq_cache.h) must be the user's own.
//
// Trusted are the user, root, and who owns the program that runs, who could change it as well.
#ifndef SQ_OWNER_H
#define SQ_OWNER_H

#include "models/sq_status.h"

// Refuses (SQ_ERR_IO, one sentence) a path of which a folder, or a link on the way, belongs to
// anybody else, or can be written by anybody else. The write permission of a group that holds the
// user alone is none of others; in a folder with the sticky bit, as /tmp, others cannot replace
// what is not theirs. After SQ_OK nobody else can make the path name another thing.
enum sq_status sq_owner_check_path(const char *path, struct sq_error *err);

// The same of the files in a folder, which are regular files; not of folders below it. Where only
// its owner can enter the folder, their own permissions do not matter.
enum sq_status sq_owner_check_files(const char *folder, struct sq_error *err);

#endif
