#!/bin/sh
# newest.sh ROOT CACHE CHECKOUT build|test [ARGS of pytest]: works in a root with another Python; called by newest.py as
# process 1 of new mount and process namespaces. So no mount and no process outlives it, however it ends.
set -eu
root=$1 cache=$2 checkout=$3 what=$4
shift 4

mkdir -p "$root/opt/supervise" "$root/opt/checkout" "$root/etc/ssl/certs"
touch "$root/etc/resolv.conf" "$root/etc/hosts"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
mount -t proc proc "$root/proc"
for folder in dev/shm tmp opt/checkout; do mount -t tmpfs -o mode=1777 tmpfs "$root/$folder"; done
for path in etc/resolv.conf etc/hosts etc/ssl/certs; do mount --bind "/$path" "$root/$path"; done
mount --bind "$cache" "$root/opt/supervise"
tar -C "$checkout" -cf - --exclude=./.git --exclude='./.*_cache' --exclude='./.venv*' --exclude=__pycache__ . |
    tar -C "$root/opt/checkout" -xf -

unset VIRTUAL_ENV PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE PIP_FIND_LINKS
export HOME=/tmp PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 PIP_CACHE_DIR=/opt/supervise/pip
venv=/opt/supervise/venv
# The product asks git what changed; tests ask a real one. The root may be of a mirror that stands still: so the date of
# its lists is not held against it, as it was not when the root was made.
chroot "$root" sh -c 'command -v git >/dev/null || {
    apt-get -qq -o Acquire::Check-Valid-Until=false update
    DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends git
}' >/dev/null
# No `exec`: process 1 has to reap whatever loses its parent, and a shell does.
case $what in
build)
    rm -rf "$cache/venv"
    chroot "$root" python3 -m venv "$venv"
    chroot "$root" "$venv/bin/pip" install --quiet --upgrade pip
    chroot "$root" "$venv/bin/pip" install --quiet --editable /opt/checkout --group /opt/checkout/pyproject.toml:dev
    ;;
test)
    chroot "$root" "$venv/bin/python" -m compileall -q /opt/checkout/supervisor /opt/checkout/scripts/lib
    chroot "$root" sh -c 'cd /opt/checkout && exec "$@"' sh "$venv/bin/python" -m pytest "$@"
    ;;
esac
exit 0
