# Login shells read this too (through ~/.profile), so nothing above the test may fork.
export PS1='\w \$ '

case $- in
*i*) ;;
*) return ;;
esac

HISTCONTROL=ignoreboth
HISTSIZE=1000
HISTFILESIZE=2000
shopt -s histappend checkwinsize
alias ls='ls --color=auto'
alias grep='grep --color=auto'
