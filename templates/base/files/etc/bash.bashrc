# Read by every interactive bash: nothing here may fork.
[ -z "${PS1-}" ] && return

PS1='\w \$ '
shopt -s checkwinsize
