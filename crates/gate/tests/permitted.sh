#!/bin/sh
# Arguments for `cargo test -- …`: where network namespaces can be made, the tests that need them are run, and
# elsewhere they stay ignored, and are reported so. What else is missing is filtered out. Reasons go to standard error.
name=tg-permitted-$$
if ! { ip netns add "$name" && ip netns del "$name"; } >/dev/null 2>&1; then
  echo "tests in network namespaces are ignored: they need root and iproute2" >&2
  exit 0
fi
for tool in ping python3 setpriv unshare; do
  if ! command -v "$tool" >/dev/null; then
    echo "tests in network namespaces are ignored: they need $tool" >&2
    exit 0
  fi
done
set -- --include-ignored
if ! test -w /dev/net/tun; then
  echo "tests with TAP devices are filtered out: /dev/net/tun cannot be opened" >&2
  set -- "$@" --skip tap:: --skip an_indescribable_frame
fi
in_user_namespace() {
  setpriv --reuid=65534 --regid=65534 --clear-groups unshare -Urn "$@" 2>/dev/null
}
if ! in_user_namespace true; then
  echo "tests in user namespaces are filtered out: an unprivileged user cannot make any" >&2
  set -- "$@" --skip user_namespace
elif ! in_user_namespace test -w /dev/net/tun; then
  echo "a test with TAP devices in a user namespace is filtered out: /dev/net/tun cannot be opened there" >&2
  set -- "$@" --skip a_user_namespace_is_enough
fi
if ! command -v ethtool >/dev/null; then
  echo "tests that change offloads are filtered out: they need ethtool" >&2
  set -- "$@" --skip af_xdp:: --skip segments_leave_as_they_came --skip flood_the_gate --skip floods_the_gate
fi
echo "$@"
