# SPDX-License-Identifier: Apache-2.0
# bash completion for atoll; needs nothing, and uses bash-completion where it is there.

_atoll() {
	local cur words cword line files= IFS=$'\n'

	# A colon separates words for bash, but not for us: ID:/path is one.
	if declare -F _get_comp_words_by_ref >/dev/null; then
		_get_comp_words_by_ref -n := cur words cword
	else
		cur=${COMP_WORDS[COMP_CWORD]} words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
	fi
	COMPREPLY=()
	while read -r line; do
		if [[ $line == :files ]]; then
			files=yes
		else
			COMPREPLY+=("${line%%$'\t'*}")
		fi
	done < <("${words[0]}" __complete "${words[@]:1:cword-1}" "$cur" 2>/dev/null)
	if [[ $files ]]; then
		compopt -o filenames 2>/dev/null
		while read -r line; do
			COMPREPLY+=("$line")
		done < <(compgen -f -- "$cur")
	fi
	[[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *: ]] && compopt -o nospace 2>/dev/null
	if declare -F __ltrim_colon_completions >/dev/null; then
		__ltrim_colon_completions "$cur"
	fi
	return 0
}

complete -F _atoll atoll
