#!/bin/sh
# Makes the root file system that every lab node starts from: make-base.sh ROOT SUITE MIRROR DEB_CACHE
# Run inside a mount namespace of its own, so that a kill leaves no mount behind in ROOT.
set -eu
root=$1 suite=$2 mirror=$3 debs=$4
export DEBIAN_FRONTEND=noninteractive LC_ALL=C

early="systemd,systemd-sysv,dbus,python3,python3-yaml,iproute2,iptables,nftables,conntrack,ethtool,socat,ebtables,ipset,\
kmod,procps,openssh-server,containerd,runc,containernetworking-plugins,ca-certificates,iputils-ping"
# These two fail to configure inside debootstrap; apt orders their dependencies properly.
late="python3-cryptography python3-kubernetes"

mkdir -p "$debs"
debootstrap --variant=minbase --cache-dir="$debs" --include="$early" "$suite" "$root" "$mirror"

# Packages must not start their services in here.
printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d"
chmod 0755 "$root/usr/sbin/policy-rc.d"
printf 'path-exclude=/usr/share/doc/*\npath-exclude=/usr/share/man/*\npath-exclude=/usr/share/locale/*\n' \
  > "$root/etc/dpkg/dpkg.cfg.d/lab-no-docs"
cp /etc/resolv.conf "$root/etc/resolv.conf"
# A proxy that the machine's apt needs is needed in here as well.
apt-config dump | grep -E '^Acquire::https?::Proxy' > "$root/etc/apt/apt.conf.d/99lab-proxy" || true
mount -t proc proc "$root/proc"
chroot "$root" apt-get -q update
# shellcheck disable=SC2086
chroot "$root" apt-get -q install -y --no-install-recommends $late

for unit in systemd-udevd.service systemd-udev-trigger.service systemd-udevd-control.socket systemd-udevd-kernel.socket \
  systemd-modules-load.service systemd-logind.service systemd-journald-audit.socket console-getty.service getty@.service \
  getty.target apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer e2scrub_reap.service dpkg-db-backup.timer fstrim.timer; do
  ln -sf /dev/null "$root/etc/systemd/system/$unit"
done

# What a container that programs netfilter needs, with every library of every plugin: without libm kube-proxy
# runs and yet writes no rule. Libraries keep the names by which the loader asks for them.
chroot "$root" /bin/sh -c '
  tools="/usr/sbin/xtables-nft-multi /usr/sbin/nft /usr/sbin/ipset /usr/sbin/conntrack /bin/dash /bin/sleep /bin/mv /bin/cat"
  plugins=$(find /usr/lib/*/xtables -name "*.so")
  for tool in $tools; do readlink -f $tool; done
  for plugin in $plugins; do echo $plugin; done
  ldd $tools $plugins | grep -oE "/[^ ]+\.so[^ ]*" | grep -v ":$"
' | sort -u | sed 's,^/,,' > "$root/../netfilter.files"
umount "$root/proc"

chroot "$root" apt-get clean
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/debconf/* "$root"/usr/share/doc/* "$root"/usr/share/man/* \
  "$root"/usr/share/locale/* "$root"/var/log/*.log "$root"/var/log/apt "$root"/tmp/* "$root"/etc/ssh/ssh_host_* \
  "$root/usr/sbin/policy-rc.d" "$root/etc/apt/apt.conf.d/99lab-proxy" "$root/etc/resolv.conf"
: > "$root/etc/machine-id"
rm -f "$root/var/lib/dbus/machine-id"
