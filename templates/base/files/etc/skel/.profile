# Read by login shells: nothing here may fork.
if [ -n "${BASH_VERSION-}" ] && [ -f "$HOME/.bashrc" ]; then
	. "$HOME/.bashrc"
fi

if [ -d "$HOME/.local/bin" ]; then
	PATH=$HOME/.local/bin:$PATH
fi
if [ -d "$HOME/bin" ]; then
	PATH=$HOME/bin:$PATH
fi
