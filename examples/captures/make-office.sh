#!/usr/bin/env bash
# Make office.pcap: about 45 seconds of a small office behind a 10 Mbit/s access line, as sent by
# real programs (see README.md). Licence: CC0-1.0.
#
#   sudo ./make-office.sh [OUTPUT]            # default: office.pcap beside this script
#
# It builds three network namespaces (servers, router, office) joined by veth pairs, runs the
# programs inside them, records what enters the router from the servers towards the office, and
# removes everything again when it ends, however it ends. No packet leaves the machine.
#
# Needs (nothing is installed for you): root, Linux with network namespaces, veth and tbf, bash 5,
# ip and tc (iproute2), ethtool, tcpdump, ffmpeg with libx264, nginx, curl, iperf3, dnsmasq, dig,
# sshd, ssh, scp, ssh-keygen (OpenSSH), ping, awk, tshark and reordercap (Wireshark).
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=$(realpath -m "${1:-$here/office.pcap}")

SECONDS_LONG=${SECONDS_LONG:-45}  # how long the capture lasts
DOWN=${DOWN:-10mbit}              # the access line towards the office
UP=${UP:-4mbit}                   # and away from it
SNAPLEN=${SNAPLEN:-96}            # bytes kept of each packet; the original length stays in the record

[ "$(id -u)" = 0 ] || { echo "make-office: must run as root (it makes network namespaces)" >&2; exit 1; }
PATH=$PATH:/usr/sbin:/sbin
missing=
for tool in ip tc ethtool tcpdump ffmpeg nginx curl iperf3 dnsmasq dig sshd ssh scp ssh-keygen ping awk \
  tshark reordercap; do
  command -v "$tool" >/dev/null || missing+=" $tool"
done
[ -z "$missing" ] || { echo "make-office: please install:$missing" >&2; exit 1; }

tag=tgcap$$
srv=$tag-srv rtr=$tag-rtr off=$tag-off
tmp=$(mktemp -d)
chmod 755 "$tmp"
made_run_sshd=
cleanup() {
  trap - EXIT INT TERM
  set +e
  exec 2>/dev/null
  local ns
  kill $(jobs -p)
  for ns in "$off" "$srv" "$rtr"; do kill $(ip netns pids "$ns"); done
  sleep 0.3
  for ns in "$off" "$srv" "$rtr"; do
    kill -9 $(ip netns pids "$ns")
    ip netns del "$ns"
  done
  [ -z "$made_run_sshd" ] || rmdir /run/sshd
  rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

in_srv() { ip netns exec "$srv" "$@"; }
in_rtr() { ip netns exec "$rtr" "$@"; }
in_off() { ip netns exec "$off" "$@"; }

# ---- the network: servers 10.77.2.0/24 -- router -- office 10.77.1.0/24 -------------------------
for ns in "$srv" "$rtr" "$off"; do
  ip netns add "$ns"
  ip netns exec "$ns" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
  ip netns exec "$ns" ip link set lo up
done
in_rtr sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.send_redirects=0
ip link add wan netns "$srv" address 02:00:00:77:02:0a type veth peer name wan netns "$rtr" address 02:00:00:77:02:01
ip link add lan netns "$off" address 02:00:00:77:01:0a type veth peer name lan netns "$rtr" address 02:00:00:77:01:01
for pair in "$srv wan" "$rtr wan" "$rtr lan" "$off lan"; do
  set -- $pair
  # Whole segments must never appear on the wire as one big frame, and checksums must be real.
  ip netns exec "$1" ethtool -K "$2" tso off gso off gro off tx off sg off >/dev/null
  ip netns exec "$1" ip link set "$2" mtu 1500 up
done
in_rtr ip addr add 10.77.2.1/24 dev wan
in_rtr ip addr add 10.77.1.1/24 dev lan
for h in 20 22 30 53 80 81 82; do in_srv ip addr add 10.77.2.$h/24 dev wan; done
for h in 10 11 20 30; do in_off ip addr add 10.77.1.$h/24 dev lan; done
in_srv ip route add default via 10.77.2.1
in_off ip route add default via 10.77.1.1
in_rtr tc qdisc add dev lan root tbf rate "$DOWN" burst 5k latency 80ms
in_rtr tc qdisc add dev wan root tbf rate "$UP" burst 5k latency 80ms

# ---- what the servers serve ---------------------------------------------------------------------
mkdir -p "$tmp/www" "$tmp/nginx" "$tmp/got"
# Object sizes: lognormal, median 5 kB, cut at 60 kB; the seed is fixed so pages are the same each run.
awk 'BEGIN { srand(77); for (i = 0; i < 40; i++) {
       z = sqrt(-2 * log(1 - rand())) * cos(6.283185307 * rand())
       s = int(5000 * exp(1.0 * z)); if (s < 300) s = 300; if (s > 60000) s = 60000; print i, s } }' |
  while read -r i size; do head -c "$size" /dev/urandom >"$tmp/www/object-$i"; done
head -c 2400000 /dev/urandom >"$tmp/www/first.bin"
head -c 2000000 /dev/urandom >"$tmp/www/second.bin"
head -c 900000 /dev/urandom >"$tmp/report.bin"
cat >"$tmp/nginx.conf" <<NGINX
user root; worker_processes 1; daemon off; pid $tmp/nginx/pid; error_log $tmp/nginx/error.log;
events { worker_connections 64; }
http {
  access_log off; server_tokens off; sendfile on; tcp_nopush on; keepalive_timeout 5;
  client_body_temp_path $tmp/nginx/body; proxy_temp_path $tmp/nginx/proxy;
  fastcgi_temp_path $tmp/nginx/fastcgi; uwsgi_temp_path $tmp/nginx/uwsgi; scgi_temp_path $tmp/nginx/scgi;
  server { listen 10.77.2.80:80; listen 10.77.2.81:80; root $tmp/www; }
}
NGINX
# The video, encoded beforehand so that nothing competes for the processor while we capture.
ffmpeg -v error -nostdin -threads 1 -f lavfi -i "testsrc2=size=640x360:rate=25:duration=36,noise=alls=6:allf=t" \
  -c:v libx264 -preset veryfast -b:v 950k -maxrate 1800k -bufsize 2000k -g 50 -bf 0 \
  -pix_fmt yuv420p "$tmp/video.mp4"

ssh-keygen -q -t ed25519 -N '' -C office -f "$tmp/host"
ssh-keygen -q -t ed25519 -N '' -C office -f "$tmp/user"
cp "$tmp/user.pub" "$tmp/authorized"
sftp=$(ls /usr/lib/openssh/sftp-server /usr/libexec/openssh/sftp-server /usr/lib/ssh/sftp-server 2>/dev/null | head -1 || true)
cat >"$tmp/sshd.conf" <<SSHD
ListenAddress 10.77.2.22:22
HostKey $tmp/host
PidFile none
AuthorizedKeysFile $tmp/authorized
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
PrintMotd no
PrintLastLog no
Subsystem sftp $sftp
SSHD
[ -d /run/sshd ] || { mkdir -m 755 /run/sshd; made_run_sshd=1; }

in_srv nginx -e "$tmp/nginx/error.log" -c "$tmp/nginx.conf" &
in_srv "$(command -v sshd)" -D -e -f "$tmp/sshd.conf" 2>"$tmp/sshd.log" &
in_srv dnsmasq --keep-in-foreground --conf-file=/dev/null --no-resolv --no-hosts --user=root --pid-file= \
  --listen-address=10.77.2.53 --bind-interfaces --local=/example/ --log-facility="$tmp/dns.log" \
  --host-record=www.office.example,10.77.2.80 --host-record=files.office.example,10.77.2.81 \
  --host-record=shell.office.example,10.77.2.22 --host-record=voice.office.example,10.77.2.20 \
  --cname=intranet.office.example,www.office.example \
  --mx-host=office.example,files.office.example,10 \
  --txt-record=office.example,"a small office made for a packet capture" &
in_srv iperf3 -s -B 10.77.2.82 >"$tmp/iperf-server.log" 2>&1 &
sleep 1

# ---- the capture: what enters the router from the servers, on its way to the office -------------
ip netns exec "$rtr" tcpdump -Z root -i wan -Q in -s "$SNAPLEN" -n -B 4096 -w "$tmp/office.pcap" \
  'ip and dst net 10.77.1.0/24' 2>"$tmp/tcpdump.log" &
sniffer=$!
sleep 1
start=$EPOCHREALTIME
at() { # at T COMMAND...: T seconds after the start, in the background
  local t=$1 wait_for
  shift
  wait_for=$(awk -v s="$start" -v n="$EPOCHREALTIME" -v t="$t" 'BEGIN { d = s + t - n; print (d > 0 ? d : 0) }')
  { sleep "$wait_for"; "$@" || echo "make-office: failed at ${t} s: $*" >&2; } &
}

# 1. Telephone call, both ways: G.711 mu-law, 64 kbit/s, one packet of 160 samples every 20 ms, DSCP EF.
call() { # call NAMESPACE FROM TO TONE SECONDS
  ip netns exec "$1" ffmpeg -v error -nostdin -re -f lavfi \
    -i "sine=frequency=$4:beep_factor=4:sample_rate=8000:samples_per_frame=160" -t "$5" \
    -c:a pcm_mulaw -ac 1 -muxdelay 0 -muxpreload 0 -flush_packets 1 \
    -f rtp "rtp://$3:40000?localaddr=$2&localrtpport=40000&localrtcpport=40001&dscp=46" >/dev/null
}
at 0.2 call "$srv" 10.77.2.20 10.77.1.20 440 43.4
at 0.3 call "$off" 10.77.1.20 10.77.2.20 330 43

# 2. Video to the meeting-room screen: H.264, 25 frames/s, an I frame every 2 s, about 1 Mbit/s.
#    Each frame leaves as one burst.
cat >"$tmp/video.sdp" <<SDP
v=0
o=- 0 0 IN IP4 10.77.2.30
s=video
c=IN IP4 10.77.1.30
t=0 0
m=video 5004 RTP/AVP 96
a=rtpmap:96 H264/90000
a=fmtp:96 packetization-mode=1
SDP
screen() {
  in_off timeout 41 ffmpeg -v quiet -nostdin -protocol_whitelist file,udp,rtp -i "$tmp/video.sdp" \
    -c copy -f null - || true
}
video() {
  in_srv ffmpeg -v error -nostdin -re -i "$tmp/video.mp4" -c copy -flush_packets 1 \
    -f rtp "rtp://10.77.1.30:5004?localaddr=10.77.2.30&localrtpport=5004&localrtcpport=5005&pkt_size=1400" >/dev/null
}
at 1 screen
at 3 video

# 3. Bulk: two downloads that overlap, a report copied up by scp (its ACKs come down), one more download.
get() { in_off curl -q -sS --noproxy '*' --interface 10.77.1.11 -o /dev/null "http://10.77.2.81/$1"; }
at 12 get first.bin
at 14 in_off iperf3 -c 10.77.2.82 -B 10.77.1.11 -R -n 2000000 --connect-timeout 3000 >"$tmp/iperf.log"
at 30 get second.bin
sshopt=(-F none -i "$tmp/user" -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null
  -o LogLevel=ERROR -o IgnoreUnknown=ObscureKeystrokeTiming -o ObscureKeystrokeTiming=no)
at 23 in_off scp -q "${sshopt[@]}" -o BindAddress=10.77.1.11 "$tmp/report.bin" "root@10.77.2.22:$tmp/got/"

# 4. Web pages: 26 of the 40 objects each, over up to six connections; the name is looked up first.
page() {
  local n=$1 i
  for i in $(seq 0 25); do
    printf 'url = "http://10.77.2.80/object-%d"\noutput = "/dev/null"\n' $(((n * 11 + i) % 40))
  done >"$tmp/page-$n"
  in_off dig -b 10.77.1.10 +short +tries=1 @10.77.2.53 www.office.example >/dev/null
  in_off curl -q -sS --noproxy '*' --interface 10.77.1.10 -Z --parallel-max 6 -K "$tmp/page-$n" 2>"$tmp/curl-$n.log"
}
n=0
for t in 4.2 9.1 13.0 17.6 25.3 31.2 37.9; do at "$t" page "$n"; n=$((n + 1)); done

# 5. Name lookups, at exponential intervals with mean 0.6 s.
lookups() {
  awk -v end=$((SECONDS_LONG - 3)) 'BEGIN { srand(53); t = 0
      split("www files shell voice intranet nosuchhost", name); split("A A A AAAA A A", type)
      while (1) { d = -0.6 * log(1 - rand()); t += d; if (t > end) exit; k = 1 + int(rand() * 8)
        if (k == 7) print d, "TXT office.example"; else if (k == 8) print d, "MX office.example"
        else print d, type[k], name[k] ".office.example" } }' |
    while read -r gap type name; do
      sleep "$gap"
      in_off dig -b 10.77.1.10 +short +tries=1 @10.77.2.53 "$name" "$type" >/dev/null
    done
}
at 0.5 lookups

# 6. Somebody typing in a remote shell: one character at a time, with pauses to think.
typist() {
  RANDOM=22
  sleep 1
  local line i
  while read -r line; do
    for ((i = 0; i < ${#line}; i++)); do
      printf %s "${line:i:1}"
      sleep "0.$(printf %03d $((70 + RANDOM % 160)))"
    done
    printf '\n'
    sleep "$((1 + RANDOM % 2)).$((RANDOM % 10))"
  done <<'TYPED'
cd / && ls
date; ls -l /usr
seq 1 400
echo "the meeting is at four" | tr a-z A-Z
for i in 1 2 3 4 5 6; do echo line $i; sleep 0.3; done
ls -l /usr/bin | head -90
echo thank you and good bye
exit
TYPED
}
shell() { typist | in_off ssh -tt "${sshopt[@]}" -b 10.77.1.10 root@10.77.2.22 'HISTFILE= exec sh -i' >/dev/null; }
at 2 shell

# 7. The office's own monitoring: ping.
at 0.6 in_off ping -q -i 0.5 -c 84 -I 10.77.1.10 10.77.2.53 >"$tmp/ping.log"

sleep "$(awk -v s="$start" -v n="$EPOCHREALTIME" -v l="$SECONDS_LONG" 'BEGIN { print s + l - n }')" &
wait $! # rather than a plain sleep, so that a signal is heard at once
kill -TERM "$sniffer"
wait "$sniffer" || true
cat "$tmp/tcpdump.log" "$tmp/ping.log" >&2
# On several processors two packets may be recorded a few microseconds out of order: sort by time.
reordercap "$tmp/office.pcap" "$tmp/sorted.pcap" >&2
install -m 644 "$tmp/sorted.pcap" "$out"

# ---- the table ----------------------------------------------------------------------------------
tshark -r "$out" -T fields -E separator=' ' -e frame.time_relative -e frame.len -e ip.proto \
  -e ip.src -e ip.dst -e tcp.srcport -e udp.srcport -e tcp.dstport -e udp.dstport 2>/dev/null |
  awk '
  # One row per 5-tuple; the connections of one client to one server port share a row.
  NF { proto = $3 == 6 ? "TCP" : $3 == 17 ? "UDP" : $3 == 1 ? "ICMP" : $3
    k = proto " | " $4 (NF > 5 ? ":" $6 : "") " | " $5
    if (!(k in n)) { first[k] = $1; order[++m] = k }
    if (!((k, $7) in seen)) { seen[k, $7]; tuples[k]++; port[k] = $7 }
    n[k]++; b[k] += $2; last[k] = $1; N++; B += $2; end = $1 }
  END { if (!N) exit
    print "| protocol | from | to | flows | packets | bytes | first at s | lasts s | mean kbit/s |"
    print "|---|---|---|--:|--:|--:|--:|--:|--:|"
    for (i = 1; i <= m; i++) { k = order[i]; d = last[k] - first[k]
      to = tuples[k] > 1 ? ":*" : port[k] != "" ? ":" port[k] : ""
      printf "| %s%s | %d | %d | %d | %.2f | %.2f | %.1f |\n", k, to, tuples[k], n[k], b[k], first[k], d, (d > 0 ? b[k] * 8 / d / 1000 : 0) }
    printf "| all |  |  |  | %d | %d | 0.00 | %.2f | %.1f |\n", N, B, end, (end > 0 ? B * 8 / end / 1000 : 0) }'
