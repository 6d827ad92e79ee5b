#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Attempts to get out of a sandbox by the tools that are in it. One line each as in main.c; a tool that is not there
# shows nothing, and says so.
n=0
line() { printf '%s\t%s\t%s\t%s\n' "$1" "shell/$2" "$3" "$(tr '\n\t' '  ' <<<"${4:0:180}")"; n=$((n + 1)); }

# try NAME GUARANTEE PATTERN COMMAND...: refused, if it fails with a message that PATTERN matches.
try() {
	local name=$1 promise=$2 pattern=$3 out
	shift 3
	if ! command -v "$1" >/dev/null; then
		line skipped "$name" "$promise" "$1 is not in this template"
		return
	fi
	if out=$(timeout 20 "$@" 2>&1 </dev/null); then
		line BROKEN "$name" "$promise" "it worked: $out"
	elif grep -qiE "$pattern" <<<"$out"; then
		line held "$name" "$promise" "$out"
	else
		line unclear "$name" "$promise" "status $?: $out"
	fi
}

no='not permitted|denied|only root|must be superuser|must be root|cannot be performed|Read-only|not found in'
no+='|No such file|Function not implemented'
mounts='nothing is mounted from inside'
try mount-tmpfs "$mounts" "$no" mount -t tmpfs none /mnt
try mount-bind "$mounts" "$no" mount --bind /proc /mnt
try umount-proc 'what the host has covered stays covered' "$no" umount -l /proc
try unshare-user 'no new namespace, so no new powers over one' "$no" unshare -Ur true
try unshare-net 'no new namespace, so no new powers over one' "$no" unshare -n true
try nsenter-pid1 'no namespace but its own' "$no" nsenter -t 1 -m true
try chroot-proc1 'pid 1, which is the server'\''s, cannot be looked into or changed' "$no" chroot /proc/1/root true
# Without a swap area, the tool itself finds nothing to do.
swap=$(mktemp) && head -c 1048576 /dev/zero >"$swap" && mkswap "$swap" >/dev/null 2>&1
try swapon 'the host'\''s own business is closed to sandboxes' "$no" swapon "$swap"
rm -f "$swap"
try date-set 'the host'\''s own business is closed to sandboxes' "$no" date -s 2001-01-01
try dmesg 'the kernel'\''s log is the host'\''s' "$no" dmesg
try hostname-set 'the host'\''s own business is closed to sandboxes' "$no" hostname escaped
try sysctl-write '/proc configures nothing from inside' "$no" sysctl -w kernel.core_pattern='|/bin/false'
try sysrq '/proc configures nothing from inside' "$no" bash -c 'echo h > /proc/sysrq-trigger'
try mknod-disk 'no device but the seven that everybody may have' "$no" mknod /tmp/escape-sda b 8 0
try losetup 'no device but the seven that everybody may have' "$no" losetup -f /etc/passwd
try chattr 'no file that its owner on the host cannot remove' "$no|not supported|ioctl" chattr +i /etc/hostname
try renice 'no sandbox takes precedence over others' "$no" renice -n -5 $$
try chrt 'no sandbox takes precedence over others' "$no" chrt -f 10 true
try ip-link 'address, route and link are set from outside only' "$no" ip link set eth0 down
try ip-addr 'address, route and link are set from outside only' "$no" ip addr add 10.99.99.9/32 dev eth0
try ip-route 'address, route and link are set from outside only' "$no" ip route add blackhole 10.99.99.8/32
try tc 'address, route and link are set from outside only' "$no" tc qdisc add dev eth0 root pfifo
try nft 'the firewall is the host'\''s' "$no|not supported" nft list ruleset
try iptables 'the firewall is the host'\''s' "$no|not supported" iptables -L
try modprobe 'the host'\''s own business is closed to sandboxes' "$no|FATAL" modprobe dummy
try setpriv-caps 'twelve capabilities at most, whatever is run' "$no" \
	setpriv --inh-caps +sys_admin --ambient-caps +sys_admin true
try gdb-pid1 'pid 1, which is the server'\''s, cannot be looked into or changed' "$no" gdb -p 1 -batch -ex 'info proc'
try strace-pid1 'pid 1, which is the server'\''s, cannot be looked into or changed' "$no" strace -p 1

# Root by sudo is root of the sandbox: its id outside is an ordinary one.
promise='root inside is root of the sandbox and nothing more'
if ! command -v sudo >/dev/null; then
	line skipped sudo "$promise" 'sudo is not in this template'
elif ! map=$(sudo -n cat /proc/self/uid_map 2>&1); then
	line unclear sudo "$promise" "$map"
elif read -r inside outside count <<<"$map" &&
	[ "$inside" = 0 ] && [ "$outside" -gt 65535 ] && [ "$count" -le 65536 ]; then
	line held sudo "$promise" "0 is $outside outside"
else
	line BROKEN sudo "$promise" "$map"
fi

# A setuid shell that root inside leaves behind is worth no more than root inside.
if [ "$(id -u)" = 0 ]; then
	cp /bin/dash /tmp/escape-suid && chmod 4755 /tmp/escape-suid
	caps=$(setpriv --reuid=1000 --regid=1000 --clear-groups /tmp/escape-suid -p -c '
		grep -h ^CapEff /proc/self/status
		mount -t tmpfs none /mnt 2>&1 && echo MOUNTED')
	rm -f /tmp/escape-suid
	case $caps in
	*MOUNTED*) line BROKEN setuid-shell "$promise" "$caps" ;;
	*CapEff*) line held setuid-shell "$promise" "$caps" ;;
	*) line unclear setuid-shell "$promise" "$caps" ;;
	esac
fi

# Links in the places that the host and its neighbours use.
promise='a path inside leads to what is inside'
for path in /var/lib/atoll/key /var/lib/atoll/pool.img /var/cache/atoll/templates \
	/run/atoll/registry /run/atoll/main/warden.pid; do
	ln -sfn "$path" /tmp/escape-link 2>/dev/null
	if [ -e /tmp/escape-link ]; then
		line BROKEN "link-to${path//\//-}" "$promise" "$path is here"
	else
		line held "link-to${path//\//-}" "$promise" 'nothing is there'
	fi
done
printf 'end\t%d\n' "$n"
