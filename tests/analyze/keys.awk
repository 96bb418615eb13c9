# "FILE:LINE[:COLUMN]: warning|error: MESSAGE [RULE]" of gcc or cppcheck becomes "KEY<TAB>the line", where a key is
# "TOOL RULE FILE FUNCTION MESSAGE" with N for every number: it outlives changes elsewhere in the file.
# The function is the last one that begins above the line, in the first column. What stands in a macro of a header
# is of the place that uses the macro, which gcc tells behind it.
function function_at(file, last,    line, text, name, is_over) {
    name = "-"
    for (line = 1; line <= last && (getline text < file) > 0; line++) {
        if (is_over) { name = "-"; is_over = 0 }
        if (text ~ /^[A-Za-z_][^;=]*\(/) {
            name = text
            sub(/\(.*/, "", name)
            sub(/.*[ *]/, "", name)
        }
        is_over = text ~ /^}/
    }
    close(file)
    return name == "" ? "-" : name
}
function put(    message, rule) {
    if (finding == "") return
    message = finding
    sub(/^[^ ]+ (warning|error|fatal error): /, "", message)
    rule = "error"
    if (match(message, / \[[A-Za-z0-9_-]+\]$/)) {
        rule = substr(message, RSTART + 2, RLENGTH - 3)
        message = substr(message, 1, RSTART - 1)
    }
    sub(/ \[CWE-[0-9]+\]$/, "", message)
    sub(/<U[0-9a-f]+>/, "<U>", message) # a number of gcc's own
    gsub(/[0-9]+/, "N", message)
    print tool " " rule " " file " " function_at(file, line) " " message "\t" finding
    finding = ""
}
function at() {
    split($0, part, ":")
    file = part[1]
    line = part[2]
    sub(/^\.\//, "", file)
}
/^[^ :]+:[0-9]+(:[0-9]+)?: (warning|error|fatal error): / { put(); finding = $0; at() }
/^[^ :]+:[0-9]+:[0-9]+: note: in expansion of macro / { at() }
END { put() }
