# SPDX-License-Identifier: Apache-2.0
# bash completion of sqsim. The program lists its own commands, options and words (--complete).
_sqsim() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local program=${COMP_WORDS[0]} command=${COMP_WORDS[1]} option
    COMPREPLY=()
    if [ "$COMP_CWORD" = 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$program" --complete 2>/dev/null | cut -f1)
            --help --version" -- "$cur")
        return
    fi
    if [ "$cur" = = ]; then cur=''; elif [ "$prev" = = ]; then prev=${COMP_WORDS[COMP_CWORD - 2]}; fi
    option=$("$program" "$command" --complete 2>/dev/null | awk -F '\t' -v name="$prev" '$1 == name')
    case $option in
    *$'\t'FILE$'\t'* | *$'\t'DIR$'\t'* | *$'\t'PATH$'\t'*)
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return ;;
    --*$'\t'?*$'\t'*) # takes a value: one of its words, or anything
        mapfile -t COMPREPLY < <(compgen -W "${option##*$'\t'}" -- "$cur")
        return ;;
    esac
    case $cur in
    -*) mapfile -t COMPREPLY < <(compgen -W "$("$program" "$command" --complete 2>/dev/null | cut -f1)" -- "$cur") ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
    esac
}
complete -o filenames -F _sqsim sqsim
